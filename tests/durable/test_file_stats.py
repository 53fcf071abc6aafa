"""Statistics of files: never too narrow, and left out where a footer does not tell."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.spark.file_stats import file_stats

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("type_", "values", "low", "high"),
    [
        (pa.int32(), [3, None, -1], -1, 3),
        (pa.string(), ["b", "a", "é"], "a", "é"),
        (pa.date32(), [dt.date(2024, 2, 29), dt.date(1969, 1, 1)], "1969-01-01", "2024-02-29"),
        (
            pa.decimal128(30, 2),
            [Decimal("1.10"), Decimal("-12345678901.25")],
            Decimal("-12345678901.25"),
            Decimal("1.10"),
        ),
        (
            pa.timestamp("us", tz="UTC"),
            [dt.datetime(2024, 1, 1, 0, 0, 0, 1500, tzinfo=UTC)],
            "2024-01-01T00:00:00.001Z",
            "2024-01-01T00:00:00.002Z",
        ),
        (
            pa.timestamp("us"),
            [dt.datetime(1960, 1, 1, 0, 0, 0, 1)],
            "1960-01-01T00:00:00.000",
            "1960-01-01T00:00:00.001",
        ),
        (pa.string(), ["x" * 1000], None, None),
        (pa.float64(), [1.0, float("nan")], None, None),
        (pa.decimal128(38, 0), [Decimal(10**30 + 1)], None, None),
        (pa.bool_(), [True, False], None, None),
        (pa.list_(pa.int32()), [[1], [2]], None, None),
        (pa.int32(), [None, None], None, None),
        (pa.int32(), [], None, None),
    ],
    ids=str,
)
def test_ranges(tmp_path: Path, type_: pa.DataType, values: list[Any], low: Any, high: Any) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a name": pa.array(values, type_)}), file)
    found = json.loads(file_stats(file), parse_float=Decimal)
    assert found["numRecords"] == len(values)
    assert (found["minValues"].get("a name"), found["maxValues"].get("a name")) == (low, high)
    if values and not pa.types.is_nested(type_):
        assert found["nullCount"]["a name"] == sum(v is None for v in values)


def test_ranges_go_over_all_row_groups(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"x": pa.array([5, None, None, None, 9, 1], pa.int64())}), file, row_group_size=2)
    found = json.loads(file_stats(file))
    assert (found["minValues"]["x"], found["maxValues"]["x"], found["nullCount"]["x"]) == (1, 9, 3)
