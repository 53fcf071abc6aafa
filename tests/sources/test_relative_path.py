"""A folder may be named from where one stands: Java, which stands elsewhere, finds the same files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr


def test_refreshes_over_a_relative_path(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t").mkdir()
    wh = hr.Warehouse("warehouse", spark=spark)
    for turn, (kind, x) in enumerate([("insert", 1), ("insert", 2), ("delete", 1)]):
        rows = pa.table({"k": [1], "x": pa.array([x], pa.int64()), "_change_type": [kind]})
        pq.write_table(rows, f"t/{turn}.parquet")
        wh.source("t", hr.Folder("t", changes=True))
        view = wh.view("v", "SELECT k, sum(x) AS s FROM t GROUP BY k")
        assert view.refresh().method == ("incremental" if turn else "initial")
        same_rows(view.read(), view.recompute())
    assert [tuple(r) for r in view.read().collect()] == [(1, 2)]
