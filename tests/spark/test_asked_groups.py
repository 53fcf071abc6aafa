"""Of a correlated subquery only the groups are kept that are asked for, whoever begins or ceases to ask."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from maintained import Maintained
from pyspark.sql import SparkSession

TABLES = {
    "lines": pa.schema([("part", pa.int64()), ("q", pa.int32()), ("price", pa.decimal128(9, 2))]),
    "parts": pa.schema([("id", pa.int64()), ("brand", pa.string())]),
}
QUERIES = {
    "below the mean": """
        SELECT p.id, sum(price) AS s, count(*) AS n FROM lines l JOIN parts p ON p.id = l.part
        WHERE p.brand = 'b' AND q < (SELECT avg(q) FROM lines m WHERE m.part = p.id) GROUP BY p.id""",
    "the cheapest": """
        SELECT p.id, l.q FROM lines l JOIN parts p ON p.id = l.part
        WHERE p.brand LIKE 'b%' AND price = (SELECT min(price) FROM lines m WHERE m.part = p.id)""",
}


@pytest.mark.parametrize("memory", [0, "64m"])
@pytest.mark.parametrize("name", QUERIES)
def test_refreshes_are_right(spark: SparkSession, tmp_path: Path, name: str, memory: int | str) -> None:
    sql, shop = QUERIES[name], Maintained(spark, tmp_path, TABLES, memory=memory)
    lines = [(i % 40 if i % 17 else None, i % 7, i % 11) for i in range(400)]
    shop["lines"].change(insert=lines)
    shop["parts"].change(insert=[(i, "b" if i % 10 == 0 else "a") for i in range(40)] + [(None, "b")])
    view = shop.warehouse.view("v", sql, refresh_policy="INCREMENTAL STRICT")
    shop.check(view, sql)
    groups = next(s for n, s in view._states.items() if n.startswith("partials") and s.table.rows() > 1)
    assert groups.table.rows() <= 4, "of forty parts four are of the brand"
    shop["lines"].change(insert=[(10, 1, 1), (11, 1, 1), (None, 1, 1)], delete=[lines[10], lines[11]])
    shop.check(view, sql)
    shop["parts"].change(insert=[(11, "b"), (20, "b"), (None, "b")])  # one begins to ask, one asks twice
    shop.check(view, sql)
    shop["parts"].change(delete=[(11, "b"), (30, "b")], insert=[(30, "a")])
    shop["lines"].change(insert=[(30, 0, 0), (11, 0, 0)])
    shop.check(view, sql)
    shop["lines"].change(delete=[(30, 0, 0)])
    shop["parts"].change(insert=[(30, "b")])
    shop.check(view, sql)


def test_others_ask_for_all_of_them(spark: SparkSession, tmp_path: Path) -> None:
    sql = """
        WITH means AS (SELECT part, avg(q) * 2 AS mean FROM lines WHERE part IS NOT NULL GROUP BY part)
        SELECT p.id, mean FROM lines l JOIN parts p ON p.id = l.part JOIN means m ON m.part = p.id
        WHERE p.brand = 'b' AND q < mean UNION ALL SELECT part, mean FROM means"""
    shop = Maintained(spark, tmp_path, TABLES)
    shop["lines"].change(insert=[(i % 40, i % 7, i % 11) for i in range(400)])
    shop["parts"].change(insert=[(i, "b" if i % 10 == 0 else "a") for i in range(40)])
    view = shop.warehouse.view("v", sql, refresh_policy="INCREMENTAL STRICT")
    shop.check(view, sql)
    shop["lines"].change(insert=[(10, 1, 1), (11, 1, 1), (99, 1, 1)])
    shop.check(view, sql)
