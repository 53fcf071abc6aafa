"""Other ways to choose what stays in memory, to compare DISS with, in the same terms.

- ReBatch keeps nothing and computes from base relations on every delta.
- Keep-all keeps every state that there could be: the hash tables of all relations and of all joins of them that the
  tree has, as DBToaster does with its higher-order views.
- Recycler caches states as they come by, one after another, by their benefit: the cost of computing one again from what
  is cached, times the uses it has had, for each byte. It looks back and knows nothing of the next delta (§6.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.errors import InternalError
from headrace.planner.actions import Prices
from headrace.planner.demand import FULL
from headrace.planner.diss import Diss, choose
from headrace.planner.operators import (
    Aggregate,
    Candidate,
    Forest,
    HashJoin,
    Materialize,
    Operator,
    Scan,
    Sort,
    candidates,
    walk,
)
from headrace.stats.estimate import Change

Strategy = Callable[[Operator, Prices, int], frozenset[str]]


def diss(root: Operator, prices: Prices, budget: int) -> frozenset[str]:
    return frozenset(choose(root, prices, budget).held)


def rebatch(root: Operator, prices: Prices, budget: int) -> frozenset[str]:
    return frozenset()


def keep_all(root: Operator, prices: Prices, budget: int) -> frozenset[str]:
    """All states, or none where they do not fit: it has no way to do with less."""
    states = candidates(root)
    return frozenset(states) if sum(c.bytes for c in states.values()) <= budget else frozenset()


def recycler(root: Operator, prices: Prices, budget: int, uses: Mapping[str, int] | None = None) -> frozenset[str]:
    """The states that are in the cache after each came by once, inputs first. ``uses`` is how often each was used; one
    that nobody counted was used once."""
    cached: dict[str, tuple[Candidate, float]] = {}
    for op in walk(at_rest(root)):
        for state in op.candidates:
            if state.bytes > budget or state.name in cached:
                continue
            again = Diss(op, prices, 0, given=frozenset(cached))._front(op, FULL).best(0)
            seconds = (again.seconds if again else 0.0) + prices.build(op.rows)
            benefit = seconds * (uses or {}).get(state.name, 1) / max(state.bytes, 1)
            _make_room(cached, budget - state.bytes, benefit)
            if sum(c.bytes for c, _ in cached.values()) + state.bytes <= budget:
                cached[state.name] = (state, benefit)
    return frozenset(cached)


def _make_room(cached: dict[str, tuple[Candidate, float]], room: int, benefit: float) -> None:
    """Evict the states of least benefit until the rest fits, where they have less of it on average."""
    evicted: list[str] = []
    taken = sum(c.bytes for c, _ in cached.values())
    for name in sorted(cached, key=lambda n: (cached[n][1], n)):
        if taken <= room:
            break
        evicted.append(name)
        taken -= cached[name][0].bytes
    if evicted and taken <= room and sum(cached[n][1] for n in evicted) / len(evicted) < benefit:
        for name in evicted:
            del cached[name]


def at_rest(op: Operator) -> Operator:
    """The same tree, of which nothing changes."""
    match op:
        case HashJoin(left=left, right=right):
            return replace(op, change=Change(), left=at_rest(left), right=at_rest(right))
        case Scan():
            return replace(op, change=Change(), reads_delta=0.0)
        case Forest(parts=parts):
            return replace(op, parts=tuple(at_rest(p) for p in parts))
        case Materialize(input=below) | Sort(input=below) | Aggregate(input=below):
            return replace(op, change=Change(), input=at_rest(below))
    raise InternalError("BAD_PLAN", f"no operator {type(op).__name__}")


STRATEGIES: dict[str, Strategy] = {"diss": diss, "rebatch": rebatch, "keep-all": keep_all, "recycler": recycler}
