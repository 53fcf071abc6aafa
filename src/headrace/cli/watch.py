"""`headrace run --watch`: a service in the foreground, until a signal ends it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from headrace.api.service import Service
from headrace.cli.output import Output
from headrace.cli.progress import shown
from headrace.runtime.scheduler import Firing

if TYPE_CHECKING:
    from headrace.pipelines import Project


def watch(output: Output, project: Project, parallel: int) -> None:
    """Refresh each view when its policy says so. SIGTERM or Ctrl-C ends it when the runs in hand have ended; a second
    one ends them too."""

    def started(firing: Firing) -> None:
        output.line(event="due", view=firing.view, why=firing.why)

    with shown(output, [*project.streams, *project.warehouse.views], service=True) as progress:
        service = Service(project.warehouse, parallel=parallel, started=started, progress=progress)
        output.line(event="watching", views=list(project.warehouse.views), streams=list(project.streams))
        output.console.print(f"watching {len(project.warehouse.views)} views; Ctrl-C ends it")
        with _stopping(service):
            service.run()
    output.line(event="stopped")
    output.console.print("stopped: the runs in hand have ended")


@contextmanager
def _stopping(service: Service) -> Iterator[None]:
    """Let signals end a service."""
    told = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        service.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
