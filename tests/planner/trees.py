"""Operator trees for tests: random ones, and ones shaped like the large queries of TPC-H and TPC-DS."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from hypothesis import strategies as st

from headrace.ir.aggregate import Merging
from headrace.planner.demand import Key
from headrace.planner.operators import (
    Aggregate,
    Candidate,
    HashJoin,
    Materialize,
    Operator,
    Scan,
    Sort,
    Table,
)
from headrace.stats.estimate import Change


@dataclass
class Rates:
    """Prices for each row. Whole numbers, so that sums are exact in any order."""

    scans: int = 10
    replays: int = 2
    keeps: int = 3
    builds: int = 5
    inserts: int = 5
    deletes: int = 4
    probes: int = 3
    sorts: int = 6
    merges: int = 1
    aggregates: int = 4
    delivers: int = 1
    meets: int = 3
    asked: list[str] = field(default_factory=list)

    def scan(self, rows: float) -> float:
        return self.scans * round(rows)

    def arrive(self, rows: float) -> float:
        return self.scans * round(rows)

    def replay(self, rows: float) -> float:
        return self.replays * round(rows)

    def materialise(self, rows: float) -> float:
        return self.keeps * round(rows)

    def build(self, rows: float) -> float:
        return self.builds * round(rows)

    def insert(self, rows: float) -> float:
        return self.inserts * round(rows)

    def delete(self, rows: float, fanout: float) -> float:
        return self.deletes * round(rows * max(fanout, 1.0))

    def probe(self, rows: float) -> float:
        return self.probes * round(rows)

    def meet(self, rows: float) -> float:
        return self.meets * round(rows)

    def sort(self, rows: float) -> float:
        return self.sorts * round(rows)

    def merge(self, delta: float, rows: float) -> float:
        return self.merges * round(delta + rows)

    def aggregate(self, rows: float) -> float:
        return self.aggregates * round(rows)

    def deliver(self, rows: float) -> float:
        return self.delivers * round(rows)


def keepable(op: Operator, name: str, keys: list[Key], *, rows: bool = True, there: bool = False) -> Materialize:
    """An operator whose rows may be kept, plain or by keys."""
    plain = Candidate(f"{name} rows", round(op.rows) * 2) if rows else None
    distinct = dict.fromkeys(keys)
    tables = tuple(Table(k, Candidate(f"{name} by {','.join(k)}", round(op.rows) * 3, there)) for k in distinct)
    return Materialize(op.rows, op.change, op.distinct, op.base, input=op, as_rows=plain, tables=tables)


rates = st.builds(Rates, *(st.integers(0, 20) for _ in range(12)))
_few = st.sampled_from([0, 0, 1, 2, 5])
changes = st.builds(lambda i, u, d: Change(float(i), float(u), float(d)), _few, _few, _few)


@st.composite
def trees(draw: st.DrawFn, joins: int = 3) -> Operator:
    """A tree of up to some joins, with sorts and aggregates between them; deltas of joins by terms, or not."""
    numbers = count()
    budget = draw(st.integers(0, joins))
    op = _tree(draw, numbers, budget, by_terms=draw(st.booleans()))
    if draw(st.booleans()):
        op = _grouped(draw, op, next(numbers))
    return op


def _tree(draw: st.DrawFn, numbers: count[int], joins: int, *, by_terms: bool) -> Operator:
    n = next(numbers)
    if joins == 0:
        rows, change = float(draw(st.integers(0, 40))), draw(changes)
        a, b = f"c{n}a", f"c{n}b"
        distinct = {a: max(rows, 1.0), b: float(draw(st.integers(1, 5)))}
        return Scan(rows, change, distinct, rows, f"t{n}", reads=rows, reads_delta=change.rows)
    left = draw(st.integers(0, joins - 1))
    sides = [_tree(draw, numbers, n, by_terms=by_terms) for n in (left, joins - 1 - left)]
    if draw(st.integers(0, 4)) == 0:
        sides[1] = _sorted(draw, sides[1], next(numbers))
    keys: list[Key] = [
        tuple(draw(st.lists(st.sampled_from(sorted(s.distinct)), min_size=1, max_size=2))) for s in sides
    ]
    kept = [
        keepable(
            s,
            f"s{next(numbers)}",
            [k, *draw(st.sampled_from([[], [(sorted(s.distinct)[0],)]]))],
            there=draw(st.booleans()),
        )
        if draw(st.integers(0, 5))
        else s
        for s, k in zip(sides, keys, strict=True)
    ]
    rows = float(draw(st.integers(0, 60)))
    change = draw(changes) if any(s.change for s in sides) else Change()
    distinct = {**sides[0].distinct, **sides[1].distinct}
    return HashJoin(
        *(rows, change, distinct, 100.0),
        left=kept[0],
        right=kept[1],
        left_key=keys[0],
        right_key=keys[1],
        by_terms=by_terms,
    )


def _sorted(draw: st.DrawFn, op: Operator, n: int) -> Operator:
    state = Candidate(f"sort {n}", round(op.rows) * 2, draw(st.booleans()))
    return Sort(op.rows, op.change, op.distinct, op.base, input=op, state=state)


def _grouped(draw: st.DrawFn, op: Operator, n: int) -> Operator:
    rows = float(draw(st.integers(0, 10)))
    change = draw(changes) if op.change else Change()
    state = Candidate(f"groups {n}", round(rows) * 3, draw(st.booleans()))
    merging, durable = draw(st.sampled_from(Merging)), draw(st.booleans())
    return Aggregate(rows, change, op.distinct, rows, input=op, state=state, merging=merging, durable=durable)


def chain(members: int, rows: float, share: float, *, stars: int = 0) -> Operator:
    """A left-deep join of a large relation with others, each linked to it or to the one before; every relation and
    every join may be kept by its key, and relations also by the keys that lead back to them."""
    op: Operator | None = None
    for n in range(members):
        size = rows / (n + 1) ** 2
        distinct = {f"{n}.key": size, f"{n}.next": max(size / 4, 1.0), f"{n}.star": max(size / 10, 1.0)}
        change = Change(size * share, size * share / 10, size * share / 5)
        scan = Scan(size, change, distinct, size, f"t{n}", size, change.rows)
        keys: list[Key] = [(f"{n}.key",), (f"{n}.next",)]
        leaf = keepable(scan, f"t{n}", keys, rows=False)
        if op is None:
            op = leaf
            continue
        link = (f"{max(n - 1, 0)}.next",) if n >= stars else ("0.star",)
        left = op if isinstance(op, Materialize) else keepable(op, f"join {n}", [link])
        change = Change(left.change.inserts + change.inserts, change.updates, left.change.deletes + change.deletes)
        both = {**left.distinct, **distinct}
        op = HashJoin(rows / 2, change, both, rows, left=left, right=leaf, left_key=link, right_key=(f"{n}.key",))
    assert op is not None
    state = Candidate("groups", 10_000, True)
    return Aggregate(100.0, Change(0.0, 50.0, 0.0), {}, 100.0, input=op, state=state, durable=True)
