"""The `headrace` command: one module for each subcommand."""

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from headrace.cli.demo import demo
from headrace.errors import HeadraceError

app = typer.Typer(
    name="headrace",
    help="Keep SQL results up to date on Apache Spark, without recomputing them.\n\n"
    "Start with **headrace demo**: a report on a million orders, refreshed as they arrive.",
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
app.command()(demo)


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
    """Run the command line; an error that Headrace explains is shown without a traceback (exit code 1)."""
    try:
        app()
    except HeadraceError as error:
        typer.secho(str(error), fg=typer.colors.RED, err=True)
        sys.exit(1)


__all__ = ["app", "main"]
