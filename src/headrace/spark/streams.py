"""Streaming tables: Delta tables that Structured Streaming appends to, exactly once.

Every batch of a flow is one commit, which is also an application transaction under the flow's name with the batch's
number: a batch that is run again after a crash finds that it is there. A flow's checkpoint lies beside the table and
goes with it, so a table that is made anew is filled anew.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from headrace.errors import ConfigError, QueryError, SourceError
from headrace.spark.delta_log import Table
from headrace.spark.paths import file_name
from headrace.spark.schema import storable
from headrace.spark.session import empty_frame, set_for_now

_KEEP_FILES = "36500d"  # a file source passes over files that are older than its newest by more than this


@dataclass(frozen=True)
class StreamFlow:
    """A streaming query, made anew for every run, and settings that hold while it starts."""

    name: str
    frame: Callable[[], DataFrame]
    conf: Mapping[str, str] = field(default_factory=dict)


GONE = ".gone-"  # in the name of a folder that is being removed


class StreamTable:
    """The table of some flows, in a folder of its own."""

    def __init__(
        self, spark: SparkSession, name: str, folder: Path, schema: StructType, comment: str | None = None
    ) -> None:
        self.spark = spark
        self.name = name
        self.folder = folder
        self.schema = schema
        self.table = Table(folder / "table", schema, append_only=True, comment=comment)
        wrong = [f for f in schema if not storable(f.dataType)]
        if wrong:
            raise QueryError(
                "TYPE_NOT_STORABLE",
                f'streaming table "{name}": a Delta table cannot hold column {wrong[0].name}'
                f" of type {wrong[0].dataType.simpleString()}",
                hint="cast it to another type",
            )

    def exist(self) -> None:
        """Make the table where it is not there; one with other columns is refused."""
        self.table.reload()
        stored = self.table.stored_schema()
        if stored != self.table.schema:
            raise ConfigError(
                "STREAM_SCHEMA",
                f'streaming table "{self.name}" holds ({_columns(stored)}) and would get ({_columns(self.schema)})',
                hint="refresh it in full once: its rows are then read again from the beginning",
            )

    def reset(self) -> None:
        """Forget all rows and how far the flows had read, at once."""
        remove_at_once(self.folder)
        self.table.reload()

    def run(self, flows: Sequence[StreamFlow]) -> int:
        """Append all that is there to read; returns how many rows."""
        self.table.reload()
        before = self.table.rows()
        self.table.clean(1)  # a stream that reads this table sees all files in its folder
        for flow in flows:
            run_stream(self.spark, self.name, flow, self._writer, self.folder / "checkpoints" / file_name(flow.name))
        self.table.clean(1)
        return self.table.rows() - before

    def read(self) -> DataFrame:
        """All rows of the table."""
        self.table.reload()
        reader = self.spark.read.schema(self.table.schema)
        paths = [str(p) for p in self.table.paths()]
        return reader.parquet(*paths) if paths else empty_frame(self.spark, self.table.schema)

    def stream(self) -> DataFrame:
        """The table as a stream of its rows. Flows into it have come to their end before one that reads it begins."""
        reader = self.spark.readStream.schema(self.table.schema).option("recursiveFileLookup", "true")
        return reader.option("maxFileAge", _KEEP_FILES).parquet(str(self.table.path))

    def _writer(self, flow: StreamFlow, frame: DataFrame) -> DataStreamWriter:
        def append(batch: DataFrame, number: int) -> None:
            self.table.reload()
            done = self.table.table.transaction_version(flow.name)
            if done is None or done < number:
                files = self.table.write_spark(batch)
                self.table.commit(files, transaction=(flow.name, number))

        there = set(frame.columns)
        columns = [
            F.col(f"`{f.name}`").cast(f.dataType) if f.name in there else F.lit(None).cast(f.dataType).alias(f.name)
            for f in self.schema
        ]
        return frame.select(*columns).writeStream.foreachBatch(append)


def remove_at_once(folder: Path) -> None:
    """Remove a folder, which leaves its name in one step; what a crash then leaves goes with the next vacuum."""
    if folder.exists():
        gone = folder.with_name(f"{folder.name}{GONE}{uuid.uuid4().hex[:8]}")
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def run_sink(
    spark: SparkSession, name: str, flow: StreamFlow, kind: str, options: Mapping[str, str], checkpoint: Path
) -> None:
    """Hand all that is there to read to a sink outside."""

    def writer(flow: StreamFlow, frame: DataFrame) -> DataStreamWriter:
        return frame.writeStream.format(kind).options(**options)

    run_stream(spark, name, flow, writer, checkpoint)


def run_stream(
    spark: SparkSession,
    target: str,
    flow: StreamFlow,
    writer: Callable[[StreamFlow, DataFrame], DataStreamWriter],
    checkpoint: Path,
) -> None:
    """Run a flow over all that is there now, to its end."""
    try:
        with set_for_now(spark, flow.conf):
            made = writer(flow, flow.frame()).option("checkpointLocation", str(checkpoint))
            query = made.trigger(availableNow=True).start()
        query.awaitTermination()
    except StreamingQueryException as problem:
        raise SourceError(
            "STREAM_FAILED",
            f'flow "{flow.name}" into "{target}": {str(problem).splitlines()[0]}',
            hint="mend what it says and run again: what was read before is not read twice",
        ) from problem


def merged_schema(name: str, schemas: Sequence[StructType]) -> StructType:
    """The columns of all flows into a table, in the order in which they come."""
    merged = StructType()
    for schema in schemas:
        for f in schema:
            known = merged[f.name] if f.name in merged.names else None
            if known is None:
                merged = merged.add(f.name, f.dataType, True)
            elif known.dataType != f.dataType:
                raise QueryError(
                    "UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA",
                    f'flows into "{name}" do not agree: {f.name} is {known.dataType.simpleString()}'
                    f" and {f.dataType.simpleString()}",
                    hint="cast it in one of them, or give the table a schema",
                )
    return merged


def _columns(schema: StructType) -> str:
    return ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema)
