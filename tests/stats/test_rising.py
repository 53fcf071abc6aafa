"""Of facts whose keys rise, what comes meets what comes with it and nothing that was there."""

from __future__ import annotations

import pytest

from headrace.cost.seconds import Seconds
from headrace.ir.expr import Attr, Equal, ref
from headrace.ir.rel import Delta, Join, Snapshot, Source
from headrace.ir.time import NEW, OLD
from headrace.stats.cardinality import Estimate, estimate_tree
from headrace.stats.estimate import Change, Span
from headrace.stats.known import Statistics
from headrace.stats.table import ColumnFacts, Moving, TableFacts

K, J = Attr("k", "k", "bigint"), Attr("j", "j", "bigint")
ORDERS, LINES = Source("orders", (K,), ("k",)), Source("lines", (J,), ("j",))


def known(*, rising: bool) -> Statistics:
    orders = TableFacts(1_000_000, 0, {"k": ColumnFacts(1_000_000, 1, 1_000_000, rising=rising)})
    lines = TableFacts(4_000_000, 0, {"j": ColumnFacts(1_000_000, 1, 1_000_000, rising=rising)})
    return Statistics({"orders": Moving(orders, Change(200_000)), "lines": Moving(lines, Change(800_000))})


def found(rel: Join | Delta | Snapshot, *, rising: bool) -> Estimate:
    return estimate_tree(rel, known(rising=rising), {}, {})


def join(one: Delta | Snapshot, other: Delta | Snapshot) -> Join:
    return Join((one, other), (Equal(ref(K), ref(J)),), ())


def test_where_values_lie() -> None:
    assert found(Snapshot(ORDERS, OLD), rising=True).spans["k"].high == pytest.approx(800_000, abs=2)
    assert found(Snapshot(ORDERS, NEW), rising=True).spans["k"].high == 1_000_000
    came = found(Delta(ORDERS, OLD, NEW), rising=True).spans["k"]
    assert (came.low, came.high) == (pytest.approx(800_000, abs=2), 1_000_000)
    spread = found(Delta(ORDERS, OLD, NEW), rising=False).spans["k"]
    assert (spread.low, spread.high) == (1, 1_000_000)


def test_what_leaves_may_be_anywhere() -> None:
    table = TableFacts(1_000, 0, {"k": ColumnFacts(1_000, 1, 1_000, rising=True)})
    statistics = Statistics({"orders": Moving(table, Change(inserts=10, deletes=5))})
    assert estimate_tree(Delta(ORDERS, OLD, NEW), statistics, {}, {}).spans["k"].low == 1


def test_new_rows_meet_new_rows() -> None:
    delta = Delta(ORDERS, OLD, NEW)
    assert found(join(delta, Snapshot(LINES, OLD)), rising=True).rows < 100
    assert found(join(delta, Snapshot(LINES, NEW)), rising=True).rows == pytest.approx(800_000, rel=0.01)
    assert found(join(delta, Snapshot(LINES, OLD)), rising=False).rows > 500_000


@pytest.mark.parametrize("memory", [0.0, 2.0**40])
def test_what_must_be_read_to_find_them(memory: float) -> None:
    asked, old, new = (
        found(rel, rising=True) for rel in (Delta(ORDERS, OLD, NEW), Snapshot(LINES, OLD), Snapshot(LINES, NEW))
    )
    model, links = Seconds(known(rising=True), memory=memory), [("j", "k")]
    parts = [model.finds(asked, among, links) for among in (old, new)]
    if memory:
        assert parts == [0.0, 0.0]
        return
    assert parts == [pytest.approx(0.001), pytest.approx(0.2, rel=0.01)]
    assert model.finds(asked, found(Snapshot(LINES, OLD), rising=False), links) is None
    assert model.finds(asked, old) is None
    node = join(Delta(ORDERS, OLD, NEW), Snapshot(LINES, NEW))
    output = found(node, rising=True)
    prices = [model.price(node, (asked, new), output, parts) for parts in ({1: 0.001}, {1: 0.2}, {1: 0.9})]
    assert prices == sorted(prices)


def test_spans_before_and_after() -> None:
    span = Span(0, 100, 0.5, since=80, rising=True)
    assert span.before == Span(0, 80, 0.5, rising=True)
    assert span.came == Span(80, 100, 0.5, rising=True)
    assert Span(0, 9).share(Span(5, 20)) == pytest.approx(0.5)
    assert Span(0, 9).share(Span(10, 20)) == 0
