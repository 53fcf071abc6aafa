"""What turns out to have no rows is left out of later steps, and the result is right all the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from maintained import Maintained
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark import computing

TABLES = {
    "t": pa.schema([("k", pa.int32()), ("x", pa.int64())]),
    "u": pa.schema([("k", pa.int32()), ("y", pa.int64())]),
}
QUERIES = {
    "the largest of some sums": """
        WITH sums AS (SELECT k, sum(x) AS s FROM t WHERE x > 10 GROUP BY k)
        SELECT u.k, y, s FROM u JOIN sums ON u.k = sums.k WHERE s = (SELECT max(s) FROM sums)""",
    "not in a part": "SELECT k, count(*) AS n FROM u WHERE k NOT IN (SELECT k FROM t WHERE x > 10) GROUP BY k",
    "outer join": """
        SELECT u.k, y, s FROM u LEFT JOIN (SELECT k, sum(x) AS s FROM t WHERE x > 10 GROUP BY k) v ON u.k = v.k""",
    "all in all": "SELECT count(*) AS n, sum(x) AS s, max(x) AS m FROM t JOIN u ON t.k = u.k WHERE x > 10",
    "distinct": "SELECT DISTINCT t.k FROM t JOIN u ON t.k = u.k WHERE x > 10 AND y > 0",
}
CHANGES = [
    {"t": [(1, 2), (2, 3)]},  # nothing that the query looks at
    {"t": [(1, 4)], "u": [(7, 1)]},
    {"t": [(2, 50)]},
    {"t": [(3, 1)], "u": [(2, 9)]},
]


@pytest.mark.parametrize("few", [computing.SMALL, 0], ids=["small steps", "large steps"])
@pytest.mark.parametrize("name", QUERIES)
def test_refreshes_are_right(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, few: int
) -> None:
    monkeypatch.setattr(computing, "SMALL", few)
    shop = Maintained(spark, tmp_path, TABLES)
    shop["t"].change(insert=[(k, x) for k in range(5) for x in (1, 11, 12)])
    shop["u"].change(insert=[(k, k + 1) for k in range(4)])
    view = shop.warehouse.view("v", QUERIES[name], refresh_policy="INCREMENTAL STRICT")
    shop.check(view, QUERIES[name])
    for came in CHANGES:
        for table, rows in came.items():
            shop[table].change(insert=rows)
        shop.check(view, QUERIES[name])
    shop["t"].change(delete=[(1, 2), (0, 11), (0, 12)])
    shop.check(view, QUERIES[name])


def test_steps_with_nothing_to_do_are_not_done(spark: SparkSession, tmp_path: Path) -> None:
    shop, sql = Maintained(spark, tmp_path, TABLES), QUERIES["the largest of some sums"]
    shop["t"].change(insert=[(k, 11) for k in range(5)])
    shop["u"].change(insert=[(k, k + 1) for k in range(4)])
    view = shop.warehouse.view("v", sql)
    shop.check(view, sql)
    shop["t"].change(insert=[(1, 2)])
    report = shop.check(view, sql)
    assert report.method == "incremental"
    assert report.published == "nothing changed"
    assert report.rows_out == 0
    sums = next(o for o in report.operators if o.operator == "Aggregate" and "max" not in o.text)
    assert sums.rows_out == 0
    assert all(o.rows_out == 0 for o in report.operators if o.operator == "Join")


def test_known_keys_are_looked_up(spark: SparkSession, tmp_path: Path) -> None:
    """Of sources that only grow, keys are kept and nothing else; each new one, NULL among them, is asked for once."""
    sql = "SELECT DISTINCT k, y FROM u"
    (tmp_path / "u").mkdir()
    case = hr.Warehouse(tmp_path / "warehouse", spark=spark, memory="64m")
    case.source("u", hr.Folder(tmp_path / "u", schema="k bigint, y bigint"))
    rows = [(None, 1), (1, None), (2, 2), (2, 2)]
    for turn, came in enumerate((rows, [(None, 1), (3, 3)], [(2, 2), (None, None), (3, 3)], [(None, None), (4, 4)])):
        columns = [pa.array([r[i] for r in came], pa.int64()) for i in (0, 1)]
        pq.write_table(pa.table(columns, names=["k", "y"]), tmp_path / "u" / f"{turn}.parquet")
        view = case.view("v", sql)
        report = view.refresh()
        same_rows(view.read(), view.recompute())
        if turn:
            assert report.method == "incremental"
            assert report.rows_out == 1
            assert report.memory
