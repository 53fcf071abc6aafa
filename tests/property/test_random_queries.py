"""Random queries over random data and random cuts: after every refresh a view is what Spark says.

300 cases, or 5,000 with HEADRACE_LONG=1. Other cases with HEADRACE_SEED=<number>. A failing case is made
small; its message shows the query, the tables batch by batch, what was expected and what came, and a test to
paste into `test_regressions.py`. `run.py` does the same outside pytest.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .cases import Trial, drawn
from .check import Oracle, Outcome, run_trial
from .reduce import reduced

CASES = 5_000 if os.environ.get("HEADRACE_LONG") == "1" else 300
PART = 25
REDUCING = 300
"""Seconds to make a failing case small."""
SEED = int(os.environ.get("HEADRACE_SEED", "0"))
THREADS = int(os.environ.get("HEADRACE_THREADS", "2"))


@pytest.fixture(scope="module")
def oracle(spark: SparkSession) -> Oracle:
    return Oracle(spark)


@pytest.mark.parametrize("part", range(CASES // PART))
def test_a_view_is_what_spark_says(spark: SparkSession, oracle: Oracle, tmp_path: Path, part: int) -> None:
    number = (SEED * 1_000 + part) * 1_000
    print(f"random trials from {number} on: python tests/property/run.py --seed {number} --cases {PART}")

    def run(trial: Trial) -> Outcome:
        root = tmp_path / "trial"
        try:
            return run_trial(spark, oracle, trial, root, threads=THREADS)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    total = Outcome()
    for trial in drawn(number):
        total.add(run(trial))
        if total.failures:
            smallest = reduced(total.failures[0], run, seconds=REDUCING)
            pytest.fail(f"{smallest}\n{smallest.code()}", pytrace=False)
        if total.cases >= PART:
            break
    assert len(total.discarded) <= 2, f"too many queries that Spark cannot run: {total.discarded}"
