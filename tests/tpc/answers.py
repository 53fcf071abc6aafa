"""Spark's own batch answer over plain tables: the truth that every refresh is compared with."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tpc.data import VERSION
from tpc.queries import Query

# Nine TPC-DS texts name columns as in "order count".
SETTINGS = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}


class Answers:
    """Answers from a session of its own, so that its table names meet nobody else's.

    With a `cache`, what Spark answered is kept there for the next time.
    """

    def __init__(self, spark: SparkSession, cache: Path | None = None) -> None:
        self._spark = spark
        self._own = spark.newSession()
        for name, value in SETTINGS.items():
            self._own.conf.set(name, value)
        self._cache = cache
        self._tables: dict[Path, DataFrame] = {}
        self._widths: dict[Query, int] = {}

    def batch(self, query: Query, tables: dict[str, Path]) -> pa.Table:
        """Ask Spark. The rows come with Spark's schema in their metadata, under "spark"."""
        for name, path in tables.items():
            self._table(path).createOrReplaceTempView(name)
        if query not in self._widths:
            self._widths[query] = len(self._own.sql(query.sql).columns)
        answer = self._own.sql(query.ordered(self._widths[query]))
        rows = answer.toArrow().replace_schema_metadata({"spark": answer.schema.json()})
        if file := self._file(query, tables):
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(f".{os.getpid()}")
            feather.write_feather(rows, str(partial), compression="uncompressed")
            partial.rename(file)
        return rows

    def expected(self, query: Query, tables: dict[str, Path]) -> DataFrame:
        file = self._file(query, tables)
        rows = feather.read_table(str(file)) if file and file.exists() else self.batch(query, tables)
        schema = StructType.fromJson(json.loads(rows.schema.metadata[b"spark"]))
        return self._spark.createDataFrame(rows.replace_schema_metadata(None), schema)

    def _file(self, query: Query, tables: dict[str, Path]) -> Path | None:
        if self._cache is None:
            return None
        told_apart_by = [query.sql, *(f"{name} {path.parent.name}" for name, path in sorted(tables.items()))]
        digest = hashlib.sha256("\n".join(told_apart_by).encode()).hexdigest()[:16]
        return self._cache / f"{query.benchmark}-{VERSION}-answers" / f"{query.name}-{digest}.arrow"

    def _table(self, path: Path) -> DataFrame:
        if path not in self._tables:
            # With the schema given, Spark needs no job to find it.
            columns = ", ".join(f"{f.name} {_spark_type(f.type)}" for f in pq.read_schema(path))
            self._tables[path] = self._own.read.schema(columns).parquet(str(path))
        return self._tables[path]


def _spark_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return {pa.int32(): "int", pa.int64(): "bigint", pa.date32(): "date", pa.string(): "string"}[kind]
