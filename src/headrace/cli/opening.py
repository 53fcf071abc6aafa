"""The project that a command works on, with its Spark."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headrace.cli.output import Output
from headrace.cli.terminal import stderr_to
from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.api import View
    from headrace.pipelines import Project


@contextmanager
def opened(context: typer.Context, output: Output, spec: Path | None, master: str | None) -> Iterator[Project]:
    """The project of a spec, or of the working directory. Where the command was called with a Spark session as the
    context's object, it works in that one and leaves it running."""
    from headrace.pipelines import Project

    with tempfile.TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True) as folder:
        with output.console.status("starting Spark and reading the project"), aside(context, Path(folder)):
            project = Project.open(spec, master=master, spark=context.obj)
        try:
            yield project
        finally:
            project.close()


@contextmanager
def aside(context: typer.Context, folder: Path) -> Iterator[None]:
    """Keep what Spark says on its start, and what a project's files print, out of the output."""
    with redirect_stdout(sys.stderr):
        if context.obj is not None:
            yield
        else:
            with stderr_to(folder / "spark.log"):
                yield


def view_of(project: Project, name: str) -> View:
    found = project.warehouse.views.get(name)
    if found is None:
        known = ", ".join(sorted(project.warehouse.views)) or "none"
        raise ConfigError("VIEW_UNKNOWN", f'there is no view "{name}"', hint=f"there are: {known}")
    return found
