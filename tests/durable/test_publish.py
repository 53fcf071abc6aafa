"""How a result is published: appended, replaced, or put into just the files that hold what leaves."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from maintained import Maintained
from pyspark.sql import SparkSession

ROWS = 60

KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole numbers": (pa.int64(), list(range(-ROWS, ROWS))),
    "text": (pa.string(), [chr(33 + i) * (1 + i % 3) for i in range(ROWS)] + ["é", "日本", "🎉"]),
    "dates": (pa.date32(), [dt.date(1969, 12, 1) + dt.timedelta(days=i) for i in range(ROWS)]),
    "timestamps": (
        pa.timestamp("us", tz="UTC"),
        [dt.datetime(2024, 1, 1, 0, 0, i, 7 * i, tzinfo=dt.timezone.utc) for i in range(ROWS)],
    ),
    "decimals": (pa.decimal128(20, 3), [Decimal(i) / 7 // Decimal("0.001") * Decimal("0.001") for i in range(ROWS)]),
    "doubles": (pa.float64(), [i / 3 for i in range(ROWS)] + [float("inf")]),
}


@pytest.fixture(autouse=True)
def _all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.spark.computing.SMALL", 8)
    monkeypatch.setattr("headrace.spark.delta_log.FILE_ROWS", 5)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k in ("text", "decimals") else pytest.mark.long) for k in KEYS]
)
def test_only_files_that_hold_what_leaves(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    type_, domain = KEYS[kind]
    case = Maintained(spark, tmp_path, {"t": pa.schema([("k", type_), ("x", pa.int32())])})
    draw = random.Random(kind)
    case["t"].change(insert=[(k, draw.randint(0, 9)) for k in [*domain, None, None]])
    sql = "SELECT k, sum(x) AS s FROM t GROUP BY k"
    view = case.warehouse.view("v", sql)
    assert case.check(view, sql).published == "replaced"
    before = {f.path for f in view._result.files()}
    row = case["t"].rows[17]
    case["t"].change(delete=[row], insert=[(row[0], row[1] + 1)])
    report = case.check(view, sql)
    assert report.method == "incremental"
    kept = before & {f.path for f in view._result.files()}
    if kind != "doubles":  # a footer does not say whether NaN is there: they are clustered by the sum
        assert len(kept) >= len(before) - 2
        assert f"of {len(before)} files" in report.published
    for _ in range(3):
        gone = draw.sample(case["t"].rows, 4)
        case["t"].change(delete=gone, insert=[(k, 1) for k, _ in gone[:2]] + [(None, 3)])
        case.check(view, sql)


def test_a_result_that_only_grows_is_appended_to(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": pa.schema([("k", pa.int32())])})
    case["t"].change(insert=[(i,) for i in range(20)])
    sql = "SELECT k, k + 1 AS n FROM t WHERE k % 2 = 0"
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    before = {f.path for f in view._result.files()}
    case["t"].change(insert=[(100,), (101,)])
    report = case.check(view, sql)
    assert report.published == "appended"
    assert report.bytes_written > 0
    assert before < {f.path for f in view._result.files()}


def test_a_change_that_cancels_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": pa.schema([("k", pa.int32()), ("x", pa.int32())])})
    case["t"].change(insert=[(i, i) for i in range(20)])
    sql = "SELECT k, count(*) AS n FROM t GROUP BY k"
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    case["t"].change(delete=[(3, 3)], insert=[(3, 4)])
    report = case.check(view, sql)
    assert (report.published, report.bytes_written) == ("nothing changed", 0)
