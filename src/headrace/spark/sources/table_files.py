"""Rows of a table's files: how many there are, and a plan of them.

A partition's columns are not in its files, and whether a file's rows come or leave is in none but those of the
change feed: both are told to Spark with the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StringType, StructField, StructType

from headrace.errors import SourceError
from headrace.spark.catalyst import Catalyst
from headrace.spark.sources.relations import Relations
from headrace.spark.sources.source import CHANGE_TYPE, OUT, Scan
from headrace.spark.sources.table_log import DataFile, TableVersion


@dataclass(frozen=True)
class Change:
    """Files whose rows come, files whose rows leave, and files whose rows tell themselves what they do."""

    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    feed: tuple[DataFile, ...] = ()

    @property
    def only_adds(self) -> bool:
        return not self.removed and not self.feed

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


class TableFiles:
    """The files of one table, read with the columns of a schema."""

    def __init__(self, source: str, schema: StructType) -> None:
        self.source = source
        self.schema = schema
        self._relations = Relations()
        self._counted: dict[Path, tuple[int, int]] = {}

    def forget(self) -> None:
        """Other files may be where these were."""
        self._relations.clear()
        self._counted.clear()

    def scan(self, key: tuple[int, int], change: Change) -> Scan:
        rows, leaving = self.count(change)
        size = sum(f.size for f in change.files)
        footed = [f.path for f in change.added] if change.only_adds else []
        plan = partial(self._plan, key, change, leaving > 0)
        among = partial(self._among, change) if footed else None
        return Scan(rows, leaving, plan, size, footed, among, self._stored(change))

    def _stored(self, change: Change) -> StructType | None:
        """What is in the files, where that is what their rows are: those of partitions lack columns."""
        return self.schema if change.only_adds and not any(f.partition for f in change.added) else None

    def _among(self, change: Change, chosen: Sequence[Path]) -> Scan:
        """Some of the files that were added."""
        wanted = set(chosen)
        some = replace(change, added=tuple(f for f in change.added if f.path in wanted))
        rows, _ = self.count(some)
        paths, size = [f.path for f in some.added], sum(f.size for f in some.added)
        return Scan(rows, 0, partial(self._columns_of, some), size, paths, stored=self._stored(some))

    def _plan(self, key: tuple[int, int], change: Change, signed: bool, c: Catalyst) -> Any:
        """All columns in the order of the schema, and the change type last where rows leave."""
        return self._united(self._relations.get(c, key, lambda: self._groups(change, signed, c)), signed, c)

    def _columns_of(self, change: Change, c: Catalyst) -> Any:
        return self._united(self._groups(change, False, c), False, c)

    def _united(self, groups: Sequence[_Group], signed: bool, c: Catalyst) -> Any:
        plans = [self._columns(group, signed, c) for group in groups]
        if not plans:
            return c.files("parquet", [], self.schema)
        return plans[0] if len(plans) == 1 else c.union(plans)

    def _groups(self, change: Change, signed: bool, c: Catalyst) -> list[_Group]:
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
        if feed:
            stored.append(StructField(CHANGE_TYPE, StringType()))
            order.insert(len(stored) - 1, self._kind)
        elif signed:
            told.append(StructField(self._kind, StringType()))
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

    def count(self, change: Change) -> tuple[int, int]:
        """How many rows a change has, and how many of them leave."""
        fed = [self._counts(f.path, feed=True) for f in change.feed]
        removed = sum(map(self._rows_of, change.removed))
        rows = sum(map(self._rows_of, change.added)) + removed + sum(n for n, _ in fed)
        return rows, removed + sum(n for _, n in fed)

    def rows(self, table: TableVersion) -> int:
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
                    f'source "{self.source}": {path.name} is not a readable Parquet file ({problem})',
                    hint="restore the table to a version without it; the view still reads as before",
                ) from problem
            self._counted[path] = (rows, leaving)
        return self._counted[path]

    def _vanished(self, path: Path) -> SourceError:
        return SourceError(
            "FILE_VANISHED",
            f'source "{self.source}": {path.name} belongs to the table and is gone',
            at=str(path),
            hint="restore it; a version is read from its files",
        )
