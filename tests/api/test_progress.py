"""What a refresh tells while it works: every step before and after it, with what earlier runs let expect."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault.scene import Scene
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime.pace import Pace
from headrace.runtime.progress import Event, Looking, RunBegan, RunDone, RunFailed, RunSkipped, StepBegan, StepDone


def test_every_step_is_told_of(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    events: list[Event] = []
    view.refresh(progress=events.append)
    assert [type(e) for e in events[:2]] == [Looking, RunBegan]
    began = events[1]
    assert isinstance(began, RunBegan)
    assert (began.method, began.estimated) == ("initial", None)
    assert began.rows_in["orders"] > 0
    steps = events[2:-1]
    assert [type(e) for e in steps] == [StepBegan, StepDone] * began.steps
    for before, after in zip(steps[::2], steps[1::2], strict=True):
        assert isinstance(before, StepBegan)
        assert isinstance(after, StepDone)
        assert (before.name, before.step, before.of) == (after.name, after.step, after.of)
        assert after.seconds > 0
        assert before.estimated is None
    assert [e.step for e in steps[::2]] == list(range(1, began.steps + 1))  # type: ignore[union-attr]
    assert isinstance(steps[-1], StepDone)
    assert steps[-1].rows == view.read().count()
    done = events[-1]
    assert isinstance(done, RunDone)
    assert done.report.run == 1


def test_earlier_runs_let_expect_how_long_a_step_takes(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    for run in (1, 2):
        scene.churn()
        events: list[Event] = []
        report = view.refresh(progress=events.append)
        assert report.method == "incremental"
        known = [e.estimated is not None for e in events if isinstance(e, RunBegan | StepBegan)]
        assert (not any(known)) if run == 1 else any(known)
    expected = {e.name: e.estimated for e in events if isinstance(e, StepDone)}
    assert expected["publish"] is not None
    assert expected["publish"] > 0


def test_nothing_new_is_told_in_two_events(spark: SparkSession, tmp_path: Path) -> None:
    view = Scene(spark, tmp_path).view()
    view.refresh()
    events: list[Event] = []
    view.refresh(progress=events.append)
    assert [type(e) for e in events] == [Looking, RunDone]


def test_a_failure_and_what_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    warehouse = scene.view().warehouse
    warehouse.view("upper", "SELECT customer FROM v")
    (scene["orders"].folder / "bad.parquet").write_text("not a Parquet file")
    events: list[Event] = []
    with pytest.raises(hr.PipelineError):
        warehouse.refresh(progress=events.append)
    assert [type(e) for e in events] == [Looking, RunFailed, RunSkipped]
    assert isinstance(events[1], RunFailed)
    assert events[1].problem.code == "FILE_CORRUPT"  # type: ignore[attr-defined]


def test_only_what_is_named_is_refreshed(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    warehouse = scene.view().warehouse
    warehouse.view("upper", "SELECT customer, orders FROM v")
    warehouse.view("lone", "SELECT count(*) AS n FROM orders")
    warehouse.refresh()
    scene.churn()
    report = warehouse.refresh(only=["upper", "lone"], full=["lone"])
    assert {n: r.method for n, r in report.refreshed.items()} == {"upper": "unchanged", "lone": "full"}
    assert report.refreshed["lone"].code == "REQUESTED"
    assert warehouse.refresh(only=["v"]).refreshed["v"].method == "incremental"
    for arguments in ({"only": ["nothing"]}, {"full": ["nothing"]}):
        with pytest.raises(hr.ConfigError) as unknown:
            warehouse.refresh(**arguments)  # type: ignore[arg-type]
        assert unknown.value.code == "VIEW_UNKNOWN"


def test_a_pace_follows_the_runs() -> None:
    pace = Pace().after("full", 4.0, {"a": 1.0, "b": 2.0}).after("full", 2.0, {"b": 4.0}).after("initial", 9.0, {})
    assert pace.runs == {"full": 3.0, "initial": 9.0}
    assert pace.steps == {"full": {"b": 3.0}, "initial": {}}
