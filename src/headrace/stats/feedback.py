"""What runs have counted becomes what later ones expect.

An operator's formula is right up to a factor. Each run gives the factor that would have made it right, over inputs as
they were counted, so that what is wrong below an operator is not laid to it; each new one counts as much as all before
it together. A view's commit holds the factors as plain data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.ir.rel import Aggregate, Filter, Generate, Join, Node, PairJoin
from headrace.ir.walk import nodes
from headrace.stats.cardinality import Estimate, Known, Learned, estimate
from headrace.stats.estimate import Change
from headrace.stats.operator_key import operator_key

_LEARNING = (Aggregate, Filter, Generate, Join, PairJoin)
_FEW = 10.0  # rows that may be chance
_MOST = 1e4


@dataclass(frozen=True)
class Counted:
    """What a run counted of an operator: the rows that it holds, the rows of its change; None where it did not."""

    rows: float | None = None
    change: float | None = None


def after(
    lessons: Mapping[str, Learned], query: Node, known: Known, counted: Mapping[int, Counted]
) -> dict[str, Learned]:
    """What is known once a run has counted, by ``id`` of the query's nodes. ``known`` tells of the sources in that run,
    and nothing of operators. What was learned of operators that the query has not any more is forgotten."""
    found: dict[str, Learned] = {}
    seen: dict[int, Estimate] = {}
    for node in nodes(query):
        guess = estimate(node, tuple(seen[id(i)] for i in node.inputs), known)
        truth = counted.get(id(node), Counted())
        if isinstance(node, _LEARNING):
            key = operator_key(node)
            old = found.get(key) or lessons.get(key, Learned())
            new = Learned(_mean(old.rows, truth.rows, guess.rows), _mean(old.change, truth.change, guess.change.rows))
            if new != Learned():
                found[key] = new
        seen[id(node)] = _corrected(guess, truth)
    return found


def _mean(old: float, truth: float | None, guess: float) -> float:
    """The middle of a factor and the one that a run would have had."""
    if truth is None or max(truth, guess) < _FEW:
        return old
    new = min(max((truth + 1) / (guess + 1), 1 / _MOST), _MOST)
    return math.sqrt(old * new)


def _corrected(guess: Estimate, truth: Counted) -> Estimate:
    made = guess
    if truth.rows is not None:
        made = made.thinned(truth.rows, made.change)
    if truth.change is not None:
        whole = made.change.rows
        change = made.change * (truth.change / whole) if whole > 0 else Change(truth.change)
        made = replace(made, change=change)
    return made


def record(lessons: Mapping[str, Learned]) -> dict[str, list[float]]:
    """As plain data."""
    return {key: [round(one.rows, 6), round(one.change, 6)] for key, one in lessons.items()}


def recall(stored: Mapping[str, list[float]]) -> dict[str, Learned]:
    """From plain data."""
    return {key: Learned(*numbers) for key, numbers in stored.items()}
