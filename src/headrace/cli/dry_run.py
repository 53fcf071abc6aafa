"""`headrace dry-run`: read and check a project, and say how each view will be maintained."""

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from headrace.api import View
from headrace.cli.opening import opened
from headrace.cli.options import AsJson, Master, Spec
from headrace.cli.output import Output, explained
from headrace.cli.terminal import table

if TYPE_CHECKING:
    from headrace.pipelines.project import Project


def dry_run(
    context: typer.Context,
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Check a project, and say how each view will be maintained.

    Or why it cannot be, and what of it will be recomputed. Names, columns and types are resolved by Spark, as in a
    run; no row is read.
    """
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        shown = table("name", "maintained", cut="maintained")
        for name, stream in project.streams.items():
            notes = project.notes.get(name, ())
            output.line(name=name, kind="stream", reads=sorted(stream.below), notes=notes)
            shown.add_row(name, "its flows append to it")
        for name, view in project.warehouse.views.items():
            facts = upkeep(view)
            output.line(name=name, kind="materialized view", **facts, notes=project.notes.get(name, ()))
            shown.add_row(name, _words(facts))
            for part in facts["recomputed"]:
                shown.add_row("", Text(f"{part['operator']}: {part['reason']}", "yellow"))
        output.console.print(shown)
        tell_notes(output, project)
        count = len(project.streams) + len(project.warehouse.views)
        output.console.print(f"\n{project.name}: {count} definitions are in order; nothing was run")


def tell_notes(output: Output, project: "Project") -> None:
    """Say what is not followed of definitions."""
    for name, notes in project.notes.items():
        for note in notes:
            text = Text(f"{name} ({project.places[name]}): {note}", "yellow")
            output.console.print(text, soft_wrap=not output.console.is_terminal)


def upkeep(view: View) -> dict[str, Any]:
    """How a view will be maintained, what of it is recomputed on each run and why, and what it reads."""
    data = view.explain_data(costs=False)
    recomputed = [{"operator": o["operator"], "reason": o["reason"]} for o in data["operators"] if o["reason"]]
    sources = {o["text"].removeprefix("Source ") for o in data["operators"] if o["operator"] == "Source"}
    return {
        "maintained": data["maintained"],
        "policy": data["policy"],
        "states": len(data["states"]),
        "recomputed": recomputed,
        "reads": sorted(sources),
    }


def _words(facts: dict[str, Any]) -> str:
    if facts["maintained"] == "full":
        return f"computed anew on every run: policy {facts['policy']}"
    return "incrementally, with this recomputed on every run:" if facts["recomputed"] else "incrementally"
