"""Joins in memory: looked up as one relation, brought up to date by their own delta, and never missed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from headrace.api.outlook import Outlook
from headrace.api.recall import Choosing
from headrace.api.refreshing import prepare
from headrace.api.view import View
from headrace.stats.estimate import Change

TABLES = {
    "lines": pa.schema([("order", pa.int64()), ("price", pa.int64())]),
    "orders": pa.schema([("order", pa.int64()), ("customer", pa.int64())]),
    "customers": pa.schema([("customer", pa.int64()), ("name", pa.string())]),
}
SQL = """
SELECT name, sum(price) AS total, count(*) AS lines
FROM lines JOIN orders ON lines.order = orders.order JOIN customers ON orders.customer = customers.customer
GROUP BY name
"""


class Trade:
    """Three tables in a row, and a view that joins them, with everything in memory that can be."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.root, self.batch, self.random = root, 0, random.Random(7)
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.write("insert", lines=[(i % 30, i) for i in range(80)], orders=[(i, i % 12) for i in range(30)])
        self.write("insert", customers=[(i, f"name {i % 5}") for i in range(10)])
        self.wh = hr.Warehouse(root / "wh", spark=spark)
        self.wh._budget.eager = True
        for name in TABLES:
            self.wh.source(name, hr.Folder(str(root / name), changes=True))
        self.view: View = self.wh.view("totals", SQL)
        self.view.refresh()

    def write(self, kind: str, **tables: list[tuple[Any, ...]]) -> None:
        self.batch += 1
        for name, rows in tables.items():
            for r in rows:
                (self.rows[name].append if kind == "insert" else self.rows[name].remove)(r)
            schema = TABLES[name]
            columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
            table = pa.Table.from_arrays([*columns, pa.array([kind] * len(rows))], [*schema.names, "_change_type"])
            (self.root / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(table, self.root / name / f"{self.batch:04}.parquet")

    def trade(self) -> None:
        """New rows in some tables, and old ones gone."""
        n = self.batch
        new = {"lines": [(n % 40, n), (n % 7, n)], "orders": [(30 + n, n % 13)], "customers": [(n % 20, f"name {n}")]}
        for name in self.random.sample(sorted(TABLES), self.random.randint(1, 3)):
            self.write("insert", **{name: new[name]})
            if self.random.random() < 0.5:
                self.write("delete", **{name: [self.random.choice(self.rows[name])]})

    def right(self) -> None:
        same_rows(self.view.read(), self.view.recompute())

    @property
    def joins(self) -> dict[str, Any]:
        return {str(h.index): h for h in self.view._memory.held.values() if h.index.members}


@pytest.fixture
def trade(spark: SparkSession, tmp_path: Path) -> Callable[[], Trade]:
    return lambda: Trade(spark, tmp_path)


def test_a_join_is_kept_up_to_date(trade: Callable[[], Trade]) -> None:
    t = trade()
    seen: set[str] = set()
    for _ in range(8):
        t.trade()
        report = t.view.refresh()
        t.right()
        assert report.method == "incremental"
        seen |= t.joins.keys()
    assert any("⋈" in name for name in seen), seen
    for held in t.joins.values():
        leaves = {leaf.of.name for leaf in held.index.leaves}
        if leaves == {"lines", "orders"}:
            pairs = [(line, o) for line in t.rows["lines"] for o in t.rows["orders"] if line[0] == o[0]]
            assert held.java.records() == len(pairs), "it has the join as it is now"


def test_a_failed_run_leaves_no_trace_in_it(trade: Callable[[], Trade], monkeypatch: pytest.MonkeyPatch) -> None:
    t = trade()
    t.write("insert", lines=[(3, 1000)], orders=[(9, 3)], customers=[(7, "late")])
    t.view.refresh()
    assert t.joins
    t.write("insert", lines=[(9, 5)], orders=[(9, 7)], customers=[(3, "twice")])
    with monkeypatch.context() as broken:
        broken.setattr(t.view._result, "commit", _fail)
        with pytest.raises(RuntimeError):
            t.view.refresh()
    t.view.refresh()
    t.right()


def _fail(*_: Any, **__: Any) -> None:
    raise RuntimeError("no commit today")


def test_losing_it_costs_time_and_no_rows(trade: Callable[[], Trade]) -> None:
    t = trade()
    t.write("insert", lines=[(3, 1000)], orders=[(9, 3)], customers=[(7, "late")])
    t.view.refresh()
    for held in t.joins.values():
        held.java.release()
    t.write("insert", lines=[(9, 5)], orders=[(9, 7)], customers=[(3, "twice")])
    t.view.refresh()
    t.right()


def test_one_that_a_plan_cannot_bring_up_to_date_is_dropped(trade: Callable[[], Trade]) -> None:
    t = trade()
    t.write("insert", lines=[(3, 1000)], orders=[(9, 3)], customers=[(7, "late")])
    t.view.refresh()
    before = set(t.joins)
    assert before
    t.view._memory.budget.eager = False
    t.view._recall._usable = lambda plan, until: {}  # type: ignore[method-assign]  # a plan without any of them
    t.write("insert", lines=[(3, 1)], orders=[(3, 4)])
    t.view.refresh()
    assert not t.joins
    t.right()


def test_joins_that_were_held_for_changes_of_other_tables(spark: SparkSession, tmp_path: Path) -> None:
    """A fact and four tables around it, of which each time others move than were expected to."""
    dice, around = random.Random(3), "abcd"
    wh = hr.Warehouse(tmp_path / "wh", spark=spark)

    def come(number: int, names: str) -> None:
        for name in names:
            keys = [number] if name == "d" else [dice.randrange(9) for _ in range(4)]
            rows = {f"{name}_key": keys, f"{name}_value": [number * 100 + k for k in keys]}
            if name == "f":
                rows = {f"f_{n}": [dice.randrange(9) for _ in range(12)] for n in around}
            (tmp_path / name).mkdir(exist_ok=True)
            pq.write_table(pa.table(rows), tmp_path / name / f"{number:04}.parquet")

    come(0, f"f{around}")
    for name in f"f{around}":
        wh.source(name, hr.Folder(str(tmp_path / name)))
    joins = " ".join(f"JOIN {n} ON f_{n} = {n}_key" for n in around)
    totals = ", ".join(f"sum({n}_value) AS {n}" for n in around)
    sql = f"SELECT f_a, count(*) AS rows, {totals} FROM f {joins} GROUP BY f_a"
    view = wh.view("totals", sql, refresh_policy="INCREMENTAL")
    view.refresh()
    held = set[str]()
    for number in range(1, 7):
        foreseen = dice.choice(["abc", "fabc", "ab", "fad"])
        expected = Outlook({n: Change(10.0) for n in foreseen}, 10)
        view._recall.choosing = Choosing("keep-all", outlook=expected, at_once=True)
        prepare(view, expected)
        held |= {str(h.index) for h in view._memory.held.values() if h.index.members}
        come(number, dice.choice(["acd", "fcd", "abcd", "fabcd"]))
        assert view.refresh().method == "incremental"
        same_rows(view.read(), view.recompute())
    assert len(held) > 3
