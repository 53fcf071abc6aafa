"""How a view stands: fresh or late, what waits for it, what it takes, what went wrong last."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fault.scene import Scene
from pyspark.sql import SparkSession

import headrace as hr


def test_a_view_through_its_life(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    new = view.status()
    assert (new.last, new.fresh, new.lag, new.rows) == (None, False, None, 0)
    assert new.waiting == view.waiting()
    assert new.waiting["orders"] == len(scene["orders"].rows)

    began = time.time()
    report = view.refresh()
    fresh = view.status()
    assert fresh.fresh
    assert fresh.lag == 0
    assert fresh.waiting == {"orders": 0, "refunds": 0}
    assert fresh.last is not None
    assert (fresh.last.number, fresh.last.method, fresh.last.code) == (1, "initial", "FIRST_RUN")
    assert began <= fresh.last.started <= time.time()
    assert fresh.rows == view.read().count()
    assert fresh.states == report.states
    assert fresh.state_bytes > 0

    scene["orders"].change(insert=[(900, "a", 1), (901, "b", 2)])
    late = view.status()
    assert not late.fresh
    assert late.waiting == {"orders": 2, "refunds": 0}
    assert late.lag is not None
    assert late.lag > 0


def test_a_failure_is_told_until_a_run_is_good_again(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    bad = scene["orders"].folder / "bad.parquet"
    bad.write_text("not a Parquet file")
    status = view.status()
    assert not status.fresh
    assert "bad.parquet" in status.problems["orders"]
    assert "orders" not in status.waiting
    assert status.failure is None
    with pytest.raises(hr.SourceError):
        view.refresh()
    failed = view.status().failure
    assert failed is not None
    assert "bad.parquet" in failed.error
    bad.unlink()
    scene.churn()
    view.refresh()
    assert view.status().failure is None


def test_a_view_above_one_that_is_late_is_late(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    warehouse = scene.view().warehouse
    top = warehouse.view("upper", "SELECT customer FROM v")
    warehouse.view("top", "SELECT count(*) AS n FROM upper")
    status = warehouse.status()
    assert list(status) == ["v", "upper", "top"]
    assert "no result" in status["upper"].problems["v"]
    warehouse.refresh()
    assert all(s.fresh for s in warehouse.status().values())
    scene["orders"].change(insert=[(900, "z", 1)])
    status = warehouse.status()
    assert [s.behind for s in status.values()] == [(), ("v",), ("upper", "v")]
    assert not any(s.fresh for s in status.values())
    assert top.status().behind == ("v",)
    with pytest.raises(hr.ConfigError) as unknown:
        warehouse.status(only=["nothing"])
    assert unknown.value.code == "VIEW_UNKNOWN"


def test_what_arrived_tells_what_to_expect(spark: SparkSession, tmp_path: Path) -> None:
    """Every run counts what it found in each source, one that found nothing too; the first load did not arrive."""
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    assert view.status().expected == {}
    assert view.predict()["orders"].moves == 0.5, "nothing is known yet"
    scene["orders"].change(insert=[(900, "a", 1), (901, "b", 2), (902, "b", 2), (903, "b", 2)])
    view.refresh()
    assert view.refresh().method == "unchanged"
    scene["orders"].change(insert=[(904, "a", 1)], delete=[(900, "a", 1)])
    view.refresh()
    orders, refunds = (scene.view().predict()[name] for name in ("orders", "refunds"))
    assert orders.inserted.sample == (0, 1, 4)
    assert orders.deleted.sample == (0, 0, 1)
    assert refunds.inserted.sample == (0, 0, 0)
    assert refunds.moves < 0.5 < orders.moves
    assert view.status().expected == {"orders": 2, "refunds": 0}
    view.refresh(full=True)
    assert view.predict()["orders"] == orders, "computing anew is no arrival"
    scene["orders"].change(insert=[(905, "a", 1)])
    view.refresh(full=True)
    assert view.predict()["orders"].inserted.sample == (0, 1, 1, 4)
