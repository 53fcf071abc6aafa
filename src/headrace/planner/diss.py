"""Which states to keep in memory for the next delta: DISS's dynamic programming (§4.3, §5).

For every operator and demand the front (memory, cost) of its subtree is found once: of each action, its own memory and
cost added to the fronts of what it asks of its inputs, and of all these points those that no other beats. A budget is
then one point of the root's front, so that all budgets up to the largest cost one search. The root is asked for its
delta or for its full result, whichever costs less.

The answer is exact, with two bounds on the time it takes: in trees of more than ten joins fronts are thinned to
hundreds of points, and a state that occurs in two places of the tree counts in both. The answer may then be less than
the best, and is never too large.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.planner.actions import Action, Prices, actions
from headrace.planner.demand import DELTA, FULL, Demand, Emits
from headrace.planner.front import MOST, NOTHING, Front, Point
from headrace.planner.operators import HashJoin, Operator, candidates, walk

_Split = Callable[[Front, Front, int], Front]


class Diss:
    """The fronts of one tree for one predicted delta. ``given`` fixes the states that are held."""

    def __init__(
        self,
        root: Operator,
        prices: Prices,
        limit: int,
        *,
        given: frozenset[str] | None = None,
        split: _Split = Front.added,
    ) -> None:
        self.root = root
        self.prices = prices
        self.limit = limit
        self.given = given
        self.split = split
        joins = sum(isinstance(op, HashJoin) for op in walk(root))
        self.most = round(MOST * min(10 / max(joins, 1), 1.0) ** 3)
        self._known: dict[tuple[int, Demand], Front] = {}

    def front(self) -> Front:
        """The choices for the whole tree."""
        return Front([*self._front(self.root, DELTA), *self._front(self.root, FULL)])

    def _front(self, op: Operator, demand: Demand) -> Front:
        demand = demand.of(bool(op.change))
        if demand.emits is Emits.NOTHING and not demand.lookups:
            return NOTHING
        key = (id(op), demand)
        if key not in self._known:
            points = (p for a in actions(op, demand, self.prices, self.given) for p in self._points(op, a))
            self._known[key] = Front(points).thinned(self.most)
        return self._known[key]

    def _points(self, op: Operator, action: Action) -> Front:
        """An action with the best choices for its inputs."""
        own = action.bytes if self.given is None else 0
        if own > self.limit:
            return Front([])
        found = Front([Point(own, action.seconds, tuple(c.name for c in action.holds))])
        for below, asked in zip(op.inputs, action.asks, strict=True):
            found = self.split(found, self._front(below, asked), self.limit)
        return found


def front(root: Operator, prices: Prices, limit: int) -> Front:
    """What each budget up to a limit buys."""
    return Diss(root, prices, limit).front()


def choose(root: Operator, prices: Prices, budget: int) -> Point:
    """The states that make the next delta cheapest within a budget."""
    best = front(root, prices, budget).best(budget)
    assert best is not None  # holding nothing takes nothing
    return best


def priced(root: Operator, prices: Prices, held: frozenset[str]) -> Point:
    """What the next delta costs with just these states there, each brought up to date, and what they take."""
    states = candidates(root)
    best = Diss(root, prices, 0, given=held).front().best(0)
    assert best is not None
    return Point(sum(states[n].bytes for n in held), best.seconds, tuple(sorted(held)))
