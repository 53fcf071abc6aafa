"""kill -9 at random moments: the next process finds a whole view and goes on."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ahead import Ahead, chosen
from pyspark.sql import SparkSession

from .process import Child
from .scene import Scene

KILLS = 200 if os.environ.get("HEADRACE_LONG") == "1" else 20
ROUND = 10


@pytest.fixture(scope="module")
def rounds(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ahead[int]]:
    """Most of a round is the start of a process, so two go side by side."""
    folder = tmp_path_factory.mktemp(
        "rounds"
    )  # here: two threads that first ask pytest for a folder empty each other's

    def run(number: int) -> None:
        _round(spark, folder / f"{number}", number)

    running = Ahead([item.callspec.params["number"] for item in chosen(request, "rounds")], run)
    yield running
    running.stop()


@pytest.mark.parametrize("number", range(KILLS // ROUND))
def test_killed_at_any_moment(rounds: Ahead[int], number: int) -> None:
    rounds.take(number)


def _round(spark: SparkSession, folder: Path, number: int) -> None:
    draw = random.Random(number)
    scene = Scene(spark, folder, number, above=True)
    view = scene.view()
    view.refresh()
    child = Child(spark, folder)
    try:
        scene.churn()
        started = time.monotonic()
        child.refresh()
        assert child.says() == "incremental"
        usual = time.monotonic() - started
        for _ in range(ROUND):
            scene.churn()
            child.refresh()
            time.sleep(draw.uniform(0, usual))
            child.kill()
            child = Child(spark, folder)
            if draw.random() < 0.5:
                scene.churn()
            view = scene.view()
            view.refresh()
            scene.judge(view)
        assert len(view.history().collect()) >= ROUND + 2
    finally:
        child.kill()  # one that is left open is an error of the next test that collects garbage
