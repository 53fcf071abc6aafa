"""Computing from scratch: only for a reason, which is told with a code, and never under INCREMENTAL STRICT."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from fault.scene import SQL, Scene
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr


def _state_file(view: hr.View) -> None:
    next(iter(view._states.values())).table.paths()[0].unlink()


def _state_folder(view: hr.View) -> None:
    shutil.rmtree(next(iter(view._states.values())).table.path)


def _result_file(view: hr.View) -> None:
    view._result.paths()[0].unlink()


def _foreign_delete(view: hr.View) -> None:
    DeltaTable(str(view._result.path)).delete("customer = 'a'")


HARM: dict[str, tuple[str, Callable[[hr.View], None]]] = {
    "a state's file is gone": ("STATE_LOST", _state_file),
    "a state is gone": ("STATE_LOST", _state_folder),
    "a file of the result is gone": ("RESULT_LOST", _result_file),
    "somebody deletes from the view's table": ("RESULT_CHANGED", _foreign_delete),
}


@pytest.mark.parametrize("what", HARM)
def test_what_is_lost_is_built_again_and_told(spark: SparkSession, tmp_path: Path, what: str) -> None:
    code, harm = HARM[what]
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    harm(view)
    scene.churn()
    strict = view.warehouse.view("v", SQL, refresh_policy="INCREMENTAL STRICT")
    with pytest.raises(hr.StateError) as caught:
        strict.refresh()
    assert caught.value.code == "WOULD_RECOMPUTE"
    report = view.refresh()
    assert (report.method, report.code) == ("full", code)
    scene.judge(view)
    scene.churn()
    assert view.refresh().method == "incremental"
    scene.judge(view)
    told = {(r["method"], r["code"]) for r in view.history().collect()}
    assert told >= {("initial", "FIRST_RUN"), ("failed", None), ("full", code), ("incremental", None)}


def test_a_setting_that_changes_the_meaning(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    scene.spark = session
    scene.view().refresh()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    scene.churn()
    report = scene.view().refresh()
    assert (report.method, report.code) == ("full", "SETTINGS_CHANGED")
    assert "timeZone" in str(report.reason)
    session.conf.set("spark.sql.shuffle.partitions", "3")
    scene.churn()
    assert scene.view().refresh().method == "incremental"


def test_another_definition(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    scene.view().refresh()
    scene.churn()
    other = "SELECT id, upper(customer) AS who, cast(amount AS string) AS amount FROM orders"
    view = scene.view().warehouse.view("v", other)
    assert "orders" in view.read().columns  # until it is refreshed, the table is what it was
    report = view.refresh()
    assert (report.method, report.code) == ("full", "DEFINITION_CHANGED")
    same_rows(view.read(), scene.truth(other))
    assert not list((view._folder / "states").glob("*")), "states of the old definition are gone"


def test_states_that_two_definitions_share_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    first = "SELECT customer, sum(amount) AS amount FROM orders GROUP BY customer"
    view = scene.view().warehouse.view("v", first)
    view.refresh()
    (state,) = view._states.values()
    before = state.table.paths()
    for wish in ("upper(customer) AS who, sum(amount) * 2 AS twice", "sum(amount) AS amount, customer"):
        scene.churn()
        other = f"SELECT {wish} FROM orders GROUP BY customer"
        view = view.warehouse.view("v", other)
        report = view.refresh()
        assert (report.method, report.code) == ("full", "DEFINITION_CHANGED")
        same_rows(view.read(), scene.truth(other))
        (state,) = view._states.values()
        assert set(before) <= set(state.table.paths()), "the base of the state is still the one of the first run"
    scene.churn()
    assert view.refresh().method == "incremental"
    same_rows(view.read(), scene.truth(other))


def test_a_source_of_another_kind(spark: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT k, count(*) AS n FROM t GROUP BY k"
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    warehouse.source("t", hr.Rows("k int", [(1,), (1,)]))
    warehouse.view("v", sql).refresh()
    DeltaTable.create(str(tmp_path / "t"), pa.schema([("k", pa.int32())]))
    write_deltalake(str(tmp_path / "t"), pa.table({"k": pa.array([7], pa.int32())}), mode="append")
    other = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    other.source("t", hr.DeltaTable(tmp_path / "t"))
    view = other.view("v", sql)
    report = view.refresh()
    assert (report.method, report.code) == ("full", "SOURCE_CHANGED")
    assert [tuple(r) for r in view.read().collect()] == [(7, 1)]


def test_the_history_tells_every_run(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    reports = [view.refresh()]
    for _ in range(2):
        scene.churn()
        reports.append(view.refresh())
    bad = scene["orders"].folder / "bad.parquet"
    bad.write_text("no")
    with pytest.raises(hr.SourceError):
        view.refresh()
    runs = sorted((r.asDict() for r in view.history().collect()), key=lambda r: r["started"])
    assert [r["method"] for r in runs] == ["initial", "incremental", "incremental", "failed"]
    assert [r["run"] for r in runs] == [1, 2, 3, 4]
    assert "FILE_CORRUPT" in runs[3]["error"]
    for told, report in zip(runs, reports, strict=False):
        assert told["rows_in"] == report.rows_in
        assert (told["since"], told["until"]) == (report.since, report.until)
        assert told["rows_out"] == report.rows_out
        assert set(told["states"]) == set(view._states)
        assert told["bytes_read"] > 0
        assert told["bytes_written"] > 0
        assert abs(told["seconds"] - report.seconds) < 1e-6
        assert told["steps"].keys() >= {"publish"}
    assert runs[1]["estimated"] is None
    assert runs[2]["estimated"] == pytest.approx(runs[1]["seconds"])
    assert runs[2]["since"] == runs[1]["until"]


def test_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view().warehouse.view("v", SQL, refresh_policy="INCREMENTAL STRICT")
    assert view.refresh().code == "FIRST_RUN"
    assert view.refresh(full=True).code == "REQUESTED"
    scene.judge(view)


@pytest.mark.parametrize("policy", ["INCREMENTAL", "INCREMENTAL STRICT"])
def test_a_view_that_never_is_incremental(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    warehouse = Scene(spark, tmp_path).view().warehouse
    limited = "SELECT * FROM orders ORDER BY amount LIMIT 3 OFFSET 1"
    with pytest.raises(hr.QueryError) as caught:
        warehouse.view("top", limited, refresh_policy=policy)
    assert caught.value.code == "NEVER_INCREMENTAL"
    assert "LIMIT" in str(caught.value)
    warehouse.view("top", limited).refresh()
    grouped = "SELECT customer, sum(amount) AS s FROM orders GROUP BY customer ORDER BY s LIMIT 3"
    warehouse.view("top_customers", grouped, refresh_policy=policy).refresh()


def test_files_of_a_folder_that_are_known_in_another_order(spark: SparkSession, tmp_path: Path) -> None:
    """The notes of a source were lost, and a file came that sorts before those that were read."""
    folder = tmp_path / "t"
    folder.mkdir()

    def put(name: str, value: int) -> None:
        pq.write_table(pa.table({"x": [value]}), folder / f"{name}.parquet")

    def opened() -> hr.View:
        warehouse = hr.Warehouse(tmp_path / "w", spark=spark)
        warehouse.source("t", hr.Folder(folder))
        return warehouse.view("v", "SELECT sum(x) AS x FROM t")

    put("b", 1)
    put("c", 2)
    opened().refresh()
    (tmp_path / "w" / "sources" / "t.json").unlink()
    view = opened()
    assert view.refresh().method == "unchanged"  # the same order is found again
    put("a", 4)
    (tmp_path / "w" / "sources" / "t.json").unlink()
    view = opened()
    report = view.refresh()
    assert (report.method, report.code) == ("full", "HISTORY_CUT")
    assert view.read().collect()[0]["x"] == 7
