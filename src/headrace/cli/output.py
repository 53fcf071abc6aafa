"""Where a command says things: a console for people, or JSON lines for programs; and how errors end it."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from headrace.cli import exits
from headrace.errors import HeadraceError
from headrace.spark.engine import Engine
from headrace.spark.session import quiet_errors

_WIDE = 200  # of a pipe or a file, which has no width


class Output:
    """``console`` is silent where JSON is wanted; ``line`` is silent where it is not."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
        # What is shown is people's data: no part of it is markup.
        self.console = Console(quiet=as_json, highlight=False, markup=False, emoji=False, width=width)

    def line(self, **fields: Any) -> None:
        """One JSON object."""
        if self.as_json:
            typer.echo(json.dumps(fields, default=str, ensure_ascii=False))

    def error(self, problem: Exception) -> None:
        if self.as_json:
            self.line(error=error_data(problem))
        else:
            typer.secho(error_text(problem), fg=typer.colors.RED, err=True)


@contextmanager
def explained(as_json: bool) -> Iterator[Output]:
    """An output for the length of a command. What Headrace or Spark explains ends it with a message and an exit code;
    a traceback is left for what nobody foresaw."""
    output = Output(as_json)
    root = logging.getLogger()
    root.addFilter(_not_py4j)
    try:
        with quiet_errors():
            yield output
    except (HeadraceError, *Engine.query_failures) as problem:
        output.error(problem)
        raise typer.Exit(exits.ERROR) from None
    except KeyboardInterrupt:
        output.line(event="interrupted")
        if not as_json:
            typer.secho("interrupted: what was done stays, and what was in hand is as before", err=True)
        raise typer.Exit(exits.INTERRUPTED) from None
    finally:
        root.removeFilter(_not_py4j)


def _not_py4j(record: logging.LogRecord) -> bool:
    """Py4J logs the stack of every call that is ended, and raises besides; we say it in a line."""
    return not record.getMessage().endswith("while sending command.")


def error_text(problem: Exception) -> str:
    return str(problem) if isinstance(problem, HeadraceError) else f"error: {_first(problem)}\n  code:   SPARK"


def error_data(problem: Exception) -> Mapping[str, str | None]:
    if isinstance(problem, HeadraceError):
        return {"code": problem.code, "message": problem.message, "at": problem.at, "hint": problem.hint}
    return {"code": "SPARK", "message": _first(problem), "at": None, "hint": None}


def _first(problem: Exception) -> str:
    """What Spark says, without the stack of its JVM."""
    return str(problem).split("\n\nJVM stacktrace")[0].split("\n\tat ")[0].strip()
