"""A source of one's own: a table of SQLite in which a trigger, or the program itself, writes down every change.

    changes(step INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, amount INTEGER, kind TEXT)

The position is the number of the newest step. Steps are never changed or removed, so reading up to the same one twice
gives the same rows, in any process. That is the law that a source must keep; ``check_law`` tries it.
"""

import sqlite3
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import headrace as hr
from headrace import Scan, SourceReader
from headrace.spark.catalyst import Catalyst
from headrace.spark.sources.source import OUT

COLUMNS = "item string, amount bigint"


@dataclass(frozen=True)
class ChangeLog:
    """What people create and pass to ``Warehouse.source``."""

    path: Path

    def open(self, name: str, folder: Path, spark: SparkSession) -> "ChangeLogReader":
        return ChangeLogReader(name, self.path)


class ChangeLogReader(SourceReader):
    """What runs read."""

    kind = "SQLite change log"
    can_shrink = True  # some changes take rows away

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.schema = StructType.fromDDL(COLUMNS)  # Spark reads the text, so there must be a session
        self._path = path

    def discover(self) -> int:
        ((newest, wrong),) = self._ask(
            "SELECT coalesce(max(step), 0), sum(kind NOT IN ('insert', 'delete')) FROM changes"
        )
        if wrong:  # never give out a position over data that is not as promised
            raise hr.SourceError("CHANGE_TYPE_UNKNOWN", f'source "{self.name}": {wrong} changes are of no known kind')
        return int(newest)

    def snapshot(self, at: int) -> Scan:
        return self.delta(0, at)  # all changes so far; their weights add up to the rows that are there

    def delta(self, since: int, until: int) -> Scan:
        rows = self._ask("SELECT item, amount, kind FROM changes WHERE step > ? AND step <= ?", since, until)
        leaving = sum(kind in OUT for *_, kind in rows)

        def plan(c: Catalyst) -> Any:
            given = [r if leaving else r[:2] for r in rows]  # the change type comes last, and only where rows leave
            frame = c.spark.createDataFrame(given, COLUMNS + ", kind string" if leaving else COLUMNS)
            return c.put(frame._jdf.queryExecution().analyzed()).newInstance()

        return Scan(len(rows), leaving, plan)

    def _ask(self, sql: str, *values: int) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(self._path)
        try:
            return database.execute(sql, values).fetchall()
        finally:
            database.close()


def check_law(reader: SourceReader, spark: SparkSession) -> None:
    """snapshot(w) = snapshot(v) + delta(v, w), weights added; snapshot(0) is empty; nothing has a negative weight."""
    catalyst = Catalyst(spark)

    def rows(scan: Scan) -> Counter[tuple[Any, ...]]:
        found: Counter[tuple[Any, ...]] = Counter()
        for row in catalyst.frame(scan.plan(catalyst)).collect():
            values, kind = (row[:-1], row[-1]) if scan.leaving else (tuple(row), "insert")
            found[values] += -1 if kind in OUT else 1
        return Counter({r: n for r, n in found.items() if n})

    newest = reader.discover()
    snapshots = [rows(reader.snapshot(at)) for at in range(newest + 1)]
    assert not snapshots[0]
    assert all(n > 0 for snapshot in snapshots for n in snapshot.values())
    for v, before in enumerate(snapshots):
        for w in range(v + 1, newest + 1):
            after = before.copy()
            after.update(rows(reader.delta(v, w)))
            assert {r: n for r, n in after.items() if n} == snapshots[w], f"the law is broken from {v} to {w}"


def write(path: Path, *changes: tuple[str, int, str]) -> None:
    database = sqlite3.connect(path)
    with database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS changes"
            "(step INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, amount INTEGER, kind TEXT)"
        )
        database.executemany("INSERT INTO changes (item, amount, kind) VALUES (?, ?, ?)", changes)
    database.close()


with tempfile.TemporaryDirectory() as folder:
    log = Path(folder) / "stock.db"
    write(log, ("nail", 100, "insert"), ("screw", 50, "insert"))
    wh = hr.Warehouse(Path(folder) / "warehouse")
    wh.source("stock", ChangeLog(log))
    view = wh.view("amounts", "SELECT item, sum(amount) AS amount FROM stock GROUP BY item")
    view.refresh()

    write(log, ("screw", 50, "delete"), ("nail", 20, "insert"))
    print(view.refresh())
    view.read().show()
    print(view.check())

    check_law(wh.sources["stock"], wh.spark)
    print("The source keeps its law.")
