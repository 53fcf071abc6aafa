"""TPC-DS: after every load the view holds what Spark's batch answer holds, and got there incrementally."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tpc.queries import LONG, query
from tpc.schedule import LOADS, USUAL, Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tpc.answers import Answers

BENCHMARK = "ds"


def test_maintained(
    number: int, tpc_spark: SparkSession, ledgers: dict[str, Ledger], answers: Answers, tmp_path: Path
) -> None:
    from tpc.trial import Trial

    trial = Trial(query(BENCHMARK, number), tpc_spark, ledgers[BENCHMARK], answers, tmp_path)
    for load in range(len(LOADS) if LONG else USUAL):
        trial.check(load, trial.refresh(load))
