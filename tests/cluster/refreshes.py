"""Refreshes on a cluster of two executors, each a process of its own; one of them is killed in every run, each time a
step later. Then small and large refreshes that look rows up in executors, and some after an executor is gone.

Prints a line for every refresh: its method, and whether the view is what Spark answers from scratch.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from two_executors import kill_one, registered, start, wait_for

import headrace as hr
from headrace.runtime.progress import StepDone

ROWS = 160_000  # more than the driver works through by itself
KEYS = 80_000
SQL = """
    SELECT a.k, count(*) AS n, sum(b.x) AS x, max(a.x) AS most
    FROM t a LEFT JOIN u b ON a.k = b.k GROUP BY a.k
"""


def main() -> None:
    folder = Path(sys.argv[1])
    spark = start()
    warehouse = hr.Warehouse(folder / "warehouse", spark=spark)
    draw = random.Random(3)

    def arrive(number: int, rows: int) -> None:
        for name in ("t", "u"):
            (folder / name).mkdir(exist_ok=True)
            columns = {"k": [draw.randrange(KEYS) for _ in range(rows)], "x": list(range(rows))}
            pq.write_table(pa.table(columns), folder / name / f"{number}.parquet")

    arrive(0, ROWS)
    for name in ("t", "u"):
        warehouse.source(name, hr.Folder(folder / name))
    view = warehouse.view("v", SQL, refresh_policy="INCREMENTAL")
    print(view.refresh().method, view.check().agrees, flush=True)
    for number in range(1, 4):
        arrive(number, ROWS if number < 3 else 10)
        steps: list[str] = []

        def progress(event: object, number: int = number, steps: list[str] = steps) -> None:
            if isinstance(event, StepDone):
                steps.append(event.name)
                if len(steps) == number:
                    kill_one()
                    print("killed an executor after step", number, flush=True)

        print(view.refresh(progress=progress).method, view.check().agrees, flush=True)
    other = hr.Warehouse(folder / "other", spark=spark)  # it has seen no large change
    for name in ("t", "u"):
        other.source(name, hr.Folder(folder / name))
    view = other.view("v", SQL, refresh_policy="INCREMENTAL")
    wait_for(lambda: registered(spark) == 2, "two executors")
    view.refresh()
    for number, rows in enumerate((10, 10, 10, ROWS, 10, 10, 10), 4):
        arrive(number, rows)
        if number == 8:
            kill_one()
            wait_for(lambda: registered(spark) < 2, "the driver knows that one is gone")
            wait_for(lambda: registered(spark) == 2, "another one")
        report = view.refresh()
        # Changes of either table are read in several places, and nothing else is.
        how = "looked up" if report.memory and report.rows_read <= 8 * rows else "scanned"
        print(report.method, rows, how, view.check().agrees, f"{report.seconds:.1f}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
