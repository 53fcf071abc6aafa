"""Choosing what stays in memory takes no time, whatever the query: every one of TPC-H and TPC-DS."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.ir.expr import Attr
from headrace.ir.near import Range
from headrace.ir.probe import Index
from headrace.ir.rel import Load, Rel, Snapshot
from headrace.planner.diss import front
from headrace.planner.operators import Candidate
from headrace.planner.rates import Rates
from headrace.planner.view_tree import view_tree
from headrace.stats.estimate import Change, Estimate
from tpc.queries import COUNTS, SPREAD, query
from tpc.schedule import Ledger, deliver
from tpc.trial import Trial

# On an idle machine; tests may share theirs with others.
WITHIN = {"h": 0.1, "ds": 1.0}
BUSY = 4


class Large:
    """Every relation has a million rows, of which one in a hundred changes."""

    def rows(self, leaf: Snapshot | Load) -> int:
        return 1_000_000

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        return 1_000

    def found(self, index: Index) -> float | None:
        return None

    def changed(self, source: str) -> Change:
        return Change(8_000.0, 1_000.0, 1_000.0)

    def state(self, index: Index, rows: float) -> Candidate | None:
        return Candidate(index.name, round(rows * 80), False, 0.2, 0.1)

    def about(self, rel: Rel) -> Estimate | None:
        return None


def _each() -> Iterator[object]:
    for benchmark, n in COUNTS.items():
        for number in range(1, n + 1):
            marks = () if number in SPREAD[benchmark] else (pytest.mark.long,)
            yield pytest.param(benchmark, number, marks=marks)


@pytest.mark.parametrize(("benchmark", "which"), list(_each()))
def test_planning_a_budget(
    tpc_spark: SparkSession, ledgers: dict[str, Ledger], tmp_path: Path, benchmark: str, which: int
) -> None:
    trial = Trial(query(benchmark, which), tpc_spark, ledgers[benchmark], None, tmp_path)  # type: ignore[arg-type]
    for table, history in trial._histories.items():
        deliver(ledgers[benchmark].load(table, history[:1]), tmp_path / table, 0)
    planner = trial.view._planner
    plan = planner.refresh(planner.worst)
    started = time.thread_time()
    tree = view_tree(plan, Large())
    points = front(tree.root, Rates(), 2 << 30)
    taken = time.thread_time() - started

    print(f"{benchmark} {which}: {len(tree.indexes)} states, {len(points)} points, {taken:.3f} s")
    assert taken < BUSY * WITHIN[benchmark]
    assert points.points[0].held == ()
    shutil.rmtree(tmp_path, ignore_errors=True)
