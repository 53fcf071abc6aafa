"""`headrace check`: compare views with what Spark answers from scratch."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from headrace.cli import exits
from headrace.cli.opening import opened, view_of
from headrace.cli.options import AsJson, Master, Spec
from headrace.cli.output import explained
from headrace.cli.terminal import seconds


def check(
    context: typer.Context,
    views: Annotated[list[str], typer.Argument(help="Views of the project.", metavar="VIEW...", show_default=False)],
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Compare views with what Spark answers from scratch.

    On the data that they have seen, by EXCEPT ALL in both directions. Exit code 3 when one differs. Floats and
    doubles may differ by rounding.
    """
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        agree = True
        for view in [view_of(project, name) for name in views]:
            with output.console.status(f"{view.name}: Spark computes it from scratch"):
                found = view.check()
            agree = agree and found.agrees
            output.line(agrees=found.agrees, **asdict(found))
            taken = f" ({seconds(found.seconds)} s)" if found.agrees else ""
            output.console.print(Text(f"{found}{taken}", "green" if found.agrees else "red"), soft_wrap=True)
    if not agree:
        raise typer.Exit(exits.DIFFERENT)
