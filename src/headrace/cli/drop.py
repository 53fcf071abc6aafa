"""`headrace drop`: remove what a view keeps."""

import sys
from typing import Annotated

import typer

from headrace.cli.opening import opened
from headrace.cli.options import AsJson, Master, Spec
from headrace.cli.output import explained
from headrace.cli.terminal import size


def drop(
    context: typer.Context,
    view: Annotated[
        str,
        typer.Argument(
            help="A view or streaming table; also a view that is not defined any more.",
            metavar="VIEW",
            show_default=False,
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Remove all that a view or a streaming table keeps.

    Its result, its states and its history; refused while another one reads it. Its definition stays where it is:
    while the project has it, the next run computes the view anew.
    """
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise typer.BadParameter("nobody can be asked here", param_hint="--yes is needed")
        typer.confirm(f'Remove the result, the states and the history of "{view}"?', abort=True)
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        freed = project.drop(view)
        output.line(view=view, bytes=freed)
        output.console.print(f'"{view}" is dropped: {size(freed)} freed')
