"""Delta tables without a Spark plug-in: Spark or Arrow writes the files, ``deltalake`` commits them."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from headrace.errors import StateError
from headrace.spark.file_stats import file_stats

RUN_KEY = "headrace.run"
_APPLICATION = "headrace"
_SEGMENT = "segment-"
_CHANGES = "_change_data"
FILE_ROWS = 250_000  # of a file that Spark writes: few enough that rewriting one is quick
_REMEMBERED = 32  # lists of files, which never change
_FEED = {"delta.enableChangeDataFeed": "true"}
_APPEND_ONLY = {"delta.appendOnly": "true"}


@dataclass(frozen=True)
class File:
    """A file of a table: where it is, its rows, its bytes, and when it was added."""

    path: Path
    rows: int
    size: int
    added: int

    @property
    def segment(self) -> str:
        return self.path.parent.name


class Table:
    """One Delta table in a folder. ``schema`` is Spark's; every column may be NULL. ``feed`` is its change feed;
    ``append_only`` promises readers that no row leaves; ``comment`` describes it from the day it is made."""

    def __init__(
        self,
        path: Path,
        schema: StructType,
        *,
        feed: bool = False,
        append_only: bool = False,
        comment: str | None = None,
    ) -> None:
        self.path = path.absolute()
        self.schema = StructType([StructField(f.name, f.dataType, True) for f in schema])
        self._configuration = {**(_FEED if feed else {}), **(_APPEND_ONLY if append_only else {})}
        self._comment = comment
        self._table: DeltaTable | None = None
        self._birth: tuple[int, int] | None = None
        self._listed: dict[tuple[str, int], list[File]] = {}

    def again(self) -> Table:
        """The same table for somebody else: a run may be using this one in another thread."""
        return Table(self.path, self.schema)

    @property
    def exists(self) -> bool:
        return self._table is not None or DeltaTable.is_deltatable(str(self.path))

    @property
    def table(self) -> DeltaTable:
        if self._table is None:
            self._table = self._open() if self.exists else self._create()
            self._birth = self._born()
        return self._table

    def _open(self, version: int | None = None) -> DeltaTable:
        with self._readable_log():
            return DeltaTable(str(self.path), version=version)

    @contextmanager
    def _readable_log(self) -> Iterator[None]:
        try:
            yield
        except DeltaError as problem:
            raise StateError(
                "LOG_CORRUPT",
                f"the Delta log of {self.path} cannot be read: {str(problem).splitlines()[0]}",
                hint="bring its _delta_log back from a copy, or drop the view and make it anew",
            ) from problem

    def _create(self) -> DeltaTable:
        schema = Schema.from_json(self.schema.json())
        return DeltaTable.create(str(self.path), schema, description=self._comment, configuration=self._configuration)

    def reload(self) -> None:
        """See what other processes did. Going on from what is known is quicker than opening the table again, but only
        where the log is still the same one."""
        try:
            if self._table is not None and self._birth is not None and self._birth == self._born():
                self._table.update_incremental()
                return
        except DeltaError:
            pass
        self._table = None

    def _born(self) -> tuple[int, int] | None:
        """What tells the first commit of a log from that of another which took its place."""
        try:
            first = (self.path / "_delta_log" / f"{0:020}.json").stat()
        except OSError:
            return None
        return first.st_ino, first.st_mtime_ns

    @property
    def version(self) -> int:
        return self.table.version()

    def rewind(self, version: int) -> None:
        """Take back what was committed after ``version`` and never became part of a view's commit."""
        if self.version != version:
            self.table.restore(version)
            self.table.update_incremental()

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema(Schema.from_json(self.schema.json()).to_arrow())

    def stored_schema(self, version: int | None = None) -> StructType:
        """The columns that a version has, which are those of an earlier definition until the next commit."""
        there = version is None or version == self.version
        table = self.table if there else self._open(version)
        return StructType.fromJson(json.loads(table.schema().to_json()))

    # --- files

    def files(self, version: int | None = None) -> list[File]:
        """The files of a version, in the order in which they came. We wrote them, and their names need no quoting."""
        key = (str(self.table.metadata().id), self.version if version is None else version)
        if key not in self._listed:
            while len(self._listed) >= _REMEMBERED:
                del self._listed[next(iter(self._listed))]
            self._listed[key] = self._list(version)
        return self._listed[key]

    def _list(self, version: int | None) -> list[File]:
        there = version is None or version == self.version
        actions = pa.table((self.table if there else self._open(version)).get_add_actions())
        names = ("path", "num_records", "size_bytes", "modification_time")
        columns = [actions.column(n).cast(pa.int64() if i else pa.string()).to_pylist() for i, n in enumerate(names)]
        found = [File(self.path / path, rows, size, added) for path, rows, size, added in zip(*columns, strict=True)]
        return sorted(found, key=lambda f: (f.added, str(f.path)))

    def paths(self, version: int | None = None) -> list[Path]:
        return [f.path for f in self.files(version)]

    def rows(self, version: int | None = None) -> int:
        """How many rows the files of a version hold."""
        return sum(f.rows for f in self.files(version))

    def bytes(self) -> int:
        return sum(f.size for f in self.files()) if self.exists else 0

    def meeting(self, column: str, values: Sequence[Any]) -> list[File]:
        """The files that may hold a row with one of these values in a column, by what the log says of each."""
        actions = pa.table(self.table.get_add_actions(flatten=True))
        known = [f"{bound}.{column}" for bound in ("min", "max", "null_count")]
        bounds = [actions.column(n).to_pylist() if n in actions.column_names else [None] * len(actions) for n in known]
        ranges = dict(zip(actions.column("path").to_pylist(), zip(*bounds, strict=True), strict=True))
        ordered = sorted(v for v in values if v is not None)

        def meets(low: Any, high: Any, nulls: int | None) -> bool:
            if nulls is None or (nulls and len(ordered) < len(values)):
                return True
            if low is None or high is None:
                return bool(ordered)
            place = bisect_left(ordered, low)
            return place < len(ordered) and ordered[place] <= high

        return [f for f in self.files() if meets(*ranges[self._relative(f.path)])]

    def missing(self, version: int | None = None) -> list[Path]:
        """Files of a version that are not there."""
        return [f for f in self.paths(version) if not f.exists()]

    # --- commits

    def commit(
        self,
        files: Sequence[Path],
        *,
        overwrite: bool = False,
        remove: Collection[File] = (),
        run: dict[str, Any] | None = None,
        changes: Path | None = None,
        transaction: tuple[str, int] | None = None,
    ) -> int:
        """Make files part of the table, after what it holds less ``remove``, or alone; returns the version reached.

        Every commit is an application transaction, so that of two processes that opened the same version only the
        first commits. ``run`` is what the commit of a run says of it; ``changes`` is a file with the rows that came and
        left, for those who would else have to find them in files that were rewritten. ``transaction`` is one more, of
        the application that writes through us.
        """
        now = int(time.time() * 1000)
        if run is not None and changes is not None:
            run = {**run, "changes": [self._relative(changes)]}
        others = [transaction] if transaction else []
        properties = CommitProperties(
            custom_metadata={RUN_KEY: json.dumps(run)} if run is not None else None,
            app_transactions=[Transaction(_APPLICATION, self.version + 1), *(Transaction(*t) for t in others)],
        )
        mode = "overwrite" if overwrite else "append"
        schema = Schema.from_json(self.schema.json()) if overwrite else self.table.schema()
        try:
            actions: list[AddAction | RemoveAction] = [self._add(f, now) for f in files]
            actions += [RemoveAction(self._relative(f.path), True, now, f.size, {}) for f in remove]
            self.table.create_write_transaction(actions, mode, schema, commit_properties=properties)
        except (CommitFailedError, FileNotFoundError) as problem:
            raise StateError(
                "CONFLICT",
                f"another process changed {self.path} during this run, which was not committed",
                hint="refresh again; nothing was counted twice",
            ) from problem
        self.table.update_incremental()
        return self.version

    def _add(self, file: Path, now: int) -> AddAction:
        return AddAction(self._relative(file), file.stat().st_size, {}, now, True, file_stats(file))

    def _relative(self, file: Path) -> str:
        return file.relative_to(self.path).as_posix()

    def last_run(self) -> dict[str, Any] | None:
        """What the newest run's commit says of it, and as ``version`` where it stands in the log."""
        if not self.exists:
            return None
        with self._readable_log():
            for limit in (1, None):  # the newest commit is almost always a run's
                for entry in self.table.history(limit):
                    if RUN_KEY in entry:
                        return {**json.loads(entry[RUN_KEY]), "version": entry["version"]}
        return None

    # --- writing

    def write_arrow(self, rows: pa.Table) -> list[Path]:
        if rows.num_rows == 0:
            return []
        target = self._folder() / "part-0.parquet"
        pq.write_table(rows, target)
        return [target]

    def write_changes(self, rows: pa.Table) -> Path:
        """A file of changes, as the Delta protocol has them: the columns, and a change type last."""
        folder = self.path / _CHANGES
        folder.mkdir(exist_ok=True)
        target = folder / f"changes-{uuid.uuid4().hex[:12]}.parquet"
        pq.write_table(rows, target)
        return target

    def write_spark(self, frame: DataFrame) -> list[Path]:
        folder = self._folder()
        frame.write.mode("overwrite").option("maxRecordsPerFile", FILE_ROWS).parquet(str(folder))
        kept = []
        for file in sorted(folder.iterdir()):
            if file.suffix == ".parquet" and pq.read_metadata(file).num_rows > 0:
                kept.append(file)
            elif file.is_file():
                file.unlink()
        return kept

    def _folder(self) -> Path:
        _ = self.table
        folder = self.path / f"{_SEGMENT}{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        return folder

    # --- removing

    def leftovers(self, keep: int) -> list[Path]:
        """What no one of the last ``keep`` versions needs: whole Segments, and files of others."""
        newest = self.version
        needed: set[Path] = set()
        for version in range(max(newest - keep + 1, 0), newest + 1):
            with suppress(StateError):  # its log was cleaned, and nobody can read it any more
                needed.update(self.paths(version))
        folders = {f.parent for f in needed}
        found: list[Path] = []
        for folder in self.path.glob(f"{_SEGMENT}*"):
            if folder in folders:
                found += [f for f in folder.iterdir() if f.suffix == ".parquet" and f not in needed]
            else:
                found.append(folder)
        told = set(self._changes(keep))
        return found + [f for f in (self.path / _CHANGES).glob("*.parquet") if f not in told]

    def _changes(self, keep: int) -> Iterator[Path]:
        """The files of changes that the last commits name."""
        for entry in self.table.history(keep):
            yield from (self.path / path for path in told_changes(entry))

    def clean(self, keep: int) -> None:
        for path in self.leftovers(keep):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def drop(self) -> None:
        self._table = None
        shutil.rmtree(self.path, ignore_errors=True)


def told_changes(commit: dict[str, Any]) -> list[str]:
    """The files of changes that a run's commit names, by its information."""
    return json.loads(commit[RUN_KEY]).get("changes", []) if RUN_KEY in commit else []


def rows_of(files: Sequence[Path]) -> int:
    """How many rows files hold, by their footers."""
    return sum(pq.read_metadata(f).num_rows for f in files)
