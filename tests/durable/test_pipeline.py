"""Views over views: each is its batch answer, what did not change is not touched, a failure stays where it is."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Thread

import pytest
from fault.scene import TABLES, Scene
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime.progress import RunDone, StepBegan, StepDone

VIEWS = {
    "per_customer": "SELECT customer, count(*) AS n, sum(amount) AS amount FROM orders GROUP BY customer",
    "costs": "SELECT customer, sum(cost) AS cost FROM orders JOIN refunds USING (id) GROUP BY customer",
    "summary": """
        SELECT customer, n, amount, coalesce(cost, 0) AS cost FROM per_customer LEFT JOIN costs USING (customer)
    """,
}


class Pipeline(Scene):
    def open(self) -> hr.Warehouse:
        warehouse = hr.Warehouse(self.folder / "warehouse", spark=self.spark)
        for name in TABLES:
            warehouse.source(name, hr.Folder(self.tables[name].folder, changes=True))
        for name, sql in VIEWS.items():
            warehouse.view(name, sql)
        return warehouse

    def agrees(self, warehouse: hr.Warehouse, *names: str) -> None:
        for name in names or VIEWS:
            parts = ", ".join(f"{n} AS ({sql})" for n, sql in VIEWS.items())
            same_rows(warehouse.views[name].read(), self.truth(f"WITH {parts} SELECT * FROM {name}"))


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path) -> Pipeline:
    return Pipeline(spark, tmp_path)


def test_each_is_its_batch_answer(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    first = warehouse.refresh()
    assert {r.method for r in first.refreshed.values()} == {"initial"}
    pipeline.agrees(warehouse)
    for _ in range(3):
        pipeline.churn()
        report = warehouse.refresh()
        assert report.refreshed["summary"].method == "incremental"
        pipeline.agrees(warehouse)
    pipeline.churn()
    again = pipeline.open()
    again.refresh()
    pipeline.agrees(again)


def test_those_that_do_not_read_each_other_go_side_by_side(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    meeting, began = Barrier(2, timeout=60), list[str]()

    def meet(event: object) -> None:
        if isinstance(event, StepDone) and event.view != "summary" and event.view not in began:
            began.append(event.view)
            met.append(Thread(target=meeting.wait))
            met[-1].start()  # each waits for the other, and who tells must not wait
        if isinstance(event, RunDone):
            done.append(event.view)

    met, done = list[Thread](), list[str]()
    report = warehouse.refresh(progress=meet)
    for thread in met:
        thread.join()
    assert len(met) == 2
    assert not meeting.broken
    assert done[-1] == "summary"
    assert list(report.refreshed)[-1] == "summary"
    pipeline.agrees(warehouse)


def test_interrupted_in_the_middle(pipeline: Pipeline) -> None:
    """Ctrl-C ends the wave at once, and the runs beside it at their next step; what follows goes on from there."""
    for parallel in (1, 2):
        pipeline.churn()
        warehouse = pipeline.open()

        def interrupt(event: object) -> None:
            if isinstance(event, StepBegan):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            warehouse.refresh(progress=interrupt, parallel=parallel)
        warehouse.refresh(parallel=parallel)
        pipeline.agrees(warehouse)


def test_only_what_changed_is_touched(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    warehouse.refresh()
    assert {r.method for r in warehouse.refresh().refreshed.values()} == {"unchanged"}
    pipeline["refunds"].change(insert=[(0, 5)])
    report = warehouse.refresh()
    assert {n: r.method for n, r in report.refreshed.items()} == {
        "per_customer": "unchanged",
        "costs": "incremental",
        "summary": "incremental",
    }
    pipeline.agrees(warehouse)


def test_views_above_read_just_what_changed(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    warehouse.refresh()
    customer = pipeline["orders"].rows[0][1]
    assert len({r[1] for r in pipeline["orders"].rows}) > 1
    pipeline["orders"].change(insert=[(1000, customer, 7)])
    report = warehouse.refresh()
    assert report.refreshed["summary"].rows_in == {"per_customer": 2, "costs": 0}
    pipeline.agrees(warehouse)
    # Rows that come and go again leave the result as it is, and there is nothing to do above it.
    pipeline["orders"].change(insert=[(1001, customer, 0)])
    pipeline["orders"].change(delete=[(1001, customer, 0)])
    report = warehouse.refresh()
    assert report.refreshed["summary"].rows_in == {"per_customer": 0, "costs": 0}
    pipeline.agrees(warehouse)


def test_a_feed_by_files_alone_is_right_too(pipeline: Pipeline) -> None:
    """A view that nobody read when it was refreshed names no changes."""
    warehouse = pipeline.open()
    warehouse.refresh()
    above = warehouse.views.pop("summary")
    for _ in range(2):
        pipeline.churn()
        warehouse.refresh()
    warehouse.views["summary"] = above
    pipeline.churn()
    report = warehouse.refresh()
    assert report.refreshed["summary"].method == "incremental"
    assert report.refreshed["summary"].rows_in["per_customer"] > 2
    pipeline.agrees(warehouse)


def test_a_failure_in_the_middle(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    warehouse.refresh()
    before = sorted(warehouse.views["summary"].read().collect())
    pipeline.churn()
    bad = pipeline["refunds"].folder / "bad.parquet"
    bad.write_text("not a Parquet file")
    with pytest.raises(hr.PipelineError) as caught:
        warehouse.refresh()
    report = caught.value.report
    assert set(report.refreshed) == {"per_customer"}
    assert report.failed["costs"].code == "FILE_CORRUPT"  # type: ignore[attr-defined]
    assert report.skipped == {"summary": "costs"}
    pipeline.agrees(warehouse, "per_customer")
    assert sorted(warehouse.views["summary"].read().collect()) == before
    bad.unlink()
    assert warehouse.refresh().refreshed["summary"].method == "incremental"
    pipeline.agrees(warehouse)


def test_a_view_far_behind_is_computed_anew(pipeline: Pipeline) -> None:
    warehouse = hr.Warehouse(pipeline.folder / "warehouse", spark=pipeline.spark, retain=2)
    warehouse.source("orders", hr.Folder(pipeline["orders"].folder, changes=True))
    lower = warehouse.view("per_customer", VIEWS["per_customer"])
    upper = warehouse.view("large", "SELECT customer FROM per_customer WHERE amount > 10")
    warehouse.refresh()
    for _ in range(4):
        pipeline.churn()
        lower.refresh()
    report = upper.refresh()
    assert (report.method, report.code) == ("full", "HISTORY_CUT")
    same_rows(upper.read(), lower.read().where("amount > 10").select("customer"))


def test_what_cannot_be_a_pipeline(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    with pytest.raises(hr.StateError) as early:
        warehouse.views["summary"].refresh()
    assert early.value.code == "NOT_REFRESHED"
    with pytest.raises(hr.QueryError) as cycle:
        warehouse.view("costs", "SELECT customer, cost FROM summary")
    assert cycle.value.code == "CYCLE"
    for wrong in ("orders", "Orders"):
        with pytest.raises(hr.ConfigError) as taken:
            warehouse.view(wrong, VIEWS["costs"])
        assert taken.value.code == "NAME_TAKEN"
    with pytest.raises(hr.QueryError) as itself:
        warehouse.view("new", "SELECT * FROM new")
    assert itself.value.code == "NOT_RESOLVED"


def test_a_data_frame_over_a_view(pipeline: Pipeline) -> None:
    warehouse = pipeline.open()
    frame = warehouse.table("per_customer").where("n > 1").select("customer")
    view = warehouse.view("busy", frame)
    warehouse.refresh()
    same_rows(view.read(), warehouse.views["per_customer"].read().where("n > 1").select("customer"))
