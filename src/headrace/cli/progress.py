"""Runs as they happen: a line for each view that is done, and below it, in a terminal, the step in hand.

For programs every event is a JSON object. In a pipe or a log there are plain lines, and a step has one of its own only
when it took long.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from headrace.cli.output import Output, error_data, error_text
from headrace.cli.terminal import count, seconds
from headrace.runtime.progress import (
    Event,
    Looking,
    Progress,
    RunBegan,
    RunDone,
    RunFailed,
    RunSkipped,
    StepBegan,
    StepDone,
)
from headrace.runtime.report import RefreshReport

_LONG = 5.0  # seconds after which a step has a line of its own in a log
_NAMES = {
    Looking: "looking",
    RunBegan: "run_began",
    StepBegan: "step_began",
    StepDone: "step_done",
    RunDone: "run_done",
    RunFailed: "run_failed",
    RunSkipped: "run_skipped",
}


@contextmanager
def shown(output: Output, names: Collection[str], *, service: bool = False) -> Iterator[Progress]:
    """Someone to tell of runs of the views by these names. Of a ``service`` every line has its time, and runs that
    found nothing new have none."""
    console = output.console
    if output.as_json:
        yield lambda event: output.line(**event_data(event))
        return
    lines = _Lines(console, names, service)
    if not console.is_terminal:
        yield lines.tell
        return
    hand = _InHand()
    with Live(hand, console=console, refresh_per_second=8, transient=True):

        def tell(event: Event) -> None:
            hand.tell(event)
            lines.tell(event)

        yield tell


def event_data(event: Event) -> dict[str, Any]:
    """An event as plain data."""
    told: dict[str, Any] = {"event": _NAMES[type(event)], "view": event.view}
    match event:
        case RunDone(report=report):
            return told | report_data(report)
        case RunFailed(problem=problem):
            return told | {"error": error_data(problem)}
    return told | asdict(event)


def report_data(report: RefreshReport) -> dict[str, Any]:
    """A report as plain data, without its operators: ``explain`` tells of those."""
    return {k: v for k, v in asdict(report).items() if k != "operators"}


class _Lines:
    """A line for each view that is done."""

    def __init__(self, console: Console, names: Collection[str], service: bool) -> None:
        self._console = console
        self._service = service
        self._width = min(max([4, *map(len, names)]), 30)
        self._began = False

    def tell(self, event: Event) -> None:
        match event:
            case StepDone() if event.seconds >= _LONG and not self._console.is_terminal:
                expected = "" if event.estimated is None else f", {seconds(event.estimated)} expected"
                done = f"{count(event.rows)} rows in {seconds(event.seconds)} s{expected}"
                step = Text(f"  {event.view}, step {event.step} of {event.of}: {event.what}: {done}")
                self._console.print(step, soft_wrap=True)
            case RunDone(report=report) if not self._service or report.method != "unchanged":
                self._report(report)
            case RunFailed(view=view, problem=problem):
                self._row(view, "failed", style="red")
                self._note(error_text(problem), style="red")
            case RunSkipped(view=view, below=below):
                self._row(view, "left out", style="yellow")
                self._note(f'view "{below}" failed: this one stays as it was')

    def _report(self, report: RefreshReport) -> None:
        expected = "" if report.estimated is None else seconds(report.estimated)
        came = sum(report.rows_in.values()) if report.rows_in else report.rows_read  # a stream has no rows by source
        self._row(report.view, report.method, seconds(report.seconds), expected, count(came), count(report.rows_out))
        if report.reason and report.method != "initial":
            self._note(f"from scratch, for {report.reason} [{report.code}]")

    def _row(self, *cells: str, style: str = "") -> None:
        if not self._began:
            self._began = True
            self._print("name", "method", "seconds", "expected", "rows in", "rows out", style="bold")
        self._print(*cells, style=style)

    def _print(self, view: str, method: str, *numbers: str, style: str) -> None:
        if len(view) > self._width:
            view = view[: self._width - 1] + "…"
        figures = "".join(f"{n:>{w}}" for n, w in zip(numbers, (8, 10, 12, 12), strict=False))
        at = "" if not self._service else f"{time.strftime('%H:%M:%S') if numbers[:1] != ('seconds',) else 'time':<10}"
        self._console.print(Text(f"{at}{view:<{self._width}}  {method:<11}{figures}".rstrip(), style), soft_wrap=True)

    def _note(self, text: str, style: str = "dim") -> None:
        for line in text.splitlines():
            self._console.print(Text(f"  {line}", style), soft_wrap=not self._console.is_terminal)


class _InHand:
    """A line for each view in hand: its step, how long that takes and how long it was expected to take."""

    def __init__(self) -> None:
        self._spinner = Spinner("dots")
        self._lines: dict[str, tuple[str, float | None, float]] = {}
        self._rows: dict[str, str] = {}

    def tell(self, event: Event) -> None:
        rows = self._rows.get(event.view, "")
        match event:
            case Looking(view=view):
                self._say(view, "looking for new data")
            case RunBegan(view=view, method=method, rows_in=came):
                rows = self._rows[view] = f"{count(sum(came.values()))} rows in, " if came else ""
                self._say(view, f"{rows}{method}", event.estimated)
            case StepBegan(view=view):
                self._say(view, f"{rows}{event.step} of {event.of}, {event.what}", event.estimated)
            case RunDone(view=view) | RunFailed(view=view) | RunSkipped(view=view):
                self._lines.pop(view, None)

    def _say(self, view: str, what: str, expected: float | None = None) -> None:
        self._lines[view] = (f"{view}: {what}", expected, time.monotonic())

    def __rich__(self) -> Table:
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column()
        rows.add_column(no_wrap=True, overflow="ellipsis")
        rows.add_column(justify="right", no_wrap=True)
        now = time.monotonic()
        for what, expected, since in list(self._lines.values()) or [("beginning", None, now)]:
            about = "" if expected is None else f" of about {expected:.1f}"
            rows.add_row(self._spinner, what, f"{now - since:.1f}{about} s")
        return rows
