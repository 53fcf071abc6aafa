"""Exactly once under a busy writer: a process appends to a Delta table and deletes from it without a pause, while
this one refreshes. Every commit of the view is the query at the version that the commit names."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr

SQL = "SELECT k % 5 AS g, count(*) AS n, sum(x) AS s, min(x) AS least FROM t GROUP BY k % 5"
WRITER = """
import random, sys, pyarrow as pa
from deltalake import DeltaTable, write_deltalake
draw = random.Random(7)
next_key = 0
while True:
    rows = [(next_key + i, draw.randint(0, 99)) for i in range(draw.randint(1, 20))]
    next_key += len(rows)
    table = pa.table({"k": pa.array([k for k, _ in rows], pa.int64()), "x": pa.array([x for _, x in rows], pa.int64())})
    write_deltalake(sys.argv[1], table, mode="append", configuration={"delta.enableChangeDataFeed": sys.argv[2]})
    if draw.random() < 0.4:
        DeltaTable(sys.argv[1]).delete(f"k % 7 = {draw.randint(0, 6)}")
    if draw.random() < 0.2:
        DeltaTable(sys.argv[1]).update(updates={"x": "x + 1"}, predicate=f"k % 11 = {draw.randint(0, 10)}")
"""
REFRESHES = 8


def test_every_commit_is_the_query_at_its_version(spark: SparkSession, tmp_path: Path) -> None:
    for feed in ("true", "false"):
        source = tmp_path / f"t-{feed}"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(source), feed])
        try:
            while not DeltaTable.is_deltatable(str(source)):
                time.sleep(0.05)
            warehouse = hr.Warehouse(tmp_path / f"warehouse-{feed}", spark=spark, retain=100)
            warehouse.source("t", hr.DeltaTable(source))
            view = warehouse.view("v", SQL)
            methods = [view.refresh().method for _ in range(REFRESHES)]
        finally:
            writer.kill()
            writer.wait()
        assert methods[0] == "initial"
        assert set(methods[1:]) == {"incremental"}
        commits = [e for e in DeltaTable(str(view._result.path)).history() if "headrace.run" in e]
        assert len(commits) == REFRESHES
        for commit in commits:
            position = json.loads(commit["headrace.run"])["positions"]["t"]
            _rows_of(spark, source, position - 1).createOrReplaceTempView("t")
            same_rows(view.read(commit["version"]), spark.sql(SQL))
        spark.catalog.dropTempView("t")


def _rows_of(spark: SparkSession, source: Path, version: int):  # type: ignore[no-untyped-def]
    table = DeltaTable(str(source), version=version).to_pyarrow_table()
    return spark.createDataFrame(table.cast(pa.schema([("k", pa.int64()), ("x", pa.int64())])))
