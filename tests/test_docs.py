"""The documents keep their word: links lead somewhere, code is code, the reference is the code's, names explain
themselves."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import headrace

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[object]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES]


def anchors(page: Path) -> set[str]:
    """The names by which headings can be linked to, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def test_there_are_pages() -> None:
    names = {str(p.relative_to(ROOT)) for p in PAGES}
    wanted = {"tutorial", "how-it-decides", "sources", "operations", "pipelines", "reference"}
    assert names >= {"README.md", *(f"docs/{n}.md" for n in wanted)}


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link} names no heading"


@pytest.mark.parametrize("page", pages())
def test_python_is_python(page: Path) -> None:
    for indent, language, code in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(textwrap.dedent(indent + code.removeprefix(indent)), str(page), "exec")


def test_every_fence_is_closed() -> None:
    odd = [str(p) for p in PAGES if len(re.findall(r"^ *```", p.read_text(encoding="utf-8"), re.MULTILINE)) % 2]
    assert odd == []


def test_the_reference_is_as_the_code() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def undocumented(name: str) -> list[str]:
    """A public name, and its public methods and properties, where nothing is said of them."""
    thing = getattr(headrace, name)
    found = [] if inspect.getdoc(thing) else [name]
    if inspect.isclass(thing):
        for attribute, value in vars(thing).items():
            speaks = callable(value) or isinstance(value, property | classmethod | staticmethod)
            if speaks and not attribute.startswith("_") and not inspect.getdoc(value):
                found.append(f"{name}.{attribute}")
    return found


@pytest.mark.parametrize("name", [n for n in headrace.__all__ if n != "__version__"])
def test_public_names_say_what_they_are(name: str) -> None:
    assert undocumented(name) == []


def test_a_name_without_words_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mute:
        def say(self) -> None: ...

    monkeypatch.setattr(headrace, "Mute", Mute, raising=False)
    assert undocumented("Mute") == ["Mute", "Mute.say"]
