"""The plainest model of cost: so much for each tuple that an operator takes in and gives out.

Rows follow from the rows of sources by textbook shares, for nothing is known of values. It is what Tempura's example is
told in (§2.2), what tests of searches are judged by, and enough to tell large from small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Constant,
    Delta,
    Expand,
    Fallback,
    Filter,
    Generate,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Meeting,
    Negate,
    Node,
    PairJoin,
    Partials,
    Restrict,
    Shortfall,
    Snapshot,
    Source,
    Union,
)

_FILTERED = 1 / 3
_GROUPS = 0.75  # groups are this power of rows
_ELEMENTS = 3.0
_WRITTEN = 2.0  # tuples that take as long to work on as one takes to write
_READ = 0.2
_PASSED = 0.1
_SHORT = 0.1  # runs in which first rows leave and others must be found


@dataclass(frozen=True)
class Tuples:
    """The rows of a relation before a run and after it, and those that come and leave; of a Delta, its own rows."""

    rows: float
    before: float = 0.0
    change: float = 0.0


class TupleModel:
    """Costs in tuples, where sources have so many rows before and after a run, and so many that came or left. With
    ``lookups`` those that are looked up by key cost nothing but what comes out."""

    def __init__(self, sources: Mapping[str, Tuples], *, lookups: bool = False) -> None:
        self.sources = sources
        self.lookups = lookups

    def estimate(self, node: Node, inputs: tuple[Tuples, ...]) -> Tuples:
        match node:
            case Source(name=name):
                return self.sources[name]
            case Constant() | Load():
                return Tuples(1.0, 1.0)
            case Snapshot(at=at):
                of = inputs[0]
                part = 1.0 if at.everything else 0.5 if at.moved else 0.0
                return Tuples(of.before + part * (of.rows - of.before))
            case Delta():
                return Tuples(inputs[0].change)
            case Filter():
                return _times(inputs[0], _FILTERED)
            case Expand(rows=rows):
                return _times(inputs[0], float(len(rows)))
            case Generate():
                return _times(inputs[0], _ELEMENTS)
            case Union():
                return Tuples(*(sum(getattr(i, f) for i in inputs) for f in ("rows", "before", "change")))
            case Join():
                return _joined(node, inputs)
            case PairJoin(kind=kind):
                left, right = inputs
                per = left.rows / max(right.rows, 1.0)
                made = Tuples(left.rows, left.before, left.change + min(right.change * per, left.rows) * 0.5)
                return _times(made, 0.5) if kind in ("left semi", "left anti") else made
            case Aggregate(keys=keys) | Partials(keys=keys):
                of = inputs[0]
                groups, before = (_groups(x) if keys else 1.0 for x in (of.rows, of.before))
                return Tuples(groups, before, 2 * min(groups, of.change))
            case Accumulate():
                return Tuples(2 * inputs[1].rows, 0.0, 0.0)
            case Limit(count=count):
                most = float(count or inputs[0].rows)
                of = inputs[0]
                return Tuples(min(of.rows, most), min(of.before, most), min(of.change, 2 * most))
            case Head():
                return Tuples(min(inputs[1].rows, 2 * inputs[0].rows))
            case Shortfall():
                return Tuples(min(inputs[0].rows, _SHORT))
            case Fallback():
                return _times(inputs[0], min(inputs[1].rows, 1.0))
            case Keys():
                return Tuples(sum(i.rows for i in inputs))
            case Restrict() | Meeting():
                return replace(inputs[0], rows=min(inputs[0].rows, 2 * inputs[1].rows))
        return inputs[0]

    def price(self, node: Node, inputs: tuple[Tuples, ...], output: Tuples, found: Collection[int] = ()) -> float:
        match node:
            case Snapshot() | Delta() | Constant() | Load():
                return _READ * output.rows
            case Filter() | Union() | Negate() | Fallback():
                return _PASSED * sum(i.rows for i in inputs)
        read = sum(i.rows for place, i in enumerate(inputs) if place not in found)
        return read + output.rows if len(inputs) > 1 else read

    def finds(self, asked: Tuples, among: Tuples, links: Sequence[tuple[str, str]] = ()) -> float | None:
        return 0.0 if self.lookups else None

    def indexed(self, change: Tuples) -> float:
        return change.rows

    def scan(self, size: Tuples) -> float:
        return _READ * size.rows

    def save(self, size: Tuples) -> float:
        return _WRITTEN * size.rows

    def idle(self) -> float:
        return 0.0

    def publish(self, size: Tuples, result: Tuples, *, replaces: bool, growing: bool) -> float:
        return _WRITTEN * (size.rows if replaces or growing else size.rows + 0.5 * result.rows)


def _times(of: Tuples, factor: float) -> Tuples:
    return Tuples(of.rows * factor, of.before * factor, of.change * factor)


def _groups(rows: float) -> float:
    return rows**_GROUPS if rows > 1 else rows


def _joined(join: Join, inputs: tuple[Tuples, ...]) -> Tuples:
    """Every equality leaves of all pairs one for each value of the larger side."""
    rows, before = (_product(join, [getattr(i, f) for i in inputs]) for f in ("rows", "before"))
    change = sum(rows * min(i.change / i.rows, 1.0) for i in inputs if i.rows)
    return Tuples(rows, before, change)


def _product(join: Join, rows: list[float]) -> float:
    of = {a.id: place for place, m in enumerate(join.members) for a in m.attrs}
    together = list(range(len(rows)))

    def root(place: int) -> int:
        while together[place] != place:
            place = together[place]
        return place

    total = 1.0
    for r in rows:
        total *= r
    for e in join.equals:
        places = {of[i] for i in e.refs if i in of}
        roots = {root(p) for p in places}
        if len(roots) > 1:
            total /= max(1.0, *(rows[p] for p in places))
            for r in roots:
                together[r] = min(roots)
    return total
