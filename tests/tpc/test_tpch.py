"""TPC-H: after every load the view holds what Spark's batch answer holds, and got there incrementally."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpc.conftest import Trials

BENCHMARK = "h"


def test_maintained(number: int, trials: Trials) -> None:
    trials.take(BENCHMARK, number)
