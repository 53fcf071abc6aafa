"""`headrace vacuum`: remove what no kept version of any view needs."""

from typing import Annotated

import typer

from headrace.cli.opening import opened
from headrace.cli.options import AsJson, Master, Spec
from headrace.cli.output import explained
from headrace.cli.terminal import size


def vacuum(
    context: typer.Context,
    forgotten: Annotated[
        bool, typer.Option("--forgotten", help="Also what the project does not define any more.")
    ] = False,
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Remove files that nothing needs any more.

    Every run cleans up after itself; this is for what was left by runs that were ended. Views and streaming
    tables that the project does not define any more are named, and removed with --forgotten.
    """
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        done = project.vacuum(forgotten=forgotten)
        output.line(bytes=done.bytes, views=dict(done.freed), forgotten=dict(done.forgotten), removed=forgotten)
        output.console.print(f"{size(done.bytes)} freed")
        if done.forgotten:
            word = "removed" if forgotten else "not defined any more, removed with --forgotten"
            names = ", ".join(f"{name} ({size(found)})" for name, found in done.forgotten.items())
            output.console.print(f"{word}: {names}", soft_wrap=True)
