"""`headrace history`: the runs of a view."""

from typing import Annotated

import typer
from rich.text import Text

from headrace.cli.opening import opened, view_of
from headrace.cli.options import AsJson, Master, Spec, ViewName
from headrace.cli.output import explained
from headrace.cli.terminal import count, seconds, table


def history(
    context: typer.Context,
    view: ViewName,
    limit: Annotated[int, typer.Option(min=1, help="How many of them: the newest, the last one last.")] = 20,
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Show the runs of a view, the failed ones too."""
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        runs = view_of(project, view).history().orderBy("started", ascending=False).limit(limit).collect()
        numbers = ("run", "seconds", "expected", "rows in", "rows out")
        shown = table("run", "started", "method", "seconds", "expected", "rows in", "rows out", right=numbers)
        notes = []
        for run in reversed([r.asDict(recursive=True) for r in runs]):
            output.line(view=view, **{**run, "started": run["started"].timestamp()})
            expected = "" if run["estimated"] is None else seconds(run["estimated"])
            came = count(sum((run["rows_in"] or {}).values()))
            when = run["started"].strftime("%Y-%m-%d %H:%M:%S")
            style = "red" if run["error"] else ""
            cells = [
                str(run["run"]),
                when,
                run["method"],
                seconds(run["seconds"]),
                expected,
                came,
                count(run["rows_out"]),
            ]
            shown.add_row(*cells, style=style)
            why = run["error"].removeprefix("error: ").splitlines()[0] if run["error"] else run["reason"]
            if why:
                notes.append(Text(f"{run['run']}: {why}", style or "dim"))
        output.console.print(shown if runs else f'view "{view}" has not been run yet')
        for note in notes:
            output.console.print(note, soft_wrap=not output.console.is_terminal)
