"""Dropping a view, and removing what no view needs."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest
from fault.scene import Scene
from pyspark.sql import SparkSession

import headrace as hr
from headrace import faults
from headrace.runtime.lease import lease


def test_a_dropped_view_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    warehouse = scene.view().warehouse
    upper = warehouse.view("upper", "SELECT customer FROM v")
    warehouse.refresh()
    with pytest.raises(hr.ConfigError) as used:
        warehouse.views["v"].drop()
    assert used.value.code == "VIEW_IN_USE"
    with lease(upper._folder / "lease", "the test", 0), pytest.raises(hr.StateError) as busy:
        upper.drop(wait=0.1)
    assert busy.value.code == "BUSY"
    assert upper.drop() > 0
    assert warehouse.drop("v") > 0
    assert list((warehouse.path / "views").iterdir()) == []
    assert warehouse.views == {}
    with pytest.raises(hr.ConfigError) as unknown:
        warehouse.drop("v")
    assert unknown.value.code == "VIEW_UNKNOWN"
    view = scene.view()
    assert view.refresh().code == "FIRST_RUN"
    scene.judge(view)


def test_a_lease_on_a_folder_that_was_dropped_is_taken_anew(tmp_path: Path) -> None:
    """Who waited for the lease of a view that was dropped must not work beside one who came later."""
    path = tmp_path / "v" / "lease"
    holds, enough = Event(), Event()

    def wait_for_it() -> None:
        with lease(path, "the second", 60):
            holds.set()
            enough.wait(60)

    second = Thread(target=wait_for_it)
    with lease(path, "the first", 0):
        second.start()
        assert not holds.wait(0.2)
        path.parent.rename(tmp_path / "gone")
    assert holds.wait(60)
    with pytest.raises(hr.StateError) as busy, lease(path, "the third", 0):
        pass
    assert busy.value.code == "BUSY"
    enough.set()
    second.join()


def test_vacuum_removes_what_crashed_runs_left(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    assert view.warehouse.vacuum().bytes == 0
    scene.churn()
    with faults.armed("after result written"), pytest.raises(faults.Crash):
        view.refresh()
    left = view._result.leftovers(view.warehouse.retain)
    assert left
    freed = scene.view().warehouse.vacuum()
    assert freed.freed["v"] == freed.bytes > 0
    assert not any(path.exists() for path in left)
    view = scene.view()
    assert view.refresh().method == "incremental"  # the states, ahead after the crash, were left as they were
    scene.judge(view)


def test_what_is_not_defined_any_more_is_told_first(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    scene.view().warehouse.view("old", "SELECT id FROM orders").refresh()
    warehouse = scene.view().warehouse
    warehouse.views["v"].refresh()
    told = warehouse.vacuum()
    assert set(told.forgotten) == {"old"}
    assert told.forgotten["old"] > 0
    assert told.bytes == 0
    done = warehouse.vacuum(forgotten=True)
    assert done.bytes == told.forgotten["old"]
    assert [f.name for f in (warehouse.path / "views").iterdir()] == ["v"]
    assert warehouse.vacuum(forgotten=True).forgotten == {}


def test_half_a_drop_is_finished(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = Scene(spark, tmp_path).view().warehouse
    half = warehouse.path / "views" / ".dropped-0123456789ab"
    half.mkdir(parents=True)
    (half / "part").write_text("12345")
    assert warehouse.vacuum().bytes == 5
    assert not half.exists()
