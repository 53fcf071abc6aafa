"""What a refresh tells while it works: one event after another, each plain data.

Of a view: ``Looking``; then ``RunBegan`` and, for each step of its plan, ``StepBegan`` and ``StepDone``, unless nothing
has changed; and at the end ``RunDone``. After a change of definition there may be two runs in one refresh. A refresh
of several views also tells of one that failed (``RunFailed``), and of one that was left out because another failed
(``RunSkipped``).

Estimates are seconds that earlier runs by the same method let expect, None where there were none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.runtime.report import RefreshReport


@dataclass(frozen=True)
class Looking:
    """New data is looked for and checked."""

    view: str


@dataclass(frozen=True)
class RunBegan:
    """What has come is known, and how it will be worked in. ``reason`` says why from scratch, where it is so."""

    view: str
    method: str
    reason: str | None
    steps: int
    rows_in: Mapping[str, int]
    estimated: float | None


@dataclass(frozen=True)
class StepBegan:
    """The ``step``-th ``of`` the run's steps begins. ``what`` tells it in words, ``name`` is that of the reports."""

    view: str
    method: str
    step: int
    of: int
    name: str
    what: str
    estimated: float | None


@dataclass(frozen=True)
class StepDone:
    """A step is done: the rows that it gave, and its seconds."""

    view: str
    method: str
    step: int
    of: int
    name: str
    what: str
    estimated: float | None
    rows: int
    seconds: float


@dataclass(frozen=True)
class RunDone:
    """The view is up to date; ``report`` tells how."""

    view: str
    report: RefreshReport


@dataclass(frozen=True)
class RunFailed:
    """The view keeps its last good result; ``problem`` is what went wrong."""

    view: str
    problem: Exception


@dataclass(frozen=True)
class RunSkipped:
    """The view stays as it was, for ``below`` failed."""

    view: str
    below: str


Event = Looking | RunBegan | StepBegan | StepDone | RunDone | RunFailed | RunSkipped
# It is called in the thread of the refresh and should come back soon; what it raises ends the run.
Progress = Callable[[Event], None]


def silent(event: Event) -> None:
    """Nobody is told."""
