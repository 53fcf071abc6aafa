"""A folder of Parquet files: a new file is new rows, or new changes.

The position is the number of files read, in the order in which they were found; a manifest under the
warehouse holds that order. A file that was read must stay as it was: old versions are read from it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from headrace.errors import ConfigError, SourceError
from headrace.spark.catalyst import Catalyst
from headrace.spark.schema import from_arrow, nullable
from headrace.spark.session import empty_frame
from headrace.spark.sources.source import CHANGE_TYPE, IN, OUT, Scan, SourceReader

_FEED = (CHANGE_TYPE, "_commit_version", "_commit_timestamp")
WEIGHT_COLUMN = "_headrace_weight"
_REMEMBERED = 8  # relations of a source: old, new and delta of a run, and of the next
_FEW = 200_000  # rows that every executor can hold
_SMALL = 20_000  # rows that the driver counts faster than a job starts


@dataclass(frozen=True)
class Folder:
    """Parquet files in a folder. With ``changes`` every row says in ``_change_type`` what happened to it:
    insert, delete, update_preimage or update_postimage. ``verify`` checks that deleted rows are there.
    ``schema`` (a DDL string) is needed only while the folder has no file."""

    path: str | os.PathLike[str]
    changes: bool = False
    schema: str | None = None
    verify: bool = True

    def open(self, name: str, folder: Path, spark: SparkSession) -> FolderReader:
        return FolderReader(name, self, folder / f"{name}.json", spark)


@dataclass
class _File:
    path: str
    size: int
    modified: int
    rows: int
    leaving: int


class FolderReader(SourceReader):
    def __init__(self, name: str, folder: Folder, manifest: Path, spark: SparkSession) -> None:
        self.name = name
        self.folder = folder
        self.path = Path(folder.path)
        self.can_shrink = folder.changes
        self._spark = spark
        self._at = manifest
        if not self.path.is_dir():
            raise SourceError(
                "FOLDER_MISSING",
                f'source "{name}": there is no folder {self.path}',
                hint="create it, or correct the path given to Folder(…)",
            )
        self._files = self._load()
        self.schema = self._schema()
        self._relations: WeakKeyDictionary[Catalyst, dict[tuple[int, int], Any]] = WeakKeyDictionary()
        self._lock = RLock()  # views that share a source may be refreshed side by side

    # --- positions

    def discover(self) -> int:
        if not self.path.is_dir():
            raise SourceError(
                "FOLDER_MISSING",
                f'source "{self.name}": the folder {self.path} is gone',
                hint="bring it back; the view still reads as before",
            )
        with self._lock:
            known = {f.path: f for f in self._files}
            found = {str(p.relative_to(self.path)): p for p in self._visible()}
            for path, file in known.items():
                self._same(file, found.get(path))
            new = [self._inspect(found[p], p) for p in sorted(set(found) - set(known))]
            if new:
                since = len(self._files)
                self._files += new
                try:
                    self._check_leaving(since)
                except Exception:
                    self._relations.clear()
                    del self._files[since:]
                    raise
                self._save()
            return len(self._files)

    # --- rows

    def snapshot(self, at: int) -> Scan:
        return self.delta(0, at)

    def delta(self, since: int, until: int) -> Scan:
        files = self._files[since:until]
        return Scan(sum(f.rows for f in files), sum(f.leaving for f in files), partial(self._relation, since, until))

    def _relation(self, since: int, until: int, catalyst: Catalyst) -> Any:
        """The files after ``since`` up to ``until``: all columns, and the change type last if there is one."""
        with self._lock:
            relations = self._relations.setdefault(catalyst, {})
            found = relations.get((since, until))
            if found is None:
                full = StructType([*self.schema.fields, StructField(CHANGE_TYPE, _STRING)])
                files = [self.path.absolute() / f.path for f in self._files[since:until]]
                found = catalyst.parquet(files, full if self.folder.changes else self.schema)
                while len(relations) >= _REMEMBERED:
                    del relations[next(iter(relations))]
                relations[since, until] = found
        return found.newInstance()

    def _weighted(self, since: int, until: int) -> DataFrame:
        """The rows of the files after ``since`` up to ``until``, with weights in a last column."""
        frame = self._frame(since, until, StructType([*self.schema.fields, StructField(CHANGE_TYPE, _STRING)]))
        weight = F.when(F.col(CHANGE_TYPE).isin(*OUT), F.lit(-1).cast("bigint")).otherwise(F.lit(1).cast("bigint"))
        return frame.select(*(F.col(f"`{c}`") for c in self.schema.names), weight.alias(WEIGHT_COLUMN))

    def _frame(self, since: int, until: int, schema: StructType) -> DataFrame:
        files = [str(self.path / f.path) for f in self._files[since:until]]
        return self._reader().schema(schema).parquet(*files) if files else empty_frame(self._spark, schema)

    def _reader(self) -> DataFrameReader:
        """A reader that takes paths as they are, not as patterns."""
        return self._spark.read.option("__globPaths__", "false")

    def _check_leaving(self, since: int) -> None:
        """Check that every row that leaves in the files after ``since`` was there."""
        until = len(self._files)
        if not self.folder.verify or not self.delta(since, until).leaving:
            return
        small = self.snapshot(until).rows <= _SMALL
        bad = self._missing_here(since, until) if small else self._missing_in_spark(since, until)
        if bad is not None:
            row = ", ".join(f"{k}={v!r}" for k, v in bad.items())
            raise SourceError(
                "DELETE_OF_MISSING_ROW",
                f'source "{self.name}": a row is deleted that is not there: {row}',
                at=", ".join(f.path for f in self._files[since:until]),
                hint="correct or remove the file; the view still reads as before",
            )

    def _missing_here(self, since: int, until: int) -> dict[str, Any] | None:
        """A row of negative weight, found without a Spark job."""
        names = self.schema.names
        total: Counter[str] = Counter()
        rows: dict[str, dict[str, Any]] = {}
        for place, file in enumerate(self._files[:until]):
            table = pq.read_table(self.path / file.path, columns=[*names, CHANGE_TYPE], partitioning=None)
            for row in table.to_pylist():
                sign = -1 if row.pop(CHANGE_TYPE) in OUT else 1
                key = repr(row)
                total[key] += sign
                if sign < 0 and place >= since:
                    rows[key] = row
        return next((row for key, row in rows.items() if total[key] < 0), None)

    def _missing_in_spark(self, since: int, until: int) -> dict[str, Any] | None:
        """The same by one Spark job over the rows that the delta takes away."""
        names = [f"`{c}`" for c in self.schema.names]
        total = F.sum(WEIGHT_COLUMN).alias(WEIGHT_COLUMN)
        short = self._weighted(since, until).groupBy(*names).agg(total).where(f"{WEIGHT_COLUMN} < 0")
        if any("map" in f.dataType.simpleString() for f in self.schema):
            before = self._weighted(0, since)
        else:
            right = short.select(*(F.col(n).alias(f"r{i}") for i, n in enumerate(names)))
            if self.delta(since, until).leaving <= _FEW:
                right = F.broadcast(right)
            same = [F.col(n).eqNullSafe(F.col(f"r{i}")) for i, n in enumerate(names)]
            before = self._weighted(0, since).join(right, same, "left_semi")
        bad = before.unionAll(short).groupBy(*names).agg(total).where(f"{WEIGHT_COLUMN} < 0").head(1)
        return {k: v for k, v in bad[0].asDict().items() if k != WEIGHT_COLUMN} if bad else None

    # --- files

    def _visible(self) -> list[Path]:
        return [
            p
            for p in self.path.rglob("*.parquet")
            if p.is_file() and not any(part.startswith(("_", ".")) for part in p.relative_to(self.path).parts)
        ]

    def _same(self, file: _File, now: Path | None) -> None:
        if now is None:
            raise SourceError(
                "FILE_VANISHED",
                f'source "{self.name}": {file.path} was read before and is gone',
                hint="bring it back; old versions of the source are read from its files",
            )
        stat = now.stat()
        if (stat.st_size, stat.st_mtime_ns) != (file.size, file.modified):
            raise SourceError(
                "FILE_CHANGED",
                f'source "{self.name}": {file.path} was read before and has changed since',
                hint="put changes into a new file; files that were read must stay as they are",
            )

    def _inspect(self, path: Path, relative: str) -> _File:
        stat = path.stat()
        try:
            schema = pq.read_schema(path)
            rows = pq.read_metadata(path).num_rows
            leaving = self._leaving_in(path, schema)
        except (pa.ArrowInvalid, OSError) as problem:
            raise SourceError(
                "FILE_CORRUPT",
                f'source "{self.name}": {relative} is not a readable Parquet file ({problem})',
                hint="write it again or remove it; the view still reads as before",
            ) from problem
        self._check_schema(relative, schema)
        return _File(relative, stat.st_size, stat.st_mtime_ns, rows, leaving)

    def _leaving_in(self, path: Path, schema: pa.Schema) -> int:
        if not self.folder.changes or CHANGE_TYPE not in schema.names:
            return 0
        kinds = pq.read_table(path, columns=[CHANGE_TYPE])[CHANGE_TYPE].cast(pa.string())
        counts = {c["values"]: c["counts"] for c in pc.value_counts(kinds).to_pylist()}
        odd = [k for k in counts if k not in (*IN, *OUT)]
        if odd:
            raise SourceError(
                "CHANGE_TYPE_UNKNOWN",
                f'source "{self.name}": {path.name} has the change type {odd[0]!r}',
                hint=f"use one of {', '.join((*IN, *OUT))}",
            )
        return sum(counts.get(k, 0) for k in OUT)

    def _check_schema(self, relative: str, schema: pa.Schema) -> None:
        found = from_arrow(schema)
        if self.folder.changes and CHANGE_TYPE not in found:
            raise SourceError(
                "CHANGE_TYPE_MISSING",
                f'source "{self.name}": {relative} has no column {CHANGE_TYPE}',
                hint="add it, or declare the source without changes=True",
            )
        expected = {f.name: nullable(f.dataType) for f in self.schema}
        ignored = _FEED if self.folder.changes else ()
        found = {k: v for k, v in found.items() if k not in ignored}
        wrong = [
            f"{k} is {_name(found.get(k))}, not {_name(expected.get(k))}"
            for k in {**expected, **found}
            if found.get(k) != expected.get(k)
        ]
        if wrong:
            raise SourceError(
                "FILE_SCHEMA",
                f'source "{self.name}": {relative} has another schema: {"; ".join(wrong)}',
                hint="write the file with the columns and types of the source, or remove it",
            )

    def _schema(self) -> StructType:
        if self.folder.schema is not None:
            return self._declared(self.folder.schema)
        first = self._files[0].path if self._files else None
        files = [self.path / first] if first else sorted(self._visible())
        if not files:
            raise ConfigError(
                "SCHEMA_UNKNOWN",
                f'source "{self.name}": {self.path} has no Parquet file yet, so its columns are not known',
                hint='give them: Folder(path, schema="id bigint, name string")',
            )
        try:
            types = self._reader().parquet(str(files[0])).schema
        except Exception as problem:
            raise SourceError(
                "FILE_CORRUPT",
                f'source "{self.name}": {files[0].name} is not a readable Parquet file',
                hint="write it again or remove it",
            ) from problem
        kept = [f for f in types if not (self.folder.changes and f.name in _FEED)]
        return StructType([StructField(f.name, f.dataType, True) for f in kept])

    def _declared(self, text: str) -> StructType:
        found = StructType.fromDDL(text)
        assert isinstance(found, StructType)
        return found

    # --- the manifest

    def _load(self) -> list[_File]:
        if not self._at.exists():
            return []
        return [_File(**f) for f in json.loads(self._at.read_text())["files"]]

    def _save(self) -> None:
        self._at.parent.mkdir(parents=True, exist_ok=True)
        scratch = self._at.with_suffix(".new")
        scratch.write_text(json.dumps({"files": [asdict(f) for f in self._files]}))
        scratch.replace(self._at)


_STRING = StringType()


def _name(kind: object) -> str:
    return "absent" if kind is None else kind.simpleString()  # type: ignore[attr-defined]
