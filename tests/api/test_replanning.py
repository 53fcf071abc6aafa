"""What a view keeps follows the changes that it usually finds: by cost, and with the right rows whatever that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import same_rows

import headrace as hr
from headrace.api import replanning
from headrace.cost.correction import Correction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
    SELECT c, sum(total) AS total, count(*) AS n
    FROM (SELECT k, sum(v) AS total FROM facts GROUP BY k) f JOIN dims ON f.k = dims.k GROUP BY c"""


class Lake:
    """Facts with new keys, and some dimensions."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark, self.turn = folder, spark, 0
        self.add(160_000)
        (folder / "dims").mkdir()
        pq.write_table(pa.table({"k": np.arange(500), "c": np.arange(500) % 40}), folder / "dims" / "1.parquet")
        self.view = self.opened()
        self.view.refresh()

    def opened(self, goal: str = "least_latency") -> hr.View:
        warehouse = hr.Warehouse(self.folder / "warehouse", self.spark)
        warehouse.source("facts", hr.Folder(self.folder / "facts"))
        warehouse.source("dims", hr.Folder(self.folder / "dims"))
        return warehouse.view("sums", SQL, goal=goal)

    def add(self, facts: int) -> None:
        self.turn += 1
        keys = np.random.default_rng(self.turn).permutation(1_000_000)[:facts]
        (self.folder / "facts").mkdir(exist_ok=True)
        pq.write_table(pa.table({"k": keys, "v": keys % 7}), self.folder / "facts" / f"{self.turn}.parquet")

    def refreshed(self, facts: int) -> hr.RefreshReport:
        self.add(facts)
        report = self.view.refresh()
        same_rows(self.view.read(), self.view.recompute())
        return report


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Prices alone decide, or the load of the machine would."""
    monkeypatch.setattr(Correction, "expected", lambda _, __, priced: priced)
    return Lake(tmp_path, spark)


def test_what_never_pays_is_not_kept_and_comes_back_when_it_does(lake: Lake) -> None:
    preferred = set(lake.view._states)
    assert preferred
    for facts in (250_000, 350_000, 450_000):
        lake.refreshed(facts)
        assert set(lake.view._states) == preferred, "a change that came once or twice proves nothing"
    report = lake.refreshed(550_000)
    assert (report.method, report.code) == ("full", "CHEAPER")
    assert not lake.view._states
    assert not list((lake.folder / "warehouse" / "views" / "sums" / "states").glob("*"))

    lake.view = lake.opened()  # another process knows what was decided
    assert not lake.view._states
    reports = [lake.refreshed(1_000) for _ in range(5)]
    assert [r.code for r in reports].count("REPLANNED") == 1
    assert lake.view._states
    assert reports[-1].method == "incremental"
    assert lake.refreshed(1_000).method == "incremental"


def test_changes_that_differ_change_nothing(lake: Lake) -> None:
    preferred = set(lake.view._states)
    for facts in (150_000, 10, 200_000, 10):
        lake.refreshed(facts)
        assert set(lake.view._states) == preferred


def test_a_policy_that_wants_changes_worked_in_keeps_what_that_needs(lake: Lake) -> None:
    lake.view = lake.view.warehouse.view("sums", SQL, refresh_policy="INCREMENTAL")
    for _ in range(4):
        assert lake.refreshed(100_000).method == "incremental"
    assert lake.view._planner.states_are_preferred


def test_another_goal_begins_with_what_it_wants(lake: Lake) -> None:
    preferred = set(lake.view._states)
    lake.view = lake.opened("least_cost")
    lake.refreshed(1_000)
    lake.view = lake.opened()
    assert set(lake.view._states) == preferred
    lake.refreshed(1_000)
    assert set(lake.view._states) == preferred


def test_plans_are_made_again_only_for_other_sizes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in another process either."""
    made: list[int] = []
    better = replanning._better
    monkeypatch.setattr(replanning, "_better", lambda *given: made.append(1) or better(*given))
    for turn in range(7):
        lake.refreshed(1_000)
        if turn == 4:
            lake.view = lake.opened()
    assert len(made) == 1
    for _ in range(3):
        lake.refreshed(100)
    assert len(made) == 1, "what is new is alike only for two runs"
    lake.refreshed(100)
    assert len(made) == 2
