"""A process that ends at any point of a run loses nothing and counts nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import faults
from headrace.cost.folding import Folding

from .scene import Scene


@pytest.fixture(autouse=True)
def _folds_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every refresh folds its states, so that it comes by all points."""
    monkeypatch.setattr(Folding, "due", lambda *_: True)


@pytest.fixture(scope="module")
def living(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """One view that lives through all the crashes."""
    scene = Scene(spark, tmp_path_factory.mktemp("living"), above=True)
    scene.view().refresh()
    return scene


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_crash_in_an_incremental_run(living: Scene, point: str) -> None:
    view = living.view()
    runs = len(view.history().collect())
    living.churn()
    with faults.armed(point), pytest.raises(faults.Crash):
        view.refresh()
    view = living.view()
    committed = faults.POINTS.index(point) >= faults.POINTS.index("after result committed")
    assert view.refresh().method == ("unchanged" if committed else "incremental")
    living.churn()
    assert view.refresh().method == "incremental"
    living.judge(view)
    assert sorted(r["run"] for r in view.history().collect()) == list(range(1, runs + 3))


FIRST = ("before state committed", "after state committed", "after result committed")


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(p, marks=() if p in FIRST else pytest.mark.long)
        for p in faults.POINTS
        if "compacted" not in p and "changes" not in p  # there is nothing to fold or to change yet
    ],
)
def test_a_crash_in_the_first_run(spark: SparkSession, tmp_path: Path, point: str) -> None:
    scene = Scene(spark, tmp_path, above=True)
    with faults.armed(point), pytest.raises(faults.Crash):
        scene.view().refresh()
    view = scene.view()
    scene.churn()
    view.refresh()
    scene.judge(view)


def test_every_point_is_on_the_way(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: set[str] = set()
    monkeypatch.setattr(faults, "reached", passed.add)
    scene = Scene(spark, tmp_path, above=True)
    view = scene.view()
    view.refresh()
    scene.churn()
    view.refresh()
    assert passed == set(faults.POINTS)
