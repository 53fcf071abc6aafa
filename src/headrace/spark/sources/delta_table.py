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
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DataType, StringType, StructField, StructType

from headrace.errors import SourceError
from headrace.spark.catalyst import Catalyst
from headrace.spark.paths import file_name
from headrace.spark.sources.relations import Relations
from headrace.spark.sources.source import CHANGE_TYPE, OUT, Scan, SourceReader
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
        return DeltaTableReader(name, Path(self.path), folder / f"{file_name(name)}.table.json")


@dataclass(frozen=True)
class _Change:
    """Files whose rows come, files whose rows leave, and files whose rows tell themselves what they do."""

    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    feed: tuple[DataFile, ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        return (*self.added, *self.removed, *self.feed)


@dataclass(frozen=True)
class _Group:
    """Files that are partitioned by the same columns, as one relation; where in it each column of the schema is, and
    the change type where there is one."""

    relation: Any
    places: tuple[int, ...]
    change_type: int | None


class DeltaTableReader(SourceReader):
    def __init__(self, name: str, path: Path, ids: Path) -> None:
        self.name = name
        self.path = path.absolute()
        self._log = TableLog(self.path)
        self._ids = TableIds(ids)
        self._lock = RLock()  # views that share a source may be refreshed side by side
        self._relations = Relations()
        self._changes: dict[tuple[int, int], _Change | None] = {}
        self._counted: dict[Path, tuple[int, int]] = {}
        table = self._newest()
        self.schema = table.schema
        self.can_shrink = not table.is_on("delta.appendOnly")
        self._table = table
        self._reached = self._ids.position(table.id, table.number)

    # --- positions

    def discover(self) -> int:
        with self._lock:
            table = self._newest()
            self._check_schema(table)
            reached = self._ids.position(table.id, table.number)
            if reached != self._reached:
                self._changes.clear()
            if table.id != self._table.id:
                self._relations.clear()
                self._counted.clear()
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
            return self._scan((0, 0), _Change())
        with self._lock:
            return self._scan((0, at), _Change(added=self._files(self._at(at))))

    def delta(self, since: int, until: int) -> Scan:
        if since == 0:
            return self.snapshot(until)
        with self._lock:
            change = self._between(since, until) if since < until else _Change()
            if change is None:
                raise SourceError(
                    "CHANGES_GONE",
                    f'source "{self.name}": the changes after position {since} can no longer be read',
                    hint="refresh the view: it is computed anew from the newest version",
                )
            return self._scan((since, until), change)

    def _between(self, since: int, until: int) -> _Change | None:
        """The change from one position to another in as few rows as the log allows; None where files are gone."""
        if (since, until) not in self._changes:
            old, new = self._at(since), self._at(until)
            told = self._told(old, new)
            if not (told and _only_adds(told)) and self.can_shrink:
                netted = self._net(old, new)
                if told is None or (netted is not None and self._count(netted)[0] < self._count(told)[0]):
                    told = netted
            if told is not None and not self.can_shrink and self._count(told)[1]:
                told = None
            self._changes[since, until] = told
        return self._changes[since, until]

    def _told(self, old: TableVersion, new: TableVersion) -> _Change | None:
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
        change = _Change(
            tuple(known[p] for p, w in weight.items() if w > 0),
            tuple(known[p] for p, w in weight.items() if w < 0),
            tuple(feed),
        )
        if not all(f.path.exists() for f in change.files):
            return None
        if _only_adds(change):
            return change
        rows, leaving = self._count(change)
        return change if rows - 2 * leaving == self._rows(new) - self._rows(old) else None

    def _net(self, old: TableVersion, new: TableVersion) -> _Change | None:
        """The files that only one of two versions has."""
        change = _Change(
            added=tuple(f for key, f in new.files.items() if key not in old.files),
            removed=tuple(f for key, f in old.files.items() if key not in new.files),
        )
        there = all(f.path.exists() and not f.vector for f in change.files)
        return change if there else None

    def _scan(self, key: tuple[int, int], change: _Change) -> Scan:
        rows, leaving = self._count(change)
        return Scan(rows, leaving, partial(self._plan, key, change, leaving > 0))

    def _plan(self, key: tuple[int, int], change: _Change, signed: bool, c: Catalyst) -> Any:
        """All columns in the order of the schema, and the change type last where rows leave."""
        groups = self._relations.get(c, key, lambda: self._groups(change, signed, c))
        plans = [self._columns(group, signed, c) for group in groups]
        if not plans:
            return c.files("parquet", [], self.schema)
        return plans[0] if len(plans) == 1 else c.union(plans)

    def _groups(self, change: _Change, signed: bool, c: Catalyst) -> list[_Group]:
        """The files by the columns that they are partitioned by: those are not in them. Whether rows come or leave is
        one more such column, where it is not in the files either."""
        found: dict[tuple[tuple[str, ...], bool], dict[tuple[str | None, ...], list[Path]]] = {}
        for files, kind in ((change.added, "insert"), (change.removed, "delete"), (change.feed, None)):
            for file in files:
                if not file.path.exists():
                    raise self._vanished(file.path)
                told = {k: v for k, v in file.partition if k in self.schema.names}
                values = (*told.values(), kind) if signed and kind else tuple(told.values())
                found.setdefault((tuple(told), kind is None), {}).setdefault(values, []).append(file.path)
        return [self._group(names, feed, signed, parts, c) for (names, feed), parts in found.items()]

    def _group(
        self,
        names: tuple[str, ...],
        feed: bool,
        signed: bool,
        parts: dict[tuple[str | None, ...], list[Path]],
        c: Catalyst,
    ) -> _Group:
        stored = [f for f in self.schema if f.name not in names]
        told = [self.schema[name] for name in names]
        order = [f.name for f in (*stored, *told)]
        kind = StructField(self._kind, StringType())
        if feed:
            stored.append(StructField(CHANGE_TYPE, StringType()))
            order.insert(len(stored) - 1, self._kind)
        elif signed:
            told.append(kind)
            order.append(self._kind)
        if told:
            relation = c.partitioned_files(StructType(stored), StructType(told), list(parts.items()))
        else:
            (files,) = parts.values()
            relation = c.files("parquet", files, StructType(stored))
        places = tuple(order.index(name) for name in self.schema.names)
        return _Group(relation, places, order.index(self._kind) if self._kind in order else None)

    @property
    def _kind(self) -> str:
        """A name for the change type that no column of the table has."""
        name = CHANGE_TYPE
        while name in self.schema.names:
            name += "_"
        return name

    def _columns(self, group: _Group, signed: bool, c: Catalyst) -> Any:
        relation = group.relation.newInstance()
        wanted = group.places if not signed or group.change_type is None else (*group.places, group.change_type)
        if wanted == tuple(range(len(self.schema) + signed)) and (signed or group.change_type is None):
            return relation
        output = relation.output()
        names = [*self.schema.names, CHANGE_TYPE]
        return c.project([c.fresh(n, output.apply(i)) for n, i in zip(names, wanted, strict=False)], relation)

    # --- counting

    def _count(self, change: _Change) -> tuple[int, int]:
        """How many rows a change has, and how many of them leave."""
        fed = [self._counts(f.path, feed=True) for f in change.feed]
        removed = sum(map(self._rows_of, change.removed))
        rows = sum(map(self._rows_of, change.added)) + removed + sum(n for n, _ in fed)
        return rows, removed + sum(n for _, n in fed)

    def _rows(self, table: TableVersion) -> int:
        return sum(map(self._rows_of, table.files.values()))

    def _rows_of(self, file: DataFile) -> int:
        return self._counts(file.path, feed=False)[0] if file.rows is None else file.rows

    def _counts(self, path: Path, *, feed: bool) -> tuple[int, int]:
        """The rows of a file, and those that leave, from the file itself."""
        if path not in self._counted:
            try:
                rows, leaving = pq.read_metadata(path).num_rows, 0
                if feed:
                    kinds = pq.ParquetFile(path).read(columns=[CHANGE_TYPE])[CHANGE_TYPE].cast(pa.string())
                    leaving = sum(1 for k in kinds.to_pylist() if k in OUT)
            except FileNotFoundError as problem:
                raise self._vanished(path) from problem
            except (pa.ArrowException, OSError, KeyError) as problem:
                raise SourceError(
                    "FILE_CORRUPT",
                    f'source "{self.name}": {path.name} is not a readable Parquet file ({problem})',
                    hint="restore the table to a version without it; the view still reads as before",
                ) from problem
            self._counted[path] = (rows, leaving)
        return self._counted[path]

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
        self._files(table)
        odd = [f.name for f in table.schema if f.name in table.partitioned_by and isinstance(f.dataType, BinaryType)]
        if odd:
            raise SourceError(
                "PARTITION_TYPE",
                f'source "{self.name}": partition column {odd[0]} is binary, and its values cannot be told from text',
                hint="partition by another column",
            )

    def _files(self, table: TableVersion) -> tuple[DataFile, ...]:
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

    def _vanished(self, path: Path) -> SourceError:
        return SourceError(
            "FILE_VANISHED",
            f'source "{self.name}": {path.name} belongs to the table and is gone',
            at=str(path),
            hint="restore it; a version is read from its files",
        )


def _only_adds(change: _Change) -> bool:
    return not change.removed and not change.feed
