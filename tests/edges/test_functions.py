"""Python functions, DataFrames as queries, time zones, restarts: each equals Spark's answer."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
from maintained import Maintained
from oracle import same_rows
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

import headrace as hr

T = pa.schema([("k", pa.int32()), ("s", pa.string()), ("at", pa.timestamp("us", tz="UTC"))])


def rows(*numbers: int) -> list[tuple[object, ...]]:
    return [(n, "ab"[n % 2], pd.Timestamp("2024-03-30 22:30", tz="UTC") + pd.Timedelta(hours=n)) for n in numbers]


def changed(case: Maintained) -> None:
    case["t"].change(insert=rows(1, 2, 3, 3))


def test_a_python_udf(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    spark.udf.register("plus_one", lambda x: None if x is None else x + 1, LongType())
    sql = "SELECT s, sum(plus_one(k)) AS z FROM t GROUP BY s"
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    case["t"].change(insert=rows(4), delete=rows(3, 2))
    assert case.check(view, sql).method == "incremental"


def test_a_pandas_udf(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)

    @F.pandas_udf("bigint")  # type: ignore[call-overload]
    def doubled(x: pd.Series) -> pd.Series:
        return x * 2

    spark.udf.register("doubled", doubled)
    sql = "SELECT k, doubled(k) AS z FROM t WHERE doubled(k) > 2"
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    case["t"].change(insert=rows(5), delete=rows(3))
    assert case.check(view, sql).method == "incremental"


def test_a_dataframe_as_the_query(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    t = case.warehouse.table("t")
    view = case.warehouse.view("v", t.where("k > 1").groupBy("s").agg(F.count("*").alias("c")))
    sql = "SELECT s, count(*) AS c FROM t WHERE k > 1 GROUP BY s"
    case.check(view, sql)
    case["t"].change(insert=rows(7), delete=rows(2))
    case.check(view, sql)


def test_time_zones(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        case = Maintained(spark, tmp_path, {"t": T})
        changed(case)
        sql = "SELECT hour(at) AS h, to_date(at) AS d, count(*) AS c FROM t GROUP BY hour(at), to_date(at)"
        view = case.warehouse.view("v", sql)
        case.check(view, sql)
        case["t"].change(insert=rows(5, 6), delete=rows(3))
        case.check(view, sql)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_another_process_goes_on_where_this_one_stopped(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    sql = "SELECT s, count(*) AS c, max(k) AS m FROM t GROUP BY s"
    case.check(case.warehouse.view("v", sql), sql)
    case["t"].change(insert=rows(9), delete=rows(3))
    again = hr.Warehouse(case.warehouse.path, spark=spark)
    again.source("t", hr.Folder(case["t"].folder, changes=True))
    report = case.check(again.view("v", sql), sql)
    assert report.method == "incremental"


def test_a_changed_definition_is_recomputed_and_said(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    case.check(case.warehouse.view("v", "SELECT k FROM t"), "SELECT k FROM t")
    sql = "SELECT k FROM t WHERE k > 1"
    report = case.check(case.warehouse.view("v", sql), sql)
    assert report.method == "full"
    assert report.reason is not None
    assert "definition" in report.reason


def test_a_query_that_reads_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    sql = "SELECT k, at < current_timestamp() AS past FROM t"
    view = case.warehouse.view("v", sql)
    view.refresh()
    case["t"].change(insert=rows(4))
    report = view.refresh()
    assert report.method == "full"
    assert "clock" in str(report.reason)
    same_rows(view.read(), case.truth(sql))


def test_nothing_new_runs_nothing(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    view = case.warehouse.view("v", "SELECT s, count(*) AS c FROM t GROUP BY s")
    view.refresh()
    before = view._result.version
    assert view.refresh().method == "unchanged"
    assert view._result.version == before


def test_the_report_tells_rows_and_methods(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": T})
    changed(case)
    view = case.warehouse.view(
        "v", "SELECT * FROM (SELECT s, count(*) AS c FROM t WHERE k > 1 GROUP BY s) ORDER BY s LIMIT 1 OFFSET 1"
    )
    view.refresh()
    case["t"].change(insert=rows(5, 1), delete=rows(2))
    report = view.refresh()
    assert report.rows_in == {"t": 3}
    (limit,) = report.recomputed
    assert limit.operator == "Limit"
    assert "LIMIT" in str(limit.reason)
    (kept,) = [o for o in report.operators if o.operator == "Filter"]
    assert (kept.method, kept.rows_in, kept.rows_out) == ("linear", 3, 2)
    assert "recomputed: a LIMIT" in str(report)


def test_folders_with_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    """Spaces, brackets and braces are part of a path, not a pattern."""
    case = Maintained(spark, tmp_path / "a b [c] {d,e} * ü", {"t": T})
    view = case.warehouse.view("v", "SELECT s, count(*) AS n FROM t GROUP BY s")
    for new in (rows(1, 2), rows(3)):
        case["t"].change(insert=new)
        case.check(view, "SELECT s, count(*) AS n FROM t GROUP BY s")


def test_first_rows_below_a_correlated_subquery(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself drops the order here and gives any three rows; the view has the first three."""
    case = Maintained(spark, tmp_path, {"l": pa.schema([("x", pa.int32()), ("s", pa.string())])})
    case["l"].change(insert=[(x, "ab"[x % 2]) for x in range(10)])
    sql = """
        SELECT x, (SELECT max(x) FROM l WHERE q.s <> 'a') AS m FROM (SELECT x, s FROM l ORDER BY x DESC LIMIT 3) AS q
    """
    view = case.warehouse.view("v", sql)
    view.refresh()
    assert sorted(map(tuple, view.read().collect())) == [(7, 9), (8, None), (9, 9)]
    case["l"].change(delete=[(9, "b")], insert=[(11, "a")])
    view.refresh()
    assert sorted(map(tuple, view.read().collect()), key=str) == [(11, None), (7, 11), (8, None)]
    assert sorted(map(tuple, view.recompute().collect()), key=str) == [(11, None), (7, 11), (8, None)]
