"""kill -9 at random moments: the next process finds a whole view and goes on."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .process import Child
from .scene import Scene

KILLS = 200 if os.environ.get("HEADRACE_LONG") == "1" else 20
ROUND = 10


@pytest.mark.parametrize("number", range(KILLS // ROUND))
def test_killed_at_any_moment(spark: SparkSession, tmp_path: Path, number: int) -> None:
    draw = random.Random(number)
    scene = Scene(spark, tmp_path, number, above=True)
    view = scene.view()
    view.refresh()
    child = Child(spark, tmp_path)
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
        child = Child(spark, tmp_path)
        if draw.random() < 0.5:
            scene.churn()
        view = scene.view()
        view.refresh()
        scene.judge(view)
    child.kill()
    assert len(view.history().collect()) >= ROUND + 2
