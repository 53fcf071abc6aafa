"""The `headrace` command: one module for each subcommand."""

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from headrace.cli import exits
from headrace.cli.calibrate import calibrate
from headrace.cli.check import check
from headrace.cli.demo import demo
from headrace.cli.drop import drop
from headrace.cli.dry_run import dry_run
from headrace.cli.explain import explain
from headrace.cli.history import history
from headrace.cli.init import init
from headrace.cli.read import read
from headrace.cli.run import run
from headrace.cli.status import status
from headrace.cli.vacuum import vacuum
from headrace.errors import HeadraceError

_EXITS = "\n".join(f"- **{code}** {words}" for code, words in exits.MEANING.items())

app = typer.Typer(
    name="headrace",
    help="Keep SQL results up to date on Apache Spark, without recomputing them.\n\n"
    "Start with **headrace demo**, or with a project of your own: **headrace init shop**.\n\n"
    f"Exit codes:\n\n{_EXITS}",
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
for _command in (init, run, dry_run, status, history, read, explain, check, drop, vacuum, calibrate, demo):
    app.command()(_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"headrace {version('headrace')}")
        except PackageNotFoundError:
            typer.echo("headrace (run from its sources, not installed)")
        raise typer.Exit()


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options that stand before the subcommand."""


def main() -> None:
    """Run the command line; an error that Headrace explains is shown without a traceback."""
    try:
        app()
    except HeadraceError as error:
        typer.secho(str(error), fg=typer.colors.RED, err=True)
        sys.exit(exits.ERROR)


__all__ = ["app", "main"]
