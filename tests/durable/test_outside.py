"""A view's table is a Delta table to others: its newest version, an older one, its change feed, its statistics."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from fault.scene import SQL, Scene
from oracle import same_rows
from pyspark.sql import SparkSession


def test_other_readers(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    answers = []
    for _ in range(3):
        scene.churn()
        view.refresh()
        answers.append((view._result.version, _bag(scene.truth(SQL).toArrow())))
    for version, expected in answers:
        outside = DeltaTable(str(view._result.path), version=version)
        table = outside.to_pyarrow_table()
        assert _bag(table) == expected
        assert _bag(duckdb.arrow(table).arrow().read_all()) == expected
        same_rows(view.read(version), spark.createDataFrame(table))


def test_the_change_feed_adds_up(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    for _ in range(4):
        view.refresh()
        scene.churn()
    feed = pa.table(DeltaTable(str(view._result.path)).load_cdf(0))
    total: Counter[str] = Counter()
    for row in feed.to_pylist():
        sign = -1 if row["_change_type"] in ("delete", "update_preimage") else 1
        total[repr([v for k, v in row.items() if not k.startswith("_")])] += sign
    expected = _bag(view.read().toArrow())
    assert {row: count for row, count in total.items() if count} == expected


def test_statistics_cover_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    (action,) = pa.table(DeltaTable(str(view._result.path)).get_add_actions(flatten=True)).to_pylist()
    rows = view.read().toArrow().to_pylist()
    for column in ("customer", "orders", "amount"):
        values = [r[column] for r in rows if r[column] is not None]
        assert (action[f"min.{column}"], action[f"max.{column}"]) == (min(values), max(values))
    assert action["num_records"] == len(rows)


def test_the_log_holds_the_run(spark: SparkSession, tmp_path: Path) -> None:
    view = Scene(spark, tmp_path).view()
    view.refresh()
    newest = DeltaTable(str(view._result.path)).history(1)[0]
    run = json.loads(newest["headrace.run"])
    assert run["positions"] == {"orders": 2, "refunds": 2}
    assert set(run["states"]) == set(view._states)


def _bag(table: pa.Table) -> dict[str, int]:
    return dict(Counter(repr(list(row.values())) for row in table.to_pylist()))
