"""A table of files that a query names without registering it: a path, or a table of Spark's catalog.

The position counts the files, in the order in which they were found (see ``file_order``). New files are new rows.
The table belongs to others: where they replace or remove files, the changes since then cannot be told, for the old
rows are gone. Such a position is cut, and a view that was there is computed anew.

Which files belong to it, and how they are read, is Spark's to say: the answer is the one that Spark would give.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from headrace.errors import SourceError
from headrace.spark.catalyst import Catalyst
from headrace.spark.paths import file_name
from headrace.spark.session import reading_session
from headrace.spark.sources.file_format import FoundFile, file_format
from headrace.spark.sources.file_order import FileOrder, OrderFile, TableFile, Values
from headrace.spark.sources.listing import Listing
from headrace.spark.sources.manifest import marked
from headrace.spark.sources.relations import Relations
from headrace.spark.sources.source import Scan, SourceReader

# Options that say which files there are; the others say what is in them.
_LISTING = ("basepath", "mergeschema", "pathglobfilter", "recursivefilelookup", "ignoremissingfiles")


@dataclass(frozen=True)
class FileTable:
    """Files as Spark resolved them in a query. ``schema`` has all columns in their order, ``stored`` those that the
    files hold. ``table`` is the name in the catalog, part by part; ``pattern`` says that paths are to be matched."""

    format: str
    paths: tuple[str, ...]
    schema: StructType
    stored: StructType
    partitioned_by: StructType
    options: tuple[tuple[str, str], ...] = ()
    table: tuple[str, ...] = ()
    pattern: bool = False

    @property
    def reading(self) -> dict[str, str]:
        """The options that say what is in the files."""
        return {k: v for k, v in self.options if k not in _LISTING}

    @property
    def kind(self) -> str:
        """What of it changes the rows that a file has: in CSV the order of columns too."""
        options = "".join(f" {k}={v}" for k, v in sorted(self.reading.items()))
        return f"table of {self.format} files{options}" + (f" {self.stored.simpleString()}" * (self.format == "csv"))

    def open(self, name: str, folder: Path, spark: SparkSession) -> FileTableReader:
        # Read in another way, the same files may have other rows: each way counts them for itself.
        way = hashlib.sha256(self.kind.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return FileTableReader(name, self, folder / f"{file_name(name)}.{way}.files.json", spark)


class FileTableReader(SourceReader):
    can_shrink = False
    kind = "table of files"

    def __init__(self, name: str, table: FileTable, order: Path, spark: SparkSession) -> None:
        self.name = name
        self.table = table
        self.schema = StructType([StructField(f.name, f.dataType, True) for f in table.schema])
        self.kind = table.kind
        session = reading_session(spark)
        self._format = file_format(table.format, name, session, False, table.reading, strict=False)
        self._listing = Listing(name, table, session)
        self._file = OrderFile(order)
        self._order = self._file.load()
        self._relations = Relations()
        self._lock = RLock()  # views that share a source may be refreshed side by side

    # --- positions

    def discover(self) -> int:
        with self._lock, self._file.locked():
            before = self._file.load()
            order = before.extended(self._listing.files(), self._counted)
            if order != before:
                self._file.save(order)
            if order.kept != self._order.kept:
                self._relations.clear()
            self._order = order
            return order.position

    def cut(self, since: int) -> str | None:
        if self._order.place(since) is not None:
            return None
        lost = f", {self._order.lost} first" if self._order.lost else ""
        return f'source "{self.name}": files that were read have been replaced or removed{lost}'

    def mark(self, at: int) -> str:
        files = self._order.files[: self._order.place(at)]
        return marked((f.path, f.size, f.modified) for f in files)

    def _counted(self, files: Sequence[TableFile]) -> list[TableFile]:
        found = [FoundFile(Path(f.path), f.path) for f in files]
        counts = self._format.inspect(found, self.table.stored)
        return [replace(f, rows=rows) for f, (rows, _) in zip(files, counts, strict=True)]

    # --- rows

    def snapshot(self, at: int) -> Scan:
        return self.delta(0, at)

    def delta(self, since: int, until: int) -> Scan:
        if since == until:
            return Scan(0, 0, partial(self._relation, 0, 0, self._order))
        order = self._order
        start, end = order.place(since), order.place(until)
        if start is None or end is None:
            raise SourceError(
                "CHANGES_GONE",
                f'source "{self.name}": files that were read have been replaced or removed',
                hint="refresh the view: it is computed anew from what is there",
            )
        files = order.files[start:end]
        rows, size = sum(f.rows for f in files), sum(f.size for f in files)
        footed = [Path(f.path) for f in files] if self.table.format == "parquet" else []
        plan = partial(self._relation, start, end, order)
        return Scan(rows, 0, plan, size, footed, partial(self._among, files) if footed else None)

    def _among(self, files: Sequence[TableFile], chosen: Sequence[Path]) -> Scan:
        """Some of the files."""
        wanted = {str(p) for p in chosen}
        kept = [f for f in files if f.path in wanted]
        rows, size = sum(f.rows for f in kept), sum(f.size for f in kept)
        return Scan(rows, 0, partial(self._made, kept), size, chosen)

    def _relation(self, start: int, end: int, order: FileOrder, c: Catalyst) -> Any:
        files = order.files[start:end]
        return self._relations.get(c, (start, end, order.kept), lambda: self._made(files, c)).newInstance()

    def _made(self, files: Sequence[TableFile], c: Catalyst) -> Any:
        """The files as one relation. Partition values are told with them, not read from their paths."""
        if not files:
            return c.files(self.table.format, [], self.schema)
        parts: dict[Values, list[Path]] = {}
        for file in files:
            self._check_there(file)
            parts.setdefault(file.partition, []).append(Path(file.path))
        told, table = list(parts.items()), self.table
        return c.partitioned_files(table.stored, table.partitioned_by, told, table.format, table.reading)

    def _check_there(self, file: TableFile) -> None:
        """Spark would pass over a file that is gone."""
        with suppress(FileNotFoundError):
            stat = Path(file.path).stat()
            if (stat.st_size, stat.st_mtime_ns) == (file.size, file.modified):
                return
        raise SourceError(
            "FILE_VANISHED",
            f'source "{self.name}": {file.path} has been replaced or removed since it was found',
            hint="refresh the view: it is computed anew from what is there",
        )
