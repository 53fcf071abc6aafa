"""TPC-H: after every load the view holds what Spark's batch answer holds, and got there incrementally."""

from __future__ import annotations

from ahead import Ahead

BENCHMARK = "h"


def test_maintained(number: int, trials: Ahead[tuple[str, int]]) -> None:
    trials.take((BENCHMARK, number))
