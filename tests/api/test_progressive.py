"""A view with a timeline: early runs work ahead, and the result is right whenever one is due."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import same_rows

import headrace as hr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMMARY = """
    SELECT category, sum(if(cost IS NULL, price, -cost)) AS gross, count(*) AS n, avg(price * 0.1D) AS mean
    FROM sales LEFT JOIN returns ON sales.o_id = returns.r_id GROUP BY category
"""


class Shop:
    """Sales and returns that come in files."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.sold = 0
        for name in ("sales", "returns"):
            (folder / name).mkdir()
        self.sell(40, range(0, 10))
        self.spark = spark

    def warehouse(self) -> hr.Warehouse:
        warehouse = hr.Warehouse(self.folder / "warehouse", spark=self.spark)
        for name in ("sales", "returns"):
            warehouse.source(name, hr.Folder(self.folder / name))
        return warehouse

    def view(self, weights: tuple[float, ...] = (0.02, 0.02, 1), **more: Any) -> hr.View:
        timeline = hr.runs(["14:00", "19:00", "24:00"], weights=weights, **more)
        return self.warehouse().view("summary", SUMMARY, timeline=timeline)

    def sell(self, many: int, returned: range) -> None:
        ids = range(self.sold, self.sold + many)
        sales = {"o_id": list(ids), "category": [f"c{i % 3}" for i in ids], "price": [i * 7 % 100 for i in ids]}
        back = {"r_id": list(returned), "cost": [i % 5 for i in returned]}
        pq.write_table(pa.table(sales), self.folder / "sales" / f"{self.sold:06}.parquet")
        pq.write_table(pa.table(back), self.folder / "returns" / f"{self.sold:06}.parquet")
        self.sold += many


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(tmp_path, spark)


def test_early_runs_deliver_nothing_and_the_last_all(shop: Shop) -> None:
    view = shop.view()
    first = view.advance()
    assert first.method == "initial"
    assert first.published == "nothing changed"
    with pytest.raises(hr.StateError, match="NOT_REFRESHED"):
        view.read()
    shop.sell(10, range(10, 20))
    again = shop.view()  # another process goes on where this one was
    assert again.advance().run == 2
    assert again._states, "a run that delivers nothing leaves its states"
    shop.sell(10, range(20, 30))
    last = again.advance()
    assert last.method == "incremental"
    same_rows(again.read(), again.recompute())
    assert again.check().agrees
    assert not list((again._folder / "states").glob("*")), "nothing is kept after the last run"


def test_a_run_that_costs_much_waits_for_the_next(shop: Shop) -> None:
    view = shop.view(weights=(0.02, 9, 1))
    for number in range(1, 4):  # the first time nobody knows how little comes later
        view.advance()
        shop.sell(2, range(10 * number, 10 * number + 1))
    shop.sell(500, range(50, 90))
    assert view.advance().method == "full"
    reached, states = view._result.last_run()["positions"], dict(view._states)
    assert states
    shop.sell(3, range(90, 91))
    assert "run 19:00: does nothing, its data is left to the next" in view.explain()
    report = view.advance()
    assert (report.method, report.run, report.steps) == ("waiting", 5, {})
    assert view._result.last_run()["positions"] == reached
    assert view._states.keys() == states.keys()
    shop.sell(4, range(91, 92))
    again = shop.view(weights=(0.02, 9, 1))  # another process knows that it waited
    last = again.advance()
    assert (last.method, last.rows_in) == ("incremental", {"sales": 7, "returns": 2})
    same_rows(again.read(), again.recompute())
    found = again._result.last_run()["timeline"]["found"]
    assert [run["sales"][0] for run in found] == [546, 3, 4]


def test_the_timeline_begins_again(shop: Shop) -> None:
    view = shop.view(deliver="every")
    for returned in range(0, 50, 10):
        report = view.refresh()
        same_rows(view.read(), view.recompute())
        shop.sell(5, range(100 + returned, 100 + returned + 5))
    assert report.run == 5
    assert view.history().where("code = 'TIMELINE_BEGINS'").count() == 1


def test_explain_shows_runs_and_what_each_method_would_cost(shop: Shop) -> None:
    view = shop.view()
    data = view.explain_data()
    assert [r["run"] for r in data["timeline"]] == ["14:00", "19:00", "24:00"]
    assert [r["delivers"] for r in data["timeline"]] == [False, False, True]
    assert data["total"] <= min(data["methods"].values())
    assert "run 24:00: delivers the result" in view.explain()


def test_a_state_that_is_lost_is_computed_again(shop: Shop) -> None:
    view = shop.view(weights=(0.02, 1, 1))
    assert view.advance().states
    for file in (view._folder / "states").rglob("*.parquet"):
        file.unlink()
    shop.sell(10, range(10, 20))
    report = view.advance()
    assert report.code == "STATE_LOST"
    view.advance()
    same_rows(view.read(), view.recompute())


def test_advance_needs_a_timeline(shop: Shop) -> None:
    view = shop.warehouse().view("plain", SUMMARY)
    with pytest.raises(hr.ConfigError, match="TIMELINE"):
        view.advance()


def test_runs_over_more_rows_than_a_driver_works_through(shop: Shop) -> None:
    """Then costs are told in seconds, by what is known of tables."""
    shop.sell(160_000, range(10, 5_000))
    view = shop.view()
    view.advance()
    shop.sell(40, range(5_000, 5_010))
    view.advance()
    view.advance()
    same_rows(view.read(), view.recompute())
