"""A planning problem (T, D, Q, c): the runs, the data that each will see, what each must deliver, and what to save.

    T, Q   ``ir.timeline.Timeline``: the runs, their weights, and which of them deliver
    D      for each run, the rows that each source has before it and what changes up to it
    c      a Goal, over the seconds of each run

Tempura §2.1. What a node costs and how many rows it has is told by a Model, so that a search can be judged by a cost
as plain as one for each tuple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import total_ordering
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from headrace.cost.seconds import NOWHERE
from headrace.errors import ConfigError
from headrace.ir.rel import Node
from headrace.ir.time import Situation
from headrace.ir.timeline import REFRESH, Timeline


@dataclass(frozen=True)
class Arriving:
    """A source in one run: its rows before, and those that come, change and leave up to it."""

    before: float
    inserts: float = 0.0
    updates: float = 0.0
    deletes: float = 0.0

    def __post_init__(self) -> None:
        if min(self.before, self.inserts, self.updates, self.deletes) < 0:
            raise ConfigError("ARRIVALS", f"{self} has fewer than no rows", hint="rows are numbers from 0 on")
        if self.deletes + self.updates > self.before + self.inserts:
            raise ConfigError("ARRIVALS", f"{self} loses rows that it never had", hint="look at what was predicted")

    def then(self, other: Arriving) -> Arriving:
        """What comes up to the next run, where this one is not done."""
        came = (self.inserts + other.inserts, self.updates + other.updates, self.deletes + other.deletes)
        return Arriving(self.before, *came)

    @property
    def after(self) -> float:
        return self.before + self.inserts - self.deletes

    @property
    def moves(self) -> bool:
        return self.inserts + self.updates + self.deletes > 0

    @property
    def shrinks(self) -> bool:
        return self.updates + self.deletes > 0


@total_ordering
@dataclass(frozen=True)
class Latest:
    """Costs of runs of which the last counts most: the one before it matters only where the last are equal."""

    costs: tuple[float, ...]  # the last run first

    def __add__(self, other: Latest) -> Latest:
        return Latest(tuple(a + b for a, b in zip(self.costs, other.costs, strict=True)))

    def __lt__(self, other: Latest) -> bool:
        return self.costs < other.costs


@dataclass(frozen=True)
class Goal:
    """What to minimise: the weighted sum over runs, or (``latest_first``) the last run's cost before all others.

    ``last`` is a limit: the last run may cost at most that share of what it costs to compute everything then.
    """

    latest_first: bool = False
    last: float | None = None

    def __post_init__(self) -> None:
        if self.last is not None and not self.last > 0:
            raise ConfigError(
                "GOAL", f"a last run of {self.last!r} of the whole cannot be", hint="give a share above 0"
            )

    def total(self, timeline: Timeline, costs: Sequence[float]) -> float | Latest:
        """The costs of the runs as one value; smaller is better."""
        if self.latest_first:
            return Latest(tuple(reversed(costs)))
        return sum(r.weight * c for r, c in zip(timeline.runs, costs, strict=True))


LEAST_COST = Goal()


@dataclass(frozen=True)
class Problem:
    """Plan these runs over this data, for this goal. ``begun`` says that there were runs before, whose states may be
    there, and ``published`` that there is a result of theirs."""

    timeline: Timeline
    data: tuple[Mapping[str, Arriving], ...]
    goal: Goal = LEAST_COST
    begun: bool = False
    published: bool = False

    def __post_init__(self) -> None:
        if len(self.data) != len(self.timeline):
            raise ConfigError(
                "ARRIVALS",
                f"{len(self.data)} predictions for {len(self.timeline)} runs",
                hint="give what each source has in each run",
            )
        for place, (one, other) in enumerate(pairwise(self.data)):
            for name in one.keys() & other.keys():
                if abs(one[name].after - other[name].before) > 1e-6 * max(1.0, one[name].after):
                    raise ConfigError(
                        "ARRIVALS",
                        f'source "{name}" has {one[name].after:g} rows after run {place + 1} '
                        f"and {other[name].before:g} before the next",
                        hint="predict rows that add up",
                    )

    def without(self, run: int) -> Problem:
        """The same without a run before the last, whose data the next one finds besides its own."""
        one, other = self.data[run : run + 2]
        both = {**other, **{n: one[n].then(other[n]) if n in other else one[n] for n in one}}
        data = (*self.data[:run], both, *self.data[run + 2 :])
        return replace(self, timeline=self.timeline.without(run), data=data)

    def situation(self, run: int) -> Situation:
        moved = frozenset(n for n, a in self.data[run].items() if a.moves)
        return Situation(moved, frozenset(n for n, a in self.data[run].items() if a.shrinks))

    def total(self, costs: Sequence[float]) -> float | Latest:
        return self.goal.total(self.timeline, costs)


def refresh(data: Mapping[str, Arriving], goal: Goal = LEAST_COST) -> Problem:
    """Maintenance of a view between two logical points: what is kept is there before the run and after it."""
    return Problem(REFRESH, (data,), goal)


def progressive(timeline: Timeline, arriving: Sequence[Mapping[str, float]], goal: Goal = LEAST_COST) -> Problem:
    """Runs that begin with nothing, each of which finds so many more rows in its sources."""
    have: dict[str, float] = {}
    data = []
    for rows in arriving:
        data.append({n: Arriving(have.get(n, 0.0), r) for n, r in rows.items()})
        have = {n: have.get(n, 0.0) + rows.get(n, 0.0) for n in {*have, *rows}}
    return Problem(timeline, tuple(data), goal)


class Size(Protocol):
    """What a model expects of a relation; only its rows mean something to a search."""

    @property
    def rows(self) -> float: ...


S = TypeVar("S", bound=Size)


class Model(Protocol[S]):
    """How much data there is in one run, and what it costs to work on it, in seconds or any other unit."""

    def estimate(self, node: Node, inputs: tuple[S, ...]) -> S:
        """What is expected of a node. A Tvr is as it is after the run, with its change; Snapshot and Delta follow."""

    def price(self, node: Node, inputs: tuple[S, ...], output: S, found: Mapping[int, float] = NOWHERE) -> float:
        """What a node costs where its inputs are given. Of those at the places ``found`` rows are found by key, in some
        part of them."""

    def finds(self, asked: S, among: S, links: Sequence[tuple[str, str]] = ()) -> float | None:
        """The part of a relation that must be read to find rows in it for so many that ask: none where they are looked
        up; None where all must be read. ``links`` are columns of it and those that they equal of what asks, where files
        tell their ranges."""

    def indexed(self, change: S) -> float:
        """What it costs that what is looked up sees a change."""

    def scan(self, size: S) -> float:
        """What reading rows costs that an earlier step of the run holds, or a state."""

    def save(self, size: S) -> float:
        """What a step costs that holds, keeps or adds rows to a state."""

    def idle(self) -> float:
        """What a state costs in a run that changes nothing in it."""

    def publish(self, size: S, result: S, *, replaces: bool, growing: bool) -> float:
        """What it costs to make a result visible: all of it, or its change."""


AnyModel = Model[Any]
