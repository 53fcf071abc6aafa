"""Points at which a run can be stopped, for tests of what a crash leaves behind.

A point stands before and after every effect that outlives the process. Nothing happens at one unless a test
armed it: in this process with ``armed``, or in another with HEADRACE_FAULT=<point>, which kills it there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

EFFECTS = (
    "state written",
    "state committed",
    "state compacted",
    "result written",
    "changes written",
    "result committed",
    "history written",
    "leftovers removed",
)
POINTS = tuple(f"{when} {effect}" for effect in EFFECTS for when in ("before", "after"))


class Crash(BaseException):
    """A process that ends at a point, as far as one that goes on can play it: no handler of errors sees it."""


_armed: str | None = os.environ.get("HEADRACE_FAULT")
_kill = _armed is not None


def reached(point: str) -> None:
    if _armed is not None and point == _armed:
        if _kill:
            os.kill(os.getpid(), signal.SIGKILL)
        raise Crash(point)


@contextmanager
def effect(name: str) -> Iterator[None]:
    """An effect between its two points."""
    reached(f"before {name}")
    yield
    reached(f"after {name}")


@contextmanager
def armed(point: str) -> Iterator[None]:
    """Crash at a point for as long as the block lasts."""
    global _armed
    if point not in POINTS:
        raise ValueError(f"no point {point!r}")
    before, _armed = _armed, point
    try:
        yield
    finally:
        _armed = before
