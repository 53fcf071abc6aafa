"""Steps of many rows, which tasks do: what is counted on their way, and what is read once though it is used twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from maintained import Maintained
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.catalyst import Catalyst

TABLES = {
    "t": pa.schema([("k", pa.int32()), ("x", pa.int64())]),
    "u": pa.schema([("k", pa.int32()), ("y", pa.int64())]),
}
SUMS = "SELECT k, sum(x) AS s, count(*) AS n FROM t WHERE x > 2 GROUP BY k"
QUERIES = {
    "sums": SUMS,
    "greatest": "SELECT k, max(x) AS m FROM t WHERE x > 2 GROUP BY k",
    "join": "SELECT y, sum(x) AS s FROM t JOIN u ON t.k = u.k WHERE x > 2 GROUP BY y",
    "outer join": f"SELECT u.k, y, s FROM u LEFT JOIN ({SUMS}) v ON u.k = v.k",
    "rows": "SELECT k, x FROM t WHERE x > 2",
}
Made = Callable[[str, int | None], tuple[Maintained, hr.View]]


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> Made:
    def make(sql: str, few: int | None) -> tuple[Maintained, hr.View]:
        shop = Maintained(spark, tmp_path / f"few-{few}", TABLES, memory=0)
        shop["t"].change(insert=[(k, x) for k in range(5) for x in range(10)])
        shop["u"].change(insert=[(k, k % 3) for k in range(4)])
        view = shop.warehouse.view("v", sql, refresh_policy="INCREMENTAL STRICT")
        view._engine.few = few
        shop.check(view, sql)
        return shop, view

    return make


@pytest.mark.parametrize("name", QUERIES)
def test_as_many_rows_are_counted_as_in_the_driver(made: Made, name: str) -> None:
    told = []
    for few in (None, -1):
        shop, view = made(QUERIES[name], few)
        shop["t"].change(insert=[(1, 5), (2, 7), (2, 1), (9, 9)], delete=[(0, 9)])
        shop["u"].change(insert=[(9, 1), (4, 0)])
        report = shop.check(view, QUERIES[name])
        told.append([(o.operator, o.rows_in, o.rows_out) for o in report.operators])
    assert told[0] == told[1]
    assert any(rows for *_, rows in told[0])


def test_a_delta_of_groups_is_read_once(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[str] = []
    collect = Catalyst.collect

    def seen(self: Catalyst, plan: Any) -> Any:
        plans.append(self.frame(plan)._jdf.queryExecution().executedPlan().toString())
        return collect(self, plan)

    shop, view = made(SUMS, -1)
    shop["t"].change(insert=[(1, 5), (2, 7)])
    monkeypatch.setattr(Catalyst, "collect", seen)
    shop.check(view, SUMS)
    scans = [line for plan in plans for line in plan.splitlines() if "FileScan parquet [k#" in line and ",x#" in line]
    assert len(scans) == 1, "\n".join(plans)
