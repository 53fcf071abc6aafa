"""What the TPC tests share: the data, made once per session, and Spark's answers.

With HEADRACE_TPC_DATA=folder the data and the answers are kept there and used again by the next session.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ahead import Ahead, chosen

from tpc.answers import SETTINGS, Answers
from tpc.queries import COUNTS, LONG, SPREAD, query
from tpc.schedule import LOADS, USUAL, Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`number` goes over all queries of the module's benchmark; those outside the spread are long."""
    if "number" in metafunc.fixturenames:
        benchmark = metafunc.module.BENCHMARK
        metafunc.parametrize(
            "number",
            [
                pytest.param(n, marks=() if LONG or n in SPREAD[benchmark] else pytest.mark.long)
                for n in range(1, COUNTS[benchmark] + 1)
            ],
        )


@pytest.fixture(scope="session")
def kept() -> Path | None:
    folder = os.environ.get("HEADRACE_TPC_DATA")
    return Path(folder) if folder else None


@pytest.fixture(scope="session")
def ledgers(kept: Path | None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ledger]:
    folder = kept or tmp_path_factory.mktemp("tpc")
    return {benchmark: Ledger(benchmark, folder) for benchmark in ("h", "ds")}


@pytest.fixture(scope="session")
def tpc_spark(spark: SparkSession) -> SparkSession:
    """A copy of the session that reads the benchmark's texts."""
    from pyspark.sql import SparkSession

    copy = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, value in SETTINGS.items():
        copy.conf.set(name, value)
    return copy


@pytest.fixture(scope="session")
def answers(spark: SparkSession, kept: Path | None) -> Answers:
    return Answers(spark, kept)


@pytest.fixture(scope="session")
def trials(
    request: pytest.FixtureRequest,
    tpc_spark: SparkSession,
    kept: Path | None,
    ledgers: dict[str, Ledger],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ahead[tuple[str, int]]]:
    """All chosen queries, each taken through its loads. With HEADRACE_TPC_SECONDS=n, those that have not begun by
    then are skipped."""
    folder = tmp_path_factory.mktemp("trials")
    here = threading.local()
    limit = os.environ.get("HEADRACE_TPC_SECONDS")
    started = time.monotonic()

    def run(key: tuple[str, int]) -> None:
        from tpc.trial import Trial

        if limit is not None and time.monotonic() - started > float(limit):
            pytest.skip(f"not begun within {limit} s")
        if not hasattr(here, "answers"):
            here.answers = Answers(tpc_spark, kept)
        benchmark, number = key
        home = folder / f"{benchmark}{number}"
        trial = Trial(query(benchmark, number), tpc_spark, ledgers[benchmark], here.answers, home)
        for load in range(len(LOADS) if LONG else USUAL):
            trial.check(load, trial.refresh(load))
        shutil.rmtree(home, ignore_errors=True)

    keys = [(item.module.BENCHMARK, item.callspec.params["number"]) for item in chosen(request, "trials")]
    running = Ahead(keys, run)
    yield running
    running.stop()
