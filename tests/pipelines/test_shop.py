"""The same files under Spark's own program and under ours give equal tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

from headrace.pipelines import Project

from .making import Shop


def spark_runs(folder: Path) -> Path:
    """Run ``spark-pipelines run`` in a project; returns the folder of its tables. Its catalog lives as long as the run,
    so what an earlier one left is removed first."""
    tables = folder / "spark-warehouse"
    for made in (tables, folder / "storage" / "_checkpoints"):
        shutil.rmtree(made, ignore_errors=True)
    beside = Path(sys.executable).parent
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PATH": f"{beside}:{os.environ['PATH']}"}
    command = [str(beside / "spark-pipelines"), "run"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return tables


def same_tables(spark: SparkSession, project: Project, theirs: Path) -> None:
    ours: dict[str, DataFrame] = {n: v.read() for n, v in project.warehouse.views.items()}
    ours |= {n: s.read() for n, s in project.streams.items()}
    assert {t.name for t in theirs.iterdir()} == set(ours)
    for name, rows in ours.items():
        same_rows(rows, spark.read.schema(rows.schema).parquet(str(theirs / name)))


def test_only_what_changed_is_touched(spark: SparkSession, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.grow(orders=200, customers=40, products=30)
    project = Project.open(shop.spec, spark=spark)
    assert len(project.warehouse.views) == 12
    first = project.run()
    assert {first.refreshed[n].method for n in project.warehouse.views} == {"initial"}
    shop.grow(orders=2, customers=0, products=0)
    report = project.run()
    assert {n for n, r in report.refreshed.items() if r.method == "full"} == set()
    came = {Path(n.split(" ")[0]).name: rows for n, rows in report.refreshed["repeat_customers"].rows_in.items()}
    assert came == {"orders": 2, "customers": 0}
    assert report.refreshed["everything"].rows_out == 2
    assert [n for n, v in project.warehouse.views.items() if not v.check().agrees] == []
    again = project.run()
    assert {r.method for r in again.refreshed.values()} == {"unchanged"}


@pytest.mark.long
def test_both_programs_give_equal_tables(spark: SparkSession, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.grow(orders=200, customers=40, products=30)
    project = Project.open(shop.spec, spark=spark)
    project.run()
    shop.grow(orders=2, customers=0, products=0)
    project.run()
    same_tables(spark, project, spark_runs(tmp_path))


@pytest.mark.long
def test_the_project_that_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    subprocess.run(
        [str(beside / "spark-pipelines"), "init", "--name", "fresh"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    folder = tmp_path / "fresh"
    project = Project.open(folder / "spark-pipeline.yml", spark=spark)
    project.run()
    same_tables(spark, project, spark_runs(folder))
    assert {r.method for r in project.run().refreshed.values()} == {"unchanged"}
