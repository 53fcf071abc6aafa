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

from .cases import Trial, examine
from .check import Oracle, Outcome, exception_for, run_trial

CASES = 5_000 if os.environ.get("HEADRACE_LONG") == "1" else 300
PART = 25
SEED = int(os.environ.get("HEADRACE_SEED", "0"))
THREADS = int(os.environ.get("HEADRACE_THREADS", "2"))


@pytest.fixture(scope="module")
def oracle(spark: SparkSession) -> Oracle:
    return Oracle(spark)


@pytest.fixture(scope="module")
def passed() -> set[str]:
    """The trials that need no second run: each part starts with the simplest one."""
    return set()


@pytest.mark.parametrize("part", range(CASES // PART))
def test_a_view_is_what_spark_says(
    spark: SparkSession, oracle: Oracle, passed: set[str], tmp_path: Path, part: int
) -> None:
    number = (SEED * 1_000 + part) * 1_000
    print(f"random trials from {number} on: python tests/property/run.py --seed {number} --cases {PART}")
    total = Outcome()

    def holds(trial: Trial) -> None:
        if repr(trial) in passed:
            return
        root = tmp_path / "trial"
        try:
            outcome = run_trial(spark, oracle, trial, root, threads=THREADS)
        finally:
            shutil.rmtree(root, ignore_errors=True)
        total.add(outcome)
        if outcome.failures:
            raise exception_for(outcome.failures[0])
        passed.add(repr(trial))

    while total.cases < PART:
        examine(number, holds)
        number += 1
    assert len(total.discarded) <= 2, f"too many queries that Spark cannot run: {total.discarded}"
