"""Facts whose keys rise: what comes is beyond what is there, and a timeline is planned and run by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr

SQL = "SELECT c, sum(v) AS total, count(*) AS n FROM orders JOIN lines ON orders.k = lines.k WHERE c < 40 GROUP BY c"
PARTS = (0, 30_000, 42_000, 54_000)


def written(folder: Path, run: int, *, rising: bool) -> None:
    """Orders with four lines each, for one run: those whose keys come next, or every third of all."""
    keys = np.arange(PARTS[run], PARTS[run + 1]) if rising else np.arange(run, PARTS[-1], 3)
    draw = np.random.default_rng(run)
    lines = np.repeat(keys, 4)
    tables = {
        "orders": pa.table({"k": keys, "c": draw.integers(0, 50, len(keys))}),
        "lines": pa.table({"k": lines, "v": draw.integers(0, 1_000, len(lines))}),
    }
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / name / f"{run}.parquet")


@pytest.mark.parametrize("rising", [True, False], ids=["rising", "spread"])
def test_files_are_passed_over_where_keys_rise(spark: SparkSession, tmp_path: Path, rising: bool) -> None:
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    written(tmp_path, 0, rising=rising)
    for name in ("orders", "lines"):
        warehouse.source(name, hr.Folder(tmp_path / name))
    view = warehouse.view("v", SQL, timeline=hr.runs([1, 2, 3], weights=[0.05, 0.1, 1]))
    reports = [view.advance()]
    for run in (1, 2):
        written(tmp_path, run, rising=rising)
        reports.append(view.advance())
    for name in ("orders", "lines"):
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(f"all_{name}")
    truth = SQL.replace("orders", "all_orders").replace("lines", "all_lines")
    same_rows(view.read(), spark.sql(truth))
    worked = [r for r in reports[1:] if r.method == "incremental" and any(r.states)]
    assert bool(sum(r.files_skipped for r in worked)) == rising
    assert bool(worked) or not rising
