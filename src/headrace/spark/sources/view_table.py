"""A view as a source of others: the Delta table that it publishes.

Positions are those of the table. What a run of the view published is the delta that the views above it read: rows
that it appended, or those that its commit names as changes. A run that computed the result from scratch names none;
then all rows of the files that it replaced leave, and those of the new ones come.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.types import StructType

from headrace.errors import SourceError, StateError
from headrace.spark.delta_log import Table
from headrace.spark.sources.delta_table import DeltaTableReader
from headrace.spark.sources.source import Scan, SourceReader


class ViewReader(SourceReader):
    """``ids`` is the file that tells tables apart which were at the path one after another."""

    can_shrink = True
    kind = "view"

    def __init__(self, name: str, table: Path, schema: StructType, ids: Path) -> None:
        self.name = name
        self.schema = schema
        self._table = Table(table, schema)
        self._ids = ids
        self._opened: DeltaTableReader | None = None

    def discover(self) -> int:
        self._table.reload()
        if self._table.last_run() is None:
            raise StateError(
                "NOT_REFRESHED", f'view "{self.name}" has no result yet', hint="refresh it first, or all: refresh()"
            )
        if self._table.stored_schema() != self._table.schema:
            raise SourceError(
                "SOURCE_SCHEMA",
                f'view "{self.name}" has other columns in its table than in its definition',
                hint="refresh it first, and define the views above it anew where its columns changed",
            )
        return self._reader.discover()

    def snapshot(self, at: int) -> Scan:
        return self._reader.snapshot(at)

    def delta(self, since: int, until: int) -> Scan:
        return self._reader.delta(since, until)

    def cut(self, since: int) -> str | None:
        return self._reader.cut(since)

    @property
    def _reader(self) -> DeltaTableReader:
        if self._opened is None:
            self._opened = DeltaTableReader(self.name, self._table.path, self._ids)
        return self._opened
