"""Memory against time: choices of which none is beaten by another in both.

A front is what a function from budgets to the least cost is made of: it falls in steps, and a point is where a step
begins. Sizes of states are few and far between, so a front has few points whatever the unit of memory, and adding two
of them up is exact for bytes (DISS §5, where the same is said of budgets).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MOST = 300  # points of a front that is thinned


@dataclass(frozen=True)
class Point:
    """One choice: the memory it takes, what it costs, and the states that it holds."""

    bytes: int
    seconds: float
    held: tuple[str, ...] = ()

    def __add__(self, other: Point) -> Point:
        return Point(self.bytes + other.bytes, self.seconds + other.seconds, self.held + other.held)


class Front:
    """Points in the order of their sizes, each cheaper than all that are no larger."""

    def __init__(self, points: Iterable[Point]) -> None:
        self.points: list[Point] = []
        for p in sorted(points, key=lambda p: (p.bytes, p.seconds, p.held)):
            if not self.points or p.seconds < self.points[-1].seconds:
                self.points.append(p)

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
        return Front(a + b for a in self for b in other if a.bytes + b.bytes <= limit)

    def thinned(self) -> Front:
        """The same, where it has many points without those that differ least from their neighbours: adding up fronts of
        many trees would take too long."""
        step = -(-len(self) // _MOST)
        return self if step <= 1 else Front([*self.points[:-1:step], self.points[-1]])

    def bisected(self, other: Front, limit: int) -> Front:
        """The same by searching over budgets: the least cost does not rise with the budget, so where it is the same at
        both ends of a range it is so between them (DISS §5)."""
        found: dict[int, Point] = {}

        def at(budget: int) -> Point | None:
            pairs = (a + b for a in self if a.bytes <= budget and (b := other.best(budget - a.bytes)) is not None)
            return min(pairs, key=lambda p: (p.seconds, p.bytes, p.held), default=None)

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
