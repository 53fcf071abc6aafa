"""The report as a Headrace view, and its comparison with Spark's own batch answer."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import headrace as hr
from headrace.demo.data import Batch

QUERY = """\
WITH sales_status AS (
  SELECT sales.o_id, category, price, cost
  FROM sales LEFT OUTER JOIN returns ON sales.o_id = returns.o_id
)
SELECT category, SUM(IF(cost IS NULL, price, -cost)) AS gross
FROM sales_status
GROUP BY category
"""


@dataclass(frozen=True)
class Comparison:
    """One batch, brought into the report in both ways."""

    batch: Batch
    report: hr.RefreshReport
    refresh_seconds: float
    recompute_seconds: float
    agree: bool

    @property
    def ratio(self) -> float:
        """How many refreshes fit into one recompute."""
        return self.recompute_seconds / self.refresh_seconds

    @property
    def how(self) -> str:
        """How the refresh found the rows that the batch meets."""
        if self.report.method != "incremental":
            return "first load" if self.report.method == "initial" else "computes all anew"
        if self.report.rows_read > self.batch.before / 2:
            return "scans"
        return "looks rows up" if self.report.memory else "reads changes"


def open_report(folder: Path) -> tuple[hr.Warehouse, hr.View]:
    """The report over the change files under `folder`; the first batch must have landed."""
    wh = hr.Warehouse(str(folder / "warehouse"))
    wh.source("sales", hr.Folder(str(folder / "sales"), changes=True))
    wh.source("returns", hr.Folder(str(folder / "returns"), changes=True))
    return wh, wh.view("summary", QUERY)


def compare(view: hr.View, batch: Batch, step: Callable[[str], None]) -> Comparison:
    """Refresh the view, recompute it, and check that both hold the same rows.

    The refresh keeps its result on disk; the recompute only hands its rows over, which is in its favour. Both read the
    change files; a recompute nets them first, for a row that was corrected is there three times.
    The rows are few, so EXCEPT ALL in both directions is done here instead of by two more Spark jobs.
    """
    step("Headrace refreshes")
    start = perf_counter()
    report = view.refresh()
    refresh_seconds = perf_counter() - start

    step("Spark recomputes")
    start = perf_counter()
    recomputed = view.recompute().collect()
    recompute_seconds = perf_counter() - start

    step("comparing")
    ours, theirs = Counter(map(tuple, view.read().collect())), Counter(map(tuple, recomputed))
    agree = not (ours - theirs) and not (theirs - ours)
    return Comparison(batch, report, refresh_seconds, recompute_seconds, agree)
