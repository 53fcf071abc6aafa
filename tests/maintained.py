"""A view maintained over tables that a test changes by hand, compared with Spark after every refresh."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

import headrace as hr

Row = tuple[Any, ...]


class Table:
    """A source with changes, and the rows it truly holds."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder = folder
        self.schema = schema
        self.rows: list[Row] = []
        self._batch = 0
        folder.mkdir(parents=True)
        self.change()

    def change(self, *, insert: Sequence[Row] = (), delete: Sequence[Row] = ()) -> None:
        """Write one file of changes; a row that is deleted must be there."""
        for row in delete:
            self.rows.remove(row)
        self.rows += insert
        kinds = ["delete"] * len(delete) + ["insert"] * len(insert)
        changed = [*delete, *insert]
        schema = self.schema.append(pa.field("_change_type", pa.string()))
        columns = [*([row[i] for row in changed] for i in range(len(self.schema))), kinds]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        pq.write_table(pa.table(arrays, schema=schema), self.folder / f"{self._batch:03}.parquet")
        self._batch += 1

    def arrow(self) -> pa.Table:
        arrays = [pa.array([row[i] for row in self.rows], f.type) for i, f in enumerate(self.schema)]
        return pa.table(arrays, schema=self.schema)


class Maintained:
    """Tables, a warehouse over them, and views that are checked against Spark's own answer."""

    def __init__(self, spark: SparkSession, folder: Path, tables: dict[str, pa.Schema], **options: Any) -> None:
        self.spark = spark
        self.folder = folder
        self.tables = {n: Table(folder / "data" / n, s) for n, s in tables.items()}
        self.warehouse = hr.Warehouse(folder / "warehouse", spark=spark, **options)
        for name, table in self.tables.items():
            self.warehouse.source(name, hr.Folder(table.folder, changes=True))

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def truth(self, sql: str) -> DataFrame:
        """Spark's answer over the true rows, in a session that Headrace does not see."""
        session = SparkSession(self.spark.sparkContext, self.spark._jsparkSession.cloneSession())
        for name, table in self.tables.items():
            session.createDataFrame(table.arrow()).createOrReplaceTempView(name)
        return session.sql(sql)

    def check(self, view: hr.View, sql: str) -> hr.RefreshReport:
        """Refresh and compare."""
        report = view.refresh()
        same_rows(view.read(), self.truth(sql))
        return report
