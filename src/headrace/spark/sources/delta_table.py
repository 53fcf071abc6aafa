"""A Delta table: its versions are the positions, one further.

    position p = version p − 1, and 0 is before all data (where another table took its place: see ``table_ids``)
    snapshot(p) = the files of the version
    delta(v, w) = what the commits after v, up to and including w, say that they did

A commit says it in one of two ways: by change files (where the table's change feed is on), or by the files that it
adds and removes; those that only move rows between files are passed over. The same delta is always the files that
are only in w, less the files that are only in v. That one is taken where it has fewer rows, where change files
are gone, or where the counts show that a feed does not tell all.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DataType, StructType

from headrace.errors import SourceError
from headrace.spark.paths import file_name
from headrace.spark.sources.source import Scan, SourceReader
from headrace.spark.sources.table_files import Change, TableFiles
from headrace.spark.sources.table_ids import TableIds
from headrace.spark.sources.table_log import DataFile, LogBroken, LogGap, TableLog, TableVersion

# What a reader must know of a table and this one does: the rest is refused rather than guessed.
_FEATURES = {
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table in a folder of this machine. Its change feed is used where it is on."""

    path: str | os.PathLike[str]

    def open(self, name: str, folder: Path, spark: SparkSession) -> DeltaTableReader:
        """The reader of the table under a name; which tables were at the path is kept in ``folder``."""
        return DeltaTableReader(name, Path(self.path), folder / f"{file_name(name)}.table.json")


class DeltaTableReader(SourceReader):
    """A ``DeltaTable`` as runs read it."""

    def __init__(self, name: str, path: Path, ids: Path) -> None:
        self.name = name
        self.path = path.absolute()
        self._log = TableLog(self.path)
        self._ids = TableIds(ids)
        self._lock = RLock()  # views that share a source may be refreshed side by side
        self._changes: dict[tuple[int, int], Change | None] = {}
        table = self._newest()
        self.schema = table.schema
        self._files = TableFiles(name, self.schema)
        self.can_shrink = not table.is_on("delta.appendOnly")
        self._table = table
        self._reached = self._ids.position(table.id, table.number)

    kind = "Delta table"

    # --- positions

    def discover(self) -> int:
        with self._lock:
            table = self._newest()
            self._check_schema(table)
            reached = self._ids.position(table.id, table.number)
            if reached != self._reached:
                self._changes.clear()
            if table.id != self._table.id:
                self._files.forget()
            self._table, self._reached = table, reached
            return reached

    def cut(self, since: int) -> str | None:
        if since == 0:
            return None
        with self._lock:
            why = self._cut(since)
            return None if why is None else f'source "{self.name}": {why}'

    def _cut(self, since: int) -> str | None:
        number = self._ids.version(self._table.id, since)
        if number is None or since > self._reached:
            return "another table is in the place of the one that was read"
        try:
            old = self._log.at(number)
        except (LogGap, LogBroken):
            return f"version {number} is no longer in the log of the table"
        if wrong := self._differences(old.schema, absent=False):
            return f"at version {number} {wrong[0]}"
        new = self._table.files
        if any(key not in new and not key[0].exists() for key in old.files):
            return f"files of version {number} are gone (VACUUM removes old ones)"
        if self._between(since, self._reached) is None:
            if self.can_shrink:
                return f"the changes after version {number} can no longer be read"
            return f"after version {number} rows left the table, which is append-only now, or files of it are gone"
        return None

    # --- rows

    def snapshot(self, at: int) -> Scan:
        if at == 0:
            return self._files.scan((0, 0), Change())
        with self._lock:
            return self._files.scan((0, at), Change(added=self._live(self._at(at))))

    def delta(self, since: int, until: int) -> Scan:
        if since == 0:
            return self.snapshot(until)
        with self._lock:
            change = self._between(since, until) if since < until else Change()
            if change is None:
                raise SourceError(
                    "CHANGES_GONE",
                    f'source "{self.name}": the changes after position {since} can no longer be read',
                    hint="refresh the view: it is computed anew from the newest version",
                )
            return self._files.scan((since, until), change)

    def _between(self, since: int, until: int) -> Change | None:
        """The change from one position to another in as few rows as the log allows; None where files are gone."""
        if (since, until) not in self._changes:
            old, new = self._at(since), self._at(until)
            told = self._told(old, new)
            if not (told and told.only_adds) and self.can_shrink:
                netted = self._net(old, new)
                if told is None or (netted is not None and self._files.count(netted)[0] < self._files.count(told)[0]):
                    told = netted
            if told is not None and not self.can_shrink and self._files.count(told)[1]:
                told = None
            self._changes[since, until] = told
        return self._changes[since, until]

    def _told(self, old: TableVersion, new: TableVersion) -> Change | None:
        """What the commits between two versions tell, where it is all there."""
        weight: Counter[Path] = Counter()
        known = {f.path: f for f in old.files.values()}
        feed: list[DataFile] = []
        try:
            commits = [self._log.commit(n) for n in range(old.number + 1, new.number + 1)]
        except (LogGap, LogBroken):
            return None
        for commit in commits:
            known.update({f.path: f for f, _ in commit.adds})
            feed += commit.changes
            for moved, sign in ((commit.adds, 1), (commit.removes, -1)):
                for file, changes in moved:
                    if changes and not commit.changes:
                        if file.vector:
                            return None
                        known.setdefault(file.path, file)
                        weight[file.path] += sign
        if any(abs(w) > 1 for w in weight.values()):
            return None
        change = Change(
            tuple(known[p] for p, w in weight.items() if w > 0),
            tuple(known[p] for p, w in weight.items() if w < 0),
            tuple(feed),
        )
        if not all(f.path.exists() for f in change.files):
            return None
        if change.only_adds:
            # A file that is added again, with what is known of it, brings nothing: then the lists of files tell.
            return None if {f.path for f in old.files.values()} & {f.path for f in change.added} else change
        rows, leaving = self._files.count(change)
        return change if rows - 2 * leaving == self._files.rows(new) - self._files.rows(old) else None

    def _net(self, old: TableVersion, new: TableVersion) -> Change | None:
        """The files that only one of two versions has."""
        change = Change(
            added=tuple(f for key, f in new.files.items() if key not in old.files),
            removed=tuple(f for key, f in old.files.items() if key not in new.files),
        )
        there = all(f.path.exists() and not f.vector for f in change.files)
        return change if there else None

    # --- checks

    def _newest(self) -> TableVersion:
        number = self._log.newest()
        if number is None:
            raise SourceError(
                "TABLE_MISSING",
                f'source "{self.name}": there is no Delta table in {self.path}',
                hint="create it, or correct the path given to DeltaTable(…)",
            )
        table = self._version(number)
        self._check_readable(table)
        return table

    def _at(self, position: int) -> TableVersion:
        number = self._ids.version(self._table.id, position)
        if number is None:
            raise SourceError(
                "TABLE_REPLACED",
                f'source "{self.name}": another table is in the place of the one that was read',
                at=str(self.path),
                hint="refresh the view: it is computed anew",
            )
        return self._version(number)

    def _version(self, number: int) -> TableVersion:
        try:
            return self._log.at(number)
        except (LogGap, LogBroken) as problem:
            raise SourceError(
                "LOG_CORRUPT",
                f'source "{self.name}": version {number} of the table cannot be read from its log: {problem}',
                at=str(self._log.folder),
                hint="repair the log or restore it from a copy; the view still reads as before",
            ) from problem

    def _check_readable(self, table: TableVersion) -> None:
        mapping = table.settings.get("delta.columnMapping.mode", "none")
        if mapping.lower() != "none":
            raise SourceError(
                "COLUMN_MAPPING",
                f'source "{self.name}": the table maps its columns by {mapping}, so files have other names for them',
                hint="write the table without delta.columnMapping.mode",
            )
        unknown = sorted(table.features - _FEATURES)
        if unknown or table.reader_version > 3:
            feature = unknown[0] if unknown else f"reader version {table.reader_version}"
            raise SourceError(
                "TABLE_FEATURE",
                f'source "{self.name}": to read the table one must know {feature}',
                hint="drop that feature from the table, or write a copy without it",
            )
        self._live(table)
        odd = [f.name for f in table.schema if f.name in table.partitioned_by and isinstance(f.dataType, BinaryType)]
        if odd:
            raise SourceError(
                "PARTITION_TYPE",
                f'source "{self.name}": partition column {odd[0]} is binary, and its values cannot be told from text',
                hint="partition by another column",
            )

    def _live(self, table: TableVersion) -> tuple[DataFile, ...]:
        if any(f.vector for f in table.files.values()):
            raise SourceError(
                "DELETION_VECTORS",
                f'source "{self.name}": rows of version {table.number} are deleted by deletion vectors',
                hint="set delta.enableDeletionVectors=false and run REORG TABLE … APPLY (PURGE)",
            )
        return tuple(table.files.values())

    def _check_schema(self, table: TableVersion) -> None:
        if wrong := self._differences(table.schema, absent=True):
            raise SourceError(
                "SOURCE_SCHEMA",
                f'source "{self.name}": the schema of the table has changed: {"; ".join(wrong)}',
                hint="open the source again; views that use the column must be defined anew",
            )

    def _differences(self, found: StructType, *, absent: bool) -> list[str]:
        """Where a schema does not have the columns of this source. Others are ignored until it is opened again."""
        kinds: dict[str, DataType] = {f.name: f.dataType for f in found}
        names = {k: kind.simpleString() for k, kind in kinds.items()}
        return [
            f"{f.name} is {names.get(f.name, 'absent')}, not {f.dataType.simpleString()}"
            for f in self.schema
            if (f.name in kinds or absent) and kinds.get(f.name) != f.dataType
        ]
