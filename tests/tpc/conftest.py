"""What the TPC tests share: the data, made once per session, and Spark's answers.

With HEADRACE_TPC_DATA=folder the data and the answers are kept there and used again by the next session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tpc.answers import SETTINGS, Answers
from tpc.queries import COUNTS, LONG, SPREAD
from tpc.schedule import Ledger

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
def answers(spark: SparkSession, kept: Path | None) -> Answers:
    return Answers(spark, kept)


@pytest.fixture
def tpc_spark(spark: SparkSession) -> Iterator[SparkSession]:
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield spark
    for name in SETTINGS:
        spark.conf.unset(name)
