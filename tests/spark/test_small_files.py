"""Small files come from the driver's memory with the very rows that a scan gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

from headrace.spark import catalyst
from headrace.spark.catalyst import Catalyst

EVERY_TYPE = """
    SELECT CAST(i AS TINYINT) AS a, CAST(i AS SMALLINT) AS b, i AS c, CAST(i AS BIGINT) * 4000000000 AS d,
           CAST(i AS FLOAT) / 3 AS e, CAST(i AS DOUBLE) / 3 AS f, CAST(i AS DECIMAL(7, 2)) AS g,
           CAST(i AS DECIMAL(38, 10)) / 7 AS h, CAST(i AS STRING) AS k, CAST(CAST(i AS STRING) AS BINARY) AS l,
           i % 2 = 0 AS m, date_add(DATE'1500-01-01', i * 9999) AS n,
           timestamp_seconds(i * 100000007 - 15000000000) AS o,
           CAST(timestamp_seconds(i) AS TIMESTAMP_NTZ) AS p, array(i, NULL) AS q, map('x', i) AS r,
           named_struct('u', i, 'v', array(named_struct('w', CAST(i AS STRING)))) AS s,
           make_dt_interval(i) AS t, make_ym_interval(i) AS u, double('nan') AS v, CAST(NULL AS INT) AS w,
           -0.0D AS x
    FROM (SELECT CAST(id AS INT) AS i FROM range(-3, 4)) UNION ALL SELECT {nulls}
"""


def read(spark: SparkSession, files: list[Path], written: DataFrame, *, small: bool) -> tuple[DataFrame, str]:
    """The rows of files as a step in one partition reads them, and how."""
    c = Catalyst(spark)
    c.work_in(spark, single=small)
    frame = c.frame(c.parquet(files, written.schema))
    return frame, str(frame._jdf.queryExecution().analyzed().getClass().getSimpleName())


def stored(frame: DataFrame, folder: Path) -> list[Path]:
    frame.coalesce(2).write.mode("overwrite").parquet(str(folder))
    return sorted(folder.glob("*.parquet"))


def test_the_rows_of_a_scan(spark: SparkSession, tmp_path: Path) -> None:
    nulls = ["NULL"] * 22
    nulls[16] = "named_struct('u', 0, 'v', array(named_struct('w', '')))"  # Arrow cannot take a NULL one back to Python
    written = spark.sql(EVERY_TYPE.format(nulls=", ".join(nulls)))
    files = stored(written, tmp_path / "t")
    scanned, how = read(spark, files, written, small=False)
    assert how == "LogicalRelation"
    for _ in range(2):  # read, and remembered
        kept, how = read(spark, files, written, small=True)
        assert how == "LocalRelation"
        same_rows(kept, scanned, float_tolerance=False)


def test_columns_that_a_file_lacks_are_null(spark: SparkSession, tmp_path: Path) -> None:
    files = stored(spark.sql("SELECT 1 AS a"), tmp_path / "t")
    wanted = spark.sql("SELECT CAST(NULL AS STRING) AS b, 1 AS a")
    same_rows(read(spark, files, wanted, small=True)[0], wanted)


def test_another_file_in_the_same_place(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "x.parquet"
    for value in (1, 2, 3):
        frame = spark.sql(f"SELECT {value} AS a")
        (file,) = stored(frame, tmp_path / f"t{value}")
        os.replace(file, place)
        assert read(spark, [place], frame, small=True)[0].collect()[0]["a"] == value


def test_many_or_large_files_are_scanned(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.range(10).toDF("a")
    files = stored(frame, tmp_path / "t")
    monkeypatch.setattr(catalyst, "_FEW_BYTES", 100)
    assert read(spark, files, frame, small=True)[1] == "LogicalRelation"
    monkeypatch.undo()
    monkeypatch.setattr(catalyst, "_FEW_FILES", 1)
    assert len(files) == 2
    assert read(spark, files, frame, small=True)[1] == "LogicalRelation"


def test_more_than_is_remembered(spark: SparkSession, tmp_path: Path) -> None:
    """Files of more than the memory holds, one after another and again: each time the right rows."""
    frames = [spark.range(i, i + 4000).selectExpr("id AS a", "repeat(uuid(), 1) AS b") for i in range(3)]
    files = [stored(f, tmp_path / f"t{i}") for i, f in enumerate(frames)]
    for _ in range(2):
        for i, found in enumerate(files):
            rows = read(spark, found, frames[i], small=True)[0]
            assert rows.selectExpr("min(a)", "count(*)").collect()[0][:] == (i, 4000)
