"""Delta tables without a Spark plug-in: Spark or Arrow writes the files, ``deltalake`` commits them."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

RUN_KEY = "headrace.run"


class Table:
    """One Delta table in a folder. ``schema`` is Spark's; every column may be NULL."""

    def __init__(self, path: Path, schema: StructType) -> None:
        self.path = path
        self.schema = StructType([StructField(f.name, f.dataType, True) for f in schema])
        self._table: DeltaTable | None = None

    @property
    def exists(self) -> bool:
        return self._table is not None or DeltaTable.is_deltatable(str(self.path))

    @property
    def table(self) -> DeltaTable:
        if self._table is None:
            if DeltaTable.is_deltatable(str(self.path)):
                self._table = DeltaTable(str(self.path))
            else:
                self._table = DeltaTable.create(str(self.path), Schema.from_json(self.schema.json()))
        return self._table

    @property
    def version(self) -> int:
        return self.table.version()

    def rewind(self, version: int) -> None:
        """Take back what was committed after ``version`` and never became part of a view's commit."""
        if self.version != version:
            self.table.restore(version)
            self.table.update_incremental()

    def paths(self, version: int | None = None) -> list[Path]:
        """The files of a version. We wrote them, and their names need no quoting."""
        return [self.path.absolute() / str(name) for name in self._actions(version).column("path").to_pylist()]

    def rows(self, version: int | None = None) -> int:
        """How many rows the files of a version hold."""
        return sum(self._actions(version).column("num_records").to_pylist())

    def _actions(self, version: int | None) -> pa.Table:
        there = version is None or version == self.version
        table = self.table if there else DeltaTable(str(self.path), version=version)
        return pa.table(table.get_add_actions())

    def commit(self, files: list[Path], *, overwrite: bool = False, run: dict[str, Any] | None = None) -> int:
        """Make files part of the table, alone or after what it holds; returns the version reached."""
        adds: list[AddAction | RemoveAction] = [self._add(f) for f in files]
        metadata = {RUN_KEY: json.dumps(run)} if run is not None else None
        self.table.create_write_transaction(
            adds,
            "overwrite" if overwrite else "append",
            self.table.schema(),
            commit_properties=CommitProperties(custom_metadata=metadata),
        )
        self.table.update_incremental()
        return self.version

    def last_run(self) -> dict[str, Any] | None:
        """What the newest commit says about the run that made it."""
        if not self.exists:
            return None
        entries = self.table.history(1)
        text = entries[0].get(RUN_KEY) if entries else None
        return json.loads(text) if text else None

    def write_arrow(self, rows: pa.Table) -> list[Path]:
        if rows.num_rows == 0:
            return []
        target = self._folder() / "part-0.parquet"
        pq.write_table(rows, target)
        return [target]

    def write_spark(self, frame: DataFrame) -> list[Path]:
        folder = self._folder()
        frame.write.mode("overwrite").parquet(str(folder))
        kept = []
        for file in sorted(folder.iterdir()):
            if file.suffix == ".parquet" and pq.read_metadata(file).num_rows > 0:
                kept.append(file)
            elif file.is_file():
                file.unlink()
        return kept

    def drop(self) -> None:
        self._table = None
        shutil.rmtree(self.path, ignore_errors=True)

    def bytes(self) -> int:
        return sum(f.stat().st_size for f in self.paths()) if self.exists else 0

    def _folder(self) -> Path:
        _ = self.table
        folder = self.path / f"segment-{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        return folder

    def _add(self, file: Path) -> AddAction:
        stats = json.dumps({"numRecords": rows_of([file])})
        relative = file.relative_to(self.path).as_posix()
        return AddAction(relative, file.stat().st_size, {}, int(time.time() * 1000), True, stats)


def rows_of(files: list[Path]) -> int:
    """How many rows files hold, by their footers."""
    return sum(pq.read_metadata(f).num_rows for f in files)
