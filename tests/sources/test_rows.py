"""Rows in memory: every call is a step, deletes are checked, and another process starts anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr

SQL = "SELECT name, count(*) AS c, sum(id) AS s FROM r GROUP BY name"


def truth(spark: SparkSession, rows: list[tuple[int | None, str | None]]) -> object:
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    session.createDataFrame(rows, "id int, name string").createOrReplaceTempView("r")
    return session.sql(SQL)


def test_each_call_is_a_step(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.Rows("id int, name string", [(1, "a"), (2, "a")])
    warehouse = hr.Warehouse(tmp_path, spark=spark)
    warehouse.source("r", rows)
    view = warehouse.view("v", SQL)
    view.refresh()
    same_rows(view.read(), truth(spark, [(1, "a"), (2, "a")]))
    rows.insert((3, "b"), (None, None))
    rows.update((1, "a"), (1, "b"))
    report = view.refresh()
    assert report.method == "incremental"
    assert report.rows_in == {"r": 4}
    same_rows(view.read(), truth(spark, [(2, "a"), (3, "b"), (1, "b"), (None, None)]))
    rows.change(insert=[(9, "c")], delete=[(3, "b"), (None, None)])
    rows.delete((2, "a"))
    view.refresh()
    same_rows(view.read(), truth(spark, [(1, "b"), (9, "c")]))
    same_rows(view.read(), view.recompute())
    assert view.refresh().method == "unchanged"


def test_an_old_position_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.Rows("id int")
    reader = rows.open("r", tmp_path, spark)
    assert reader.discover() == 0
    assert reader.snapshot(0).rows == 0
    rows.insert((1,), (1,))
    first = reader.discover()
    rows.delete((1,))
    second = reader.discover()
    assert second > first > 0
    assert (reader.snapshot(first).rows, reader.snapshot(second).rows) == (2, 1)
    assert (reader.delta(first, second).rows, reader.delta(first, second).leaving) == (1, 1)
    assert reader.delta(second, second).rows == 0
    assert reader.cut(first) is None


def test_a_delete_of_a_row_that_is_not_there_changes_nothing() -> None:
    rows = hr.Rows("id int, tags array<string>", [(1, ["x"])])
    before = rows.position
    with pytest.raises(hr.SourceError) as caught:
        rows.change(insert=[(2, [])], delete=[(1, ["y"])])
    assert caught.value.code == "DELETE_OF_MISSING_ROW"
    assert rows.position == before
    rows.delete((1, ["x"]))
    with pytest.raises(hr.SourceError):
        rows.delete((1, ["x"]))


def test_rows_must_fit_the_schema(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.Rows("id int, name string")
    rows.open("r", tmp_path, spark)
    for bad in [("x", "a"), (1,), (1, "a", 2)]:
        with pytest.raises(hr.SourceError) as caught:
            rows.insert(bad)
        assert caught.value.code == "ROW_TYPE"
    with pytest.raises(hr.ConfigError) as wrong:
        hr.Rows("id wrong type").open("r", tmp_path, spark)
    assert wrong.value.code == "SCHEMA"


def test_what_another_process_read_is_read_anew(spark: SparkSession, tmp_path: Path) -> None:
    for values in ([(1, "a")], [(5, "b"), (6, "b")]):
        warehouse = hr.Warehouse(tmp_path, spark=spark)
        warehouse.source("r", hr.Rows("id int, name string", values))
        view = warehouse.view("v", SQL)
        report = view.refresh()
        same_rows(view.read(), truth(spark, values))
    assert report.method == "full"
    assert "in another process" in str(report.reason)
