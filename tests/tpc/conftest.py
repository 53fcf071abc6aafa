"""What the TPC tests share: the data, made once per session, and Spark's answers.

With HEADRACE_TPC_DATA=folder the data and the answers are kept there and used again by the next session.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
) -> Iterator[Trials]:
    chosen = [item for item in request.session.items if isinstance(item, pytest.Function)]
    wanted = [
        (item.module.BENCHMARK, item.callspec.params["number"])
        for item in chosen
        if "trials" in item.fixturenames and hasattr(item, "callspec")
    ]
    running = Trials(wanted, tpc_spark, ledgers, kept, tmp_path_factory.mktemp("trials"))
    yield running
    running.stop()


class Trials:
    """The trials of all chosen queries, two at a time: most of a small refresh is spent in one thread of the driver."""

    def __init__(
        self,
        wanted: list[tuple[str, int]],
        spark: SparkSession,
        ledgers: dict[str, Ledger],
        kept: Path | None,
        folder: Path,
    ) -> None:
        self._spark, self._ledgers, self._kept, self._folder = spark, ledgers, kept, folder
        self._here = threading.local()
        self._pool = ThreadPoolExecutor(2)
        self._outcomes = {key: self._pool.submit(self._run, *key) for key in dict.fromkeys(wanted)}

    def take(self, benchmark: str, number: int) -> None:
        """Wait for a trial; raise what it raised."""
        __tracebackhide__ = True
        self._outcomes[benchmark, number].result()

    def stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _run(self, benchmark: str, number: int) -> None:
        from tpc.trial import Trial

        if not hasattr(self._here, "answers"):
            self._here.answers = Answers(self._spark, self._kept)
        home = self._folder / f"{benchmark}{number}"
        trial = Trial(query(benchmark, number), self._spark, self._ledgers[benchmark], self._here.answers, home)
        for load in range(len(LOADS) if LONG else USUAL):
            trial.check(load, trial.refresh(load))
        shutil.rmtree(home, ignore_errors=True)
