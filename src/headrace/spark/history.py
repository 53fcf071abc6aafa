"""The history of a view: one row for every run, in a Delta table of its own."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from headrace.faults import effect
from headrace.spark.delta_log import Table

_COLUMNS = """
    run bigint, started timestamp, seconds double, estimated double,
    method string, code string, reason string, error string,
    since map<string, bigint>, until map<string, bigint>, rows_in map<string, bigint>,
    rows_read bigint, bytes_read bigint, rows_out bigint, published string, bytes_written bigint,
    states map<string, bigint>, steps map<string, double>
"""
_MANY = 100  # files; they are then written anew as one


class History:
    """Runs by number, the failed ones too. A record is a run as plain data; ``started`` is in seconds."""

    def __init__(self, path: Path) -> None:
        columns = StructType.fromDDL(_COLUMNS)
        assert isinstance(columns, StructType)
        self.table = Table(path, columns)

    @property
    def newest(self) -> int:
        """The number of the newest run that is told of and did not fail."""
        last = self.table.last_run()
        return int(last["number"]) if last else 0

    def add(self, record: dict[str, Any]) -> None:
        rows = [*self._folded(), _row(record)]
        number = self.newest if record["error"] else record["run"]
        with effect("history written"):
            files = self.table.write_arrow(pa.Table.from_pylist(rows, schema=self.table.arrow_schema))
            self.table.commit(files, overwrite=len(rows) > 1, run={"number": number})

    def again(self) -> History:
        """The same history for somebody else: a run may be using this one in another thread."""
        return History(self.table.path)

    def failure(self) -> dict[str, Any] | None:
        """The newest record, when it is one of a run that failed."""
        files = self.table.files() if self.table.exists else []
        rows = pq.read_table(max(files, key=lambda f: f.added).path).to_pylist() if files else []
        newest = max(rows, key=lambda r: r["started"], default=None)
        if newest is None or newest["error"] is None:
            return None
        return {**newest, "started": newest["started"].timestamp()}

    def _folded(self) -> list[dict[str, Any]]:
        """All rows so far when they are in many files, else none."""
        files = self.table.paths() if self.table.exists else []
        return [row for f in files for row in pq.read_table(f).to_pylist()] if len(files) >= _MANY else []


def _row(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "started": datetime.fromtimestamp(record["started"], timezone.utc)}
