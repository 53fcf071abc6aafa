"""Random queries over random data and random cuts: after every refresh a view is what Spark says.

300 cases, or 5,000 with HEADRACE_LONG=1, and a few with rows looked up as executors do or all steps in tasks. Other
cases with HEADRACE_SEED=<number>. A failing case is made small; its message shows the query, the tables batch by batch,
what was expected and what came, and a test to paste into `test_regressions.py`. `run.py` does the same outside pytest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ahead import Ahead, chosen
from pyspark.sql import SparkSession

from .cases import Trial, drawn
from .check import Oracle, Outcome, run_trial
from .reduce import reduced

CASES = 5_000 if os.environ.get("HEADRACE_LONG") == "1" else 300
PART = 25
APART = 60 if os.environ.get("HEADRACE_LONG") == "1" else 4
LARGE = 400 if os.environ.get("HEADRACE_LONG") == "1" else 10
REDUCING = 300
"""Seconds to make a failing case small."""
SEED = int(os.environ.get("HEADRACE_SEED", "0"))


@pytest.fixture(scope="module")
def parts(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ahead[int]]:
    folder = tmp_path_factory.mktemp("random")

    def run(part: int) -> None:
        total = tried(spark, folder / str(part), first_trial(part), PART)
        assert len(total.discarded) <= 2, f"too many queries that Spark cannot run: {total.discarded}"

    running = Ahead([item.callspec.params["part"] for item in chosen(request, "parts")], run)
    yield running
    running.stop()


def test_rows_are_looked_up_in_executors(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tried(spark, tmp_path / "trial", first_trial(900), APART, memory="apart")
    assert "without what it had in memory" not in caplog.text


def test_steps_are_done_in_tasks(spark: SparkSession, tmp_path: Path) -> None:
    tried(spark, tmp_path / "trial", first_trial(800), LARGE, steps="large")


def tried(spark: SparkSession, root: Path, first: int, cases: int, **forced: str) -> Outcome:
    """So many random cases and what they came to, with some things ``forced``; the first that fails is made small and
    told."""
    oracle = Oracle(spark)

    def one(trial: Trial) -> Outcome:
        try:
            return run_trial(spark, oracle, replace(trial, **forced), root)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    total = Outcome()
    for trial in drawn(first):
        total.add(one(trial))
        if total.failures:
            smallest = reduced(total.failures[0], one, seconds=REDUCING)
            pytest.fail(f"{smallest}\n{smallest.code()}", pytrace=False)
        if total.cases >= cases:
            break
    return total


def first_trial(part: int) -> int:
    return (SEED * 1_000 + part) * 1_000


@pytest.mark.parametrize("part", range(CASES // PART))
def test_a_view_is_what_spark_says(parts: Ahead[int], part: int) -> None:
    print(f"random trials: python tests/property/run.py --seed {first_trial(part)} --cases {PART}")
    parts.take(part)
