"""Refreshes on a cluster of two executors, each a process of its own; one of them is killed in every run, each time a
step later.

Prints a line for every refresh: its method, and whether the view is what Spark answers from scratch.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime.progress import StepDone

ROWS = 160_000  # more than the driver works through by itself
KEYS = 80_000
SQL = """
    SELECT a.k, count(*) AS n, sum(b.x) AS x, max(a.x) AS most
    FROM t a LEFT JOIN u b ON a.k = b.k GROUP BY a.k
"""


def executors() -> list[int]:
    """The executors that this process started, by way of its JVM."""
    found = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    parents = {int(pid): int(ppid) for pid, ppid, _ in rows}

    def ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [int(pid) for pid, _, args in rows if "CoarseGrainedExecutorBackend" in args and ours(int(pid))]


def an_executor() -> int:
    """One of them, once there is one: the cluster starts another for each that was killed."""
    until = time.monotonic() + 180
    while not (found := executors()):
        assert time.monotonic() < until, "no executor for three minutes"
        time.sleep(0.2)
    return found[0]


def main() -> None:
    folder = Path(sys.argv[1])
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "900m")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.buffer.pageSize", "1m")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
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
                    os.kill(an_executor(), signal.SIGKILL)
                    print("killed an executor after step", number, flush=True)

        print(view.refresh(progress=progress).method, view.check().agrees, flush=True)
    other = hr.Warehouse(folder / "other", spark=spark)  # it has seen no large change
    for name in ("t", "u"):
        other.source(name, hr.Folder(folder / name))
    small = other.view("v", SQL, refresh_policy="INCREMENTAL")
    small.refresh()
    for number in range(4, 7):
        arrive(number, 10)
        report = small.refresh()
        how = "looked up" if report.memory and report.rows_read < 1000 else "scanned"
        print(report.method, how, small.check().agrees, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
