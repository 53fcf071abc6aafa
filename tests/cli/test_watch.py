"""`run --watch`: each view when it is due and no row twice, through a kill and to an orderly end."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pipelines.making import project
from pyspark.sql import SparkSession

from headrace.pipelines import Project

from .test_processes import Child

SQL = """
    CREATE MATERIALIZED VIEW often TBLPROPERTIES ('headrace.policy' = 'every {every} s') AS
    SELECT k, count(*) AS n, sum(x) AS x FROM parquet.`{data}` GROUP BY k;
    CREATE MATERIALIZED VIEW seldom TBLPROPERTIES ('headrace.policy' = 'after_rows 20') AS
    SELECT count(*) AS n, max(x) AS x FROM parquet.`{data}`;
"""


class Watched:
    """A service over a folder into which files of five rows come, and the events that it told."""

    def __init__(self, spark: SparkSession, folder: Path, every: int) -> None:
        self.spark = spark
        self.root = folder
        self.every = every
        self.data = folder / "data"
        self.data.mkdir()
        self.rows = 0
        self.arrive()
        project(folder, {"views.sql": SQL.format(every=every, data=self.data)})
        self.events: list[tuple[float, dict[str, Any]]] = []
        self._listeners: dict[int, Thread] = {}

    def arrive(self) -> None:
        numbers = list(range(self.rows, self.rows + 5))
        hidden = self.data / f".{self.rows}"
        pq.write_table(pa.table({"k": [n % 3 for n in numbers], "x": numbers}), hidden)
        hidden.rename(self.data / f"{self.rows}.parquet")  # a file is there at once and whole
        self.rows += 5

    def start(self) -> Child:
        child = Child(self, "run", "--watch", "--json")  # type: ignore[arg-type]
        child.begin()
        listener = Thread(target=self._listen, args=(child,), daemon=True)
        listener.start()
        self._listeners[child.process.pid] = listener
        return child

    def end(self, child: Child, number: signal.Signals) -> int:
        """Send a signal; returns the exit code when all that was told has been heard."""
        os.kill(child.process.pid, number)
        code = child.process.wait(60)
        self._listeners[child.process.pid].join(30)
        for pipe in (child.process.stdin, child.process.stdout, child.process.stderr):
            assert pipe is not None
            pipe.close()
        return code

    def _listen(self, child: Child) -> None:
        assert child.process.stdout is not None
        for line in child.process.stdout:
            self.events.append((time.monotonic(), json.loads(line)))

    def told(self, kind: str, view: str | None = None) -> list[tuple[float, dict[str, Any]]]:
        return [(at, e) for at, e in self.events if e["event"] == kind and view in (None, e.get("view"))]

    def wait_for(self, kind: str, view: str | None = None, times: int = 1, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while len(self.told(kind, view)) < times:
            assert time.monotonic() < end, f"no {kind} of {view}: {self.events[-5:]}"
            time.sleep(0.05)

    def flow(self, seconds: float) -> None:
        """Files come for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.arrive()
            time.sleep(1)


@pytest.mark.parametrize(
    ("seconds", "every"), [pytest.param(5, 2, id="short"), pytest.param(60, 5, id="long", marks=pytest.mark.long)]
)
def test_due_once_killed_and_ended(spark: SparkSession, tmp_path: Path, seconds: int, every: int) -> None:
    watched = Watched(spark, tmp_path, every)
    first = watched.start()
    watched.wait_for("run_done", "seldom")
    watched.flow(seconds)
    watched.end(first, signal.SIGKILL)
    second = watched.start()
    watched.wait_for("watching", times=2)
    watched.flow(seconds)
    watched.wait_for("run_done", "often", times=len(watched.told("run_done", "often")) + 1)
    assert watched.end(second, signal.SIGTERM) == 0
    assert watched.told("stopped")

    again = watched.told("watching")[1][0]
    starts = [at for at, _ in watched.told("due", "often")]
    gaps = [late - early for early, late in pairwise(starts) if not early < again < late]
    assert gaps
    assert min(gaps) > every - 0.5
    assert watched.told("run_failed") == []
    for view in ("often", "seldom"):
        runs = [e for _, e in watched.told("run_done", view) if e["method"] != "unchanged"]
        for before, after in pairwise(runs):
            # What one run read up to, the next begins from; a run that was killed told nothing and changed nothing.
            assert after["since"].items() >= before["until"].items() or after["run"] > before["run"] + 1
    seldom = [e for _, e in watched.told("run_done", "seldom")][1:]
    assert seldom
    assert all(sum(e["rows_in"].values()) >= 20 for e in seldom)

    opened = Project.open(tmp_path / "spark-pipeline.yml", spark=spark)
    opened.run()
    assert [n for n, v in opened.warehouse.views.items() if not v.check().agrees] == []
    assert opened.warehouse.views["seldom"].read().collect()[0]["n"] == watched.rows
