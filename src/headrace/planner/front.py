"""Memory against time: choices of which none is beaten by another in both.

A front is what a function from budgets to the least cost is made of: it falls in steps, and a point is where a step
begins. Sizes of states are few and far between, so a front has few points whatever the unit of memory, and adding two
of them up is exact for bytes (DISS §5, where the same is said of budgets).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

MOST = 1_000  # points of a front, beyond which it is thinned


_Names = tuple[Any, ...]  # names of states, and such tuples in turn: most points are dropped before one asks


class Point(NamedTuple):
    """One choice: the memory it takes, what it costs, and the states that it holds."""

    bytes: int
    seconds: float
    names: _Names = ()

    @property
    def held(self) -> tuple[str, ...]:
        return tuple(_flat(self.names))

    def __add__(self, other: Point) -> Point:  # type: ignore[override]
        names = (self.names, other.names) if self.names and other.names else self.names or other.names
        return Point(self.bytes + other.bytes, self.seconds + other.seconds, names)


def _flat(names: _Names) -> Iterator[str]:
    for name in names:
        if isinstance(name, str):
            yield name
        else:
            yield from _flat(name)


class Front:
    """Points in the order of their sizes, each cheaper than all that are no larger."""

    def __init__(self, points: Iterable[Point]) -> None:
        self.points: list[Point] = []
        for p in sorted(points, key=attrgetter("bytes", "seconds")):
            if not self.points or p.seconds < self.points[-1].seconds:
                self.points.append(p)

    @staticmethod
    def of(points: list[Point]) -> Front:
        """A front of points that are one already."""
        made = Front(())
        made.points = points
        return made

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def best(self, budget: int) -> Point | None:
        """The cheapest choice within a budget; None where there is none."""
        place = bisect_right(self.points, budget, key=lambda p: p.bytes)
        return self.points[place - 1] if place else None

    def added(self, other: Front, limit: int) -> Front:
        """The best of all ways to split each budget up to a limit between two, by trying every pair of points."""
        if len(self) == 1 or len(other) == 1:
            one, many = (self, other) if len(self) == 1 else (other, self)
            first = one.points[0]
            return Front.of([first + p for p in many if first.bytes + p.bytes <= limit])
        mine, theirs = ([(p.bytes, p.seconds) for p in f] for f in (self, other))
        pairs = [
            (m + n, s + t, i, j) for i, (m, s) in enumerate(mine) for j, (n, t) in enumerate(theirs) if m + n <= limit
        ]
        pairs.sort()
        kept: list[Point] = []
        least = math.inf
        for _, seconds, i, j in pairs:  # only of those that stay the states are put together
            if seconds < least:
                least = seconds
                kept.append(self.points[i] + other.points[j])
        return Front.of(kept)

    def thinned(self, most: int = MOST) -> Front:
        """The same, where it has very many points without some of them."""
        step = -(-len(self) // most)
        return self if step <= 1 else Front([*self.points[:-1:step], self.points[-1]])

    def bisected(self, other: Front, limit: int) -> Front:
        """The same by searching over budgets: the least cost does not rise with the budget, so where it is the same at
        both ends of a range it is so between them (DISS §5)."""
        found: dict[int, Point] = {}

        def at(budget: int) -> Point | None:
            pairs = (a + b for a in self if a.bytes <= budget and (b := other.best(budget - a.bytes)) is not None)
            return min(pairs, key=lambda p: (p.seconds, p.bytes), default=None)

        def search(low: int, high: int, first: Point | None, last: Point | None) -> None:
            if last is None or (first is not None and first.seconds == last.seconds):
                return
            if high - low == 1:
                found[high] = last
                return
            middle = (low + high) // 2
            between = at(middle)
            search(low, middle, first, between)
            search(middle, high, between, last)

        first = at(0)
        if first is not None:
            found[0] = first
        if limit > 0:
            search(0, limit, first, at(limit))
        return Front(found.values())


NOTHING = Front([Point(0, 0.0)])
