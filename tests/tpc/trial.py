"""One query against Headrace: load by load, its result is compared with Spark's batch answer."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from tpc.answers import Answers
from tpc.queries import Query
from tpc.schedule import Ledger, deliver, histories, sizes

# A window over everything has no key and may be recomputed as a whole. What else a query may recompute is listed here,
# with the reason.
MAY_RECOMPUTE: dict[tuple[str, int], dict[str, str]] = {
    ("h", 15): {"Aggregate": "max() over all groups, which also change: a maximum that leaves is not in the state"},
    ("ds", 23): {"Aggregate": "max() over all groups, as above"},
}


@dataclass(frozen=True)
class Refresh:
    report: Any
    seconds: float


class Trial:
    """A warehouse of its own for one query, with one source for each table that it reads."""

    def __init__(self, query: Query, spark: SparkSession, ledger: Ledger, answers: Answers, folder: Path) -> None:
        self.query = query
        self._spark, self._ledger, self._answers, self._folder = spark, ledger, answers, folder
        self._histories = histories(query, sizes(ledger))

    @cached_property
    def view(self) -> Any:
        warehouse = hr.Warehouse(str(self._folder / ".headrace"), spark=self._spark)
        for table in self.query.tables:
            warehouse.source(table, hr.Folder(str(self._folder / table), changes=True))
        return warehouse.view(self.query.name, self.query.sql)

    def refresh(self, load: int) -> Refresh:
        """Let a load arrive and refresh the view."""
        for table, history in self._histories.items():
            deliver(self._ledger.load(table, history[: load + 1]), self._folder / table, load)
        start = time.perf_counter()
        report = self.view.refresh()
        return Refresh(report, time.perf_counter() - start)

    def truth(self, load: int) -> dict[str, Path]:
        return {
            table: self._ledger.load(table, history[: load + 1]).truth for table, history in self._histories.items()
        }

    def check(self, load: int, refresh: Refresh) -> None:
        """Raise AssertionError unless the result is right and was maintained, not recomputed."""
        __tracebackhide__ = True
        self.check_rows(load)
        complaints = self.complaints(load, refresh)
        assert not complaints, "\n".join(complaints)

    def check_rows(self, load: int) -> None:
        __tracebackhide__ = True
        same_rows(self.view.read(), self._answers.expected(self.query, self.truth(load)))

    def complaints(self, load: int, refresh: Refresh) -> list[str]:
        """What was recomputed that need not be."""
        wanted = "incremental" if load else "initial"
        found = []
        if refresh.report.method != wanted:
            found.append(f"load {load} was {refresh.report.method}, not {wanted}")
        for entry in refresh.report.recomputed if load else ():
            if kind(entry) not in recomputable(self.query) and "scalar subquery" not in str(entry.reason):
                found.append(f"load {load} recomputed {entry.operator}: {entry.reason}")
        return found


def kind(entry: Any) -> str:
    """The kind of operator that an entry of `recomputed` is about: it prints as `Window sum(…) …`."""
    return str(entry.operator).split(maxsplit=1)[0]


def recomputable(query: Query) -> set[str]:
    """The operators that have no key in this query, and those it is forgiven."""
    allowed = {*MAY_RECOMPUTE.get((query.benchmark, query.number), {})}
    if re.search(r"OVER\s*\((?!\s*PARTITION)", query.sql, re.IGNORECASE):
        allowed.add("Window")
    return allowed
