"""First rows are right whatever comes and leaves, and all rows are read only where some of them are missing."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from maintained import Maintained
from pyspark.sql import SparkSession

import headrace as hr
from headrace.ir.rel import Load
from headrace.ir.time import NEW
from headrace.spark import computing
from headrace.spark.inputs import Inputs

TABLES = {
    "t": pa.schema([("k", pa.int32()), ("f", pa.float64()), ("s", pa.string()), ("d", pa.decimal128(9, 2))]),
    "u": pa.schema([("k", pa.int32()), ("y", pa.int64())]),
}
# Each with the order that settles its ties, as a view does: by all columns, left to right.
QUERIES = {
    "doubles from the largest": ("SELECT k, f, s, d FROM t ORDER BY f DESC LIMIT 3", "f DESC, k, f, s, d"),
    "NULLs where they are not by default": (
        "SELECT k, f, s, d FROM t ORDER BY s NULLS LAST, d DESC NULLS FIRST LIMIT 7",
        "s NULLS LAST, d DESC NULLS FIRST, k, f",
    ),
    "an expression, of more than there are": ("SELECT s, k FROM t ORDER BY abs(k - 5) LIMIT 500", "abs(k - 5), s, k"),
    "any": ("SELECT s, k FROM t ORDER BY 1 LIMIT 3", "s, k"),
    "none": ("SELECT s, k FROM t ORDER BY s LIMIT 0", "s"),
    "groups": (
        "SELECT s, sum(d) AS total, count(*) AS n FROM t GROUP BY s ORDER BY total DESC LIMIT 4",
        "total DESC, s, total, n",
    ),
    "of the first of others": (
        "SELECT * FROM (SELECT d, k FROM t ORDER BY d DESC, k LIMIT 8) ORDER BY k DESC LIMIT 3",
        "k DESC, d",
    ),
    "below a join": (
        "SELECT q.k, f, y FROM (SELECT k, f FROM t WHERE k IS NOT NULL ORDER BY f, k LIMIT 4) q JOIN u ON q.k = u.k",
        None,
    ),
    "below an aggregate": ("SELECT s, count(*) AS n FROM (SELECT s, k FROM t ORDER BY k, s LIMIT 6) GROUP BY s", None),
}
NAN = float("nan")


def settled(name: str) -> str:
    sql, order = QUERIES[name]
    if order is None:
        return sql
    head, _, limit = sql.rpartition(" LIMIT ")
    return f"{head[: head.rindex(' ORDER BY ')]} ORDER BY {order} LIMIT {limit}"


def some(chance: random.Random) -> tuple[Any, ...]:
    return (
        chance.choice([None, *range(12)]),
        chance.choice([None, NAN, 0.0, -0.0, 1.5, -2.0, 7.0]),
        chance.choice([None, "", "a", "b", "é", "ab"]),
        chance.choice([None, Decimal("0.10"), Decimal("9.99"), Decimal("-3.00")]),
    )


@pytest.mark.parametrize("few", [computing.SMALL, 0], ids=["small steps", "large steps"])
@pytest.mark.parametrize("name", QUERIES)
def test_refreshes_are_right(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, few: int
) -> None:
    monkeypatch.setattr(computing, "SMALL", few)
    shop, chance = Maintained(spark, tmp_path, TABLES), random.Random(f"{name} {few}")
    shop["t"].change(insert=[some(chance) for _ in range(12)])
    shop["u"].change(insert=[(k, k + 1) for k in range(12)])
    view = shop.warehouse.view("v", QUERIES[name][0], refresh_policy="INCREMENTAL STRICT")
    shop.check(view, settled(name))
    for turn in range(6):
        rows = shop["t"].rows
        gone = chance.sample(rows, min(len(rows), chance.choice([0, 1, 3, len(rows) if turn == 4 else 2])))
        came = [some(chance) for _ in range(chance.choice([0, 1, 4]))]
        copies = [chance.choice(rows)] if rows and turn % 3 == 0 else []
        shop["t"].change(insert=[*came, *copies], delete=gone)
        report = shop.check(view, settled(name))
        assert not report.recomputed


class Loads:
    """The states of which the newest rows are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[str] = []
        load = Inputs.load

        def noted(run: Inputs, of: Load) -> Any:
            if of.at == NEW:
                self.found.append(of.state)
            return load(run, of)

        monkeypatch.setattr(Inputs, "load", noted)

    def new(self) -> list[str]:
        found, self.found = self.found, []
        return found


@pytest.mark.parametrize("few", [computing.SMALL, 0], ids=["small steps", "large steps"])
def test_a_table_is_read_only_where_first_rows_are_missing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(computing, "SMALL", few)
    shop, sql = Maintained(spark, tmp_path, TABLES), "SELECT k, y FROM u ORDER BY y DESC, k LIMIT 3"
    shop["u"].change(insert=[(k, k) for k in range(100)])
    view = shop.warehouse.view("v", sql)

    def read(**change: Any) -> int:
        """The rows of the table that a refresh reads."""
        shop["u"].change(**change)
        report = shop.check(view, sql)
        assert report.operators[0].method == "top n"
        return report.rows_read

    shop.check(view, sql)
    assert read(insert=[(5, 5)]) == 1, "no change of the first"
    assert read(insert=[(200, 200)]) == 1, "one comes before them"
    assert read(delete=[(5, 5), (6, 6)]) == 2, "those that leave were not among them"
    assert read(delete=[(200, 200)], insert=[(201, 201)]) == 2, "one for another"
    assert read(delete=[(201, 201)]) > 90, "one leaves, and only the table has the next"
    assert read(delete=[(99, 99)], insert=[(1, 1)]) > 90, "what comes instead is after others"
    assert read(delete=[(98, 98)], insert=[(97, 98)]) == 2, "an update that keeps its place"
    assert read(insert=[(200, 200)]) == 1


@pytest.mark.parametrize("few", [computing.SMALL, 0], ids=["small steps", "large steps"])
def test_groups_are_read_only_where_first_rows_are_missing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(computing, "SMALL", few)
    sql = "SELECT k, sum(y) AS s FROM u GROUP BY k ORDER BY s DESC, k LIMIT 3"
    shop, loads = Maintained(spark, tmp_path, TABLES), Loads(monkeypatch)
    shop["u"].change(insert=[(k, k) for k in range(50)])
    view = shop.warehouse.view("v", sql)
    shop.check(view, sql)
    loads.new()
    for came, gone, reads in (
        ([(5, 1)], [], False),  # far from the first
        ([(49, 10)], [], False),  # the first one grows
        ([(3, 1000)], [], False),  # a group rises to the top
        ([(49, -100)], [], True),  # one falls out of the first
        ([(60, 5)], [(48, 48)], True),  # one leaves
        ([], [(1, 1)], False),
        ([(47, 1)], [(47, 47)], True),
        ([(46, 1)], [(46, 46), (45, 45), (44, 44)], True),
    ):
        shop["u"].change(insert=came, delete=gone)
        report = shop.check(view, sql)
        assert any(name.startswith("partials") for name in loads.new()) == reads
        assert [o.method for o in report.operators if o.operator == "Limit"] == ["top n"]


def test_rows_that_never_leave_need_not_be_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Of sources that only grow, the first rows are all that a view of a join keeps."""
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    sql = "SELECT t.k, x, y FROM t JOIN u ON t.k = u.k ORDER BY x + y DESC, t.k LIMIT 3"
    for name, column in (("t", "x"), ("u", "y")):
        folder = tmp_path / name
        folder.mkdir()
        spark.range(20).selectExpr("id AS k", f"id AS {column}").coalesce(1).write.parquet(str(folder / "first"))
        next((folder / "first").glob("*.parquet")).rename(folder / "0.parquet")
        warehouse.source(name, hr.Folder(folder, schema=f"k bigint, {column} bigint"))
    view = warehouse.view("v", sql, refresh_policy="INCREMENTAL STRICT")
    view.refresh()
    assert [name.partition("-")[0] for name in view._states] == ["limit"]
    spark.sql("SELECT 3L AS k, 100L AS x").coalesce(1).write.parquet(str(tmp_path / "more"))
    next((tmp_path / "more").glob("*.parquet")).rename(tmp_path / "t" / "1.parquet")
    view.refresh()
    assert sorted(tuple(r) for r in view.read().collect()) == [(3, 100, 3), (18, 18, 18), (19, 19, 19)]
