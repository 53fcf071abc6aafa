"""A folder of files, Parquet, CSV or JSON: a new file is new rows, or new changes.

The position is the number of files read, in the order in which they were found; a manifest under the
warehouse holds that order. A file that was read must stay as it was: old versions are read from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.errors import ConfigError, SourceError
from headrace.spark.catalyst import Catalyst
from headrace.spark.paths import file_name
from headrace.spark.session import empty_frame
from headrace.spark.sources.file_format import FoundFile, file_format
from headrace.spark.sources.leaving import UNKNOWN, missing_here
from headrace.spark.sources.manifest import KnownFile, Manifest, marked
from headrace.spark.sources.relations import Relations
from headrace.spark.sources.source import OUT, Scan, SourceReader

_FEW = 200_000  # rows that every executor can hold


@dataclass(frozen=True)
class Folder:
    """Files in a folder: Parquet, or with ``format`` CSV or JSON. With ``changes`` every row says in ``_change_type``
    what happened to it: insert, delete, update_preimage or update_postimage; in CSV that is the last column.
    ``verify`` checks that deleted rows are there. ``schema`` (a DDL string) is needed for CSV and JSON, and for
    Parquet while the folder has no file. ``options`` are those of Spark's reader, such as ``{"header": "true"}``.

    Parquet files end in ``.parquet``; of the others every file counts. Hidden files (``_x``, ``.x``) and those
    that are still being written (``.tmp``, ``.crc``, ``.inprogress``, ``._COPYING_``) are passed over. CSV and JSON
    files are read once when they are discovered, in one Spark job, for their rows are not counted anywhere."""

    path: str | os.PathLike[str]
    changes: bool = False
    schema: str | None = None
    verify: bool = True
    format: str = "parquet"
    options: Mapping[str, str] | None = None

    def open(self, name: str, folder: Path, spark: SparkSession) -> FolderReader:
        """The reader of the folder under a name; the order of its files is kept in ``folder``."""
        return FolderReader(name, self, folder / f"{file_name(name)}.json", spark)


class FolderReader(SourceReader):
    """A ``Folder`` as runs read it: the position is the number of files."""

    def __init__(self, name: str, folder: Folder, manifest: Path, spark: SparkSession) -> None:
        self.name = name
        self.folder = folder
        self.path = Path(folder.path).absolute()  # Java would look for a relative one elsewhere
        self.can_shrink = folder.changes
        self._spark = spark
        self._format = file_format(folder.format, name, spark, folder.changes, folder.options)
        if not self.path.is_dir():
            raise SourceError(
                "FOLDER_MISSING",
                f'source "{name}": there is no folder {self.path}',
                hint="create it, or correct the path given to Folder(…)",
            )
        self._manifest = Manifest(manifest)
        self._files = self._manifest.load()
        self.schema = self._schema()
        self._relations = Relations()
        self._lock = RLock()  # views that share a source may be refreshed side by side

    # --- positions

    @property
    def kind(self) -> str:
        return f"folder of {self.folder.format} {'changes' if self.folder.changes else 'rows'}"

    def discover(self) -> int:
        if not self.path.is_dir():
            raise SourceError(
                "FOLDER_MISSING",
                f'source "{self.name}": the folder {self.path} is gone',
                hint="bring it back; the view still reads as before",
            )
        with self._lock, self._manifest.locked():
            self._take(self._manifest.load())
            known = {f.path: f for f in self._files}
            found = {f.relative: f for f in self._format.visible(self.path)}
            for path, file in known.items():
                self._same(file, found.get(path))
            new = self._inspect([f for path, f in found.items() if path not in known])
            if new:
                since = len(self._files)
                self._files = [*self._files, *new]
                try:
                    self._check_leaving(since)
                except Exception:
                    self._take(self._files[:since])
                    raise
                self._manifest.save(self._files)
            return len(self._files)

    def _take(self, files: list[KnownFile]) -> None:
        """Another process may have found files first: its order holds."""
        if files[: len(self._files)] != self._files:
            self._relations.clear()
        self._files = files

    def cut(self, since: int) -> str | None:
        if since <= len(self._files):
            return None
        return f'source "{self.name}": {since} files were read before, and only {len(self._files)} are known now'

    def mark(self, at: int) -> str:
        return marked((f.path, f.size, f.modified) for f in self._files[:at])

    # --- rows

    def snapshot(self, at: int) -> Scan:
        return self.delta(0, at)

    def delta(self, since: int, until: int) -> Scan:
        files = self._files[since:until]
        rows, leaving = sum(f.rows for f in files), sum(f.leaving for f in files)
        footed = [self.path / f.path for f in files] if self._format.kind == "parquet" else []
        plan, size = partial(self._relation, since, until), sum(f.size for f in files)
        among = partial(self._among, files) if footed else None
        return Scan(rows, leaving, plan, size, footed, among, self._stored)

    def _among(self, files: Sequence[KnownFile], chosen: Sequence[Path]) -> Scan:
        """Some of the files."""
        wanted = set(chosen)
        kept = [f for f in files if self.path / f.path in wanted]
        rows, leaving, size = (sum(getattr(f, n) for f in kept) for n in ("rows", "leaving", "size"))
        paths = [self.path / f.path for f in kept]
        return Scan(rows, leaving, partial(self._made, paths), size, paths, stored=self._stored)

    @property
    def _stored(self) -> StructType | None:
        parquet = self._format.kind == "parquet" and not self._format.options
        return self._format.stored(self.schema) if parquet else None

    def _relation(self, since: int, until: int, catalyst: Catalyst) -> Any:
        """The files after ``since`` up to ``until``: all columns, and the change type last if there is one."""
        return self._relations.get(
            catalyst, (since, until), lambda: self._made(self._paths(since, until), catalyst)
        ).newInstance()

    def _made(self, paths: Sequence[Path], catalyst: Catalyst) -> Any:
        return catalyst.files(self._format.kind, paths, self._format.stored(self.schema), self._format.options)

    def _paths(self, since: int, until: int) -> list[Path]:
        return [self.path / f.path for f in self._files[since:until]]

    # --- rows that leave

    def _check_leaving(self, since: int) -> None:
        """Check that every row that leaves in the files after ``since`` was there."""
        until = len(self._files)
        if not self.folder.verify or not self.delta(since, until).leaving:
            return
        paths, names = self._paths(0, until), self.schema.names
        found = missing_here(paths, since, names) if self._format.local else UNKNOWN
        bad = self._missing_in_spark(since, until) if found is UNKNOWN else found
        if bad is not None:
            row = ", ".join(f"{k}={v!r}" for k, v in bad.items())
            raise SourceError(
                "DELETE_OF_MISSING_ROW",
                f'source "{self.name}": a row is deleted that is not there: {row}',
                at=", ".join(f.path for f in self._files[since:until]),
                hint="correct or remove the file; the view still reads as before",
            )

    def _missing_in_spark(self, since: int, until: int) -> dict[str, Any] | None:
        """The same by one Spark job over the rows that the delta takes away."""
        names = self._places("c")
        total = F.sum("weight").alias("weight")
        short = self._weighted(since, until).groupBy(*names).agg(total).where("weight < 0")
        if any("map" in f.dataType.simpleString() for f in self.schema):
            before = self._weighted(0, since)
        else:
            right = short.select(*names).toDF(*self._places("r"))
            if self.delta(since, until).leaving <= _FEW:
                right = F.broadcast(right)
            same = [F.col(n).eqNullSafe(F.col(r)) for n, r in zip(names, self._places("r"), strict=True)]
            before = self._weighted(0, since).join(right, same, "left_semi")
        bad = before.unionAll(short).groupBy(*names).agg(total).where("weight < 0").head(1)
        return dict(zip(self.schema.names, bad[0], strict=False)) if bad else None

    def _weighted(self, since: int, until: int) -> DataFrame:
        """The rows of the files after ``since`` up to ``until`` under names by place, with weights in a last column."""
        stored, paths = self._format.stored(self.schema), self._paths(since, until)
        frame = self._format.frame(paths, self.schema) if paths else empty_frame(self._spark, stored)
        leaves = F.col("kind").isin(*OUT)
        weight = F.when(leaves, F.lit(-1).cast("bigint")).otherwise(F.lit(1).cast("bigint"))
        return frame.toDF(*self._places("c"), "kind").select(*self._places("c"), weight.alias("weight"))

    def _places(self, letter: str) -> list[str]:
        """Names that no column of the user's can clash with, for there are no others."""
        return [f"{letter}{i}" for i in range(len(self.schema.fields))]

    # --- files

    def _same(self, file: KnownFile, now: FoundFile | None) -> None:
        if now is None:
            raise SourceError(
                "FILE_VANISHED",
                f'source "{self.name}": {file.path} was read before and is gone',
                hint="bring it back; old versions of the source are read from its files",
            )
        stat = now.path.stat()
        if (stat.st_size, stat.st_mtime_ns) != (file.size, file.modified):
            raise SourceError(
                "FILE_CHANGED",
                f'source "{self.name}": {file.path} was read before and has changed since',
                hint="put changes into a new file; files that were read must stay as they are",
            )

    def _inspect(self, files: list[FoundFile]) -> list[KnownFile]:
        # Looked at before they are read: a file that still grows is seen as changed, later.
        stats = [f.path.stat() for f in files]
        counts = self._format.inspect(files, self.schema)
        return [
            KnownFile(f.relative, s.st_size, s.st_mtime_ns, rows, leaving)
            for f, s, (rows, leaving) in zip(files, stats, counts, strict=True)
        ]

    def _schema(self) -> StructType:
        if self.folder.schema is not None:
            found = StructType.fromDDL(self.folder.schema)
            assert isinstance(found, StructType)
            return found
        known = [FoundFile(self.path / f.path, f.path) for f in self._files[:1]]
        files = (known or self._format.visible(self.path)) if self._format.kind == "parquet" else []
        if not files:
            why = "has no Parquet file yet" if self._format.kind == "parquet" else "has files that do not tell types"
            raise ConfigError(
                "SCHEMA_UNKNOWN",
                f'source "{self.name}": {self.path} {why}, so its columns are not known',
                hint='give them: Folder(path, schema="id bigint, name string")',
            )
        return self._format.schema_of(files[0])
