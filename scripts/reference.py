"""Writes docs/reference.md from the code: settings, reasons to compute from scratch, and all codes of errors.

``python scripts/reference.py --check`` only tells whether the file is as it should be.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference.md"
WHO = {
    "QueryError": "the author of the query",
    "ConfigError": "whoever configured it",
    "SourceError": "the owner of the source",
    "StateError": "the operator",
    "PipelineError": "the operator",
    "InternalError": "Headrace's developers",
}


@dataclass(frozen=True)
class Problem:
    """One place in the code that raises: the class, the code, what is said and what to do."""

    kind: str
    code: str
    message: str
    hint: str


def problems() -> list[Problem]:
    """Every error with a code in the code, once for each code, in the order of codes."""
    found: dict[str, Problem] = {}
    for file in sorted((ROOT / "src").rglob("*.py")):
        for problem in _raised(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(problem.code, problem)
    return [found[code] for code in sorted(found)]


def _raised(tree: ast.AST) -> Iterator[Problem]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WHO):
            continue
        if len(node.args) < 2 or not isinstance(node.args[0], ast.Constant):
            continue
        hint = next((k.value for k in node.keywords if k.arg == "hint"), None)
        yield Problem(node.func.id, str(node.args[0].value), _text(node.args[1]), _text(hint) if hint else "")


def _text(node: ast.expr) -> str:
    """A message as it reads in the code, with … where values stand."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in values)
        case _:
            return "…"


def reasons() -> dict[str, str]:
    from headrace.runtime.reason import CODES

    return CODES


def settings(whole: bool) -> list[str]:
    """The rows of a table: the settings of a whole project, or of a view."""
    from headrace.pipelines.settings import PROJECT_SETTINGS, SETTINGS

    found = PROJECT_SETTINGS if whole else SETTINGS
    return [f"| `{key}` | {one.meaning} | `{_cell(one.example)}` |" for key, one in found.items()]


def page() -> str:
    lines = [
        "# Reference",
        "",
        "Made from the code by `python scripts/reference.py`.",
        "",
        "## Settings of a view in a pipeline",
        "",
        "Table properties, which Spark itself passes over.",
        "",
        "| property | meaning | example |",
        "| --- | --- | --- |",
        *settings(whole=False),
        "",
        "## Settings of a project",
        "",
        "Under `configuration` in its spec, among those of Spark.",
        "",
        "| key | meaning | example |",
        "| --- | --- | --- |",
        *settings(whole=True),
        "",
        "## Reasons to compute a view from scratch",
        "",
        "In a report and in the history of a view: `code`, and in words `reason`.",
        "",
        "| code | reason |",
        "| --- | --- |",
        *(f"| `{code}` | {text} |" for code, text in reasons().items()),
        "",
        "## Codes of errors",
        "",
        "Every error has a code that stays, a place where there is one, and a hint. Codes in upper case with the words"
        " PIPELINE, FLOW or TABLE in them are those of Spark where Spark has one for the same mistake.",
        "",
        "| code | who must act | what is said | hint |",
        "| --- | --- | --- | --- |",
        *(f"| `{p.code}` | {WHO[p.kind]} | {_cell(p.message)} | {_cell(p.hint)} |" for p in problems()),
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    wanted = page()
    if "--check" in sys.argv[1:]:
        there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if there != wanted:
            print(f"{PAGE.relative_to(ROOT)} is not as the code: run python scripts/reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
