"""Constants that Spark prints alike are told apart: in one query, and from one definition to the next."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from maintained import Maintained
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr

TABLE = {"t": pa.schema([("id", pa.int32()), ("s", pa.string())])}
ROWS = [(1, "a"), (1, "b"), (2, "#12"), (3, "#23"), (4, None), (5, "a,b"), (6, "null")]

# Two expressions that Spark prints alike.
ALIKE = {
    "a number after a hash": ("s = '#12'", "s = '#23'"),
    "a text that says null": ("if(id > 2, 'null', NULL)", "if(id > 2, NULL, 'null')"),
    "a constant text that says null": ("'null'", "CAST(NULL AS STRING)"),
    "a comma in a text": ("concat(s, 'x, y')", "concat(s, 'x', ', ', 'y')"),
    "a separator in a text": ("concat(s, 'x, y')", "concat(s, 'x', 'y')"),
    "a list in a text": ("s IN ('a,b', 'null')", "s IN ('a', 'b', 'null')"),
    "the type of a number": ("hash(s, 1)", "hash(s, 1L)"),
    "a quote in a text": ("concat(s, 'x\\', \\'y')", "concat(s, 'x\\'', '\\'y')"),
}


def maintain(spark: SparkSession, folder: Path, sql: str) -> None:
    """A view as Spark has it, while rows come and go."""
    case = Maintained(spark, folder, TABLE)
    case["t"].change(insert=ROWS[:5])
    view = case.warehouse.view("v", sql)
    for insert, delete in (([], []), (ROWS[5:], ROWS[:1]), (ROWS[:3], ROWS[3:5])):
        case["t"].change(insert=insert, delete=delete)
        view.refresh()
        same_rows(view.read(), case.truth(sql))


@pytest.mark.parametrize("name", ["a text that says null", "a separator in a text", "the type of a number"])
def test_in_one_query(spark: SparkSession, tmp_path: Path, name: str) -> None:
    one, other = ALIKE[name]
    sql = f"SELECT {one} AS e, count(*) AS n FROM t GROUP BY 1 UNION ALL SELECT {other}, count(*) FROM t GROUP BY 1"
    maintain(spark, tmp_path, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, s FROM t WHERE s <> '#12' AND s <> '#23'",
        "SELECT id, sum(if(s = '#12', 1, 0)) AS a, sum(if(s = '#23', 1, 0)) AS b FROM t GROUP BY id",
        "SELECT count(DISTINCT if(s = '#12', id, 0)) AS a, count(DISTINCT if(s = '#23', id, 0)) AS b FROM t",
        "SELECT id, sum(1) FILTER (WHERE s = '#12') AS a, sum(1) FILTER (WHERE s = '#23') AS b FROM t GROUP BY id",
        "SELECT l.id FROM t AS l JOIN t AS r ON l.id = r.id AND l.s || r.s <> '#12#12' AND l.s || r.s <> '#23#23'",
    ],
)
def test_side_by_side(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    maintain(spark, tmp_path, sql)


@pytest.mark.parametrize("name", ALIKE)
def test_from_one_definition_to_the_next(spark: SparkSession, tmp_path: Path, name: str) -> None:
    case = Maintained(spark, tmp_path, TABLE)
    case["t"].change(insert=ROWS)
    for column in ALIKE[name]:
        sql = f"SELECT {column} AS e, count(*) AS n FROM t GROUP BY 1"
        view = case.warehouse.view("v", sql)
        view.refresh()
        same_rows(view.read(), case.truth(sql))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, lag(s, 1, '{}') OVER (PARTITION BY id ORDER BY s) AS e FROM t",
        "SELECT id, e FROM t LATERAL VIEW explode(split(concat(s, '{}'), '#')) AS e",
        "SELECT id, e FROM t JOIN VALUES ('{}') AS c (e)",
        "SELECT id, collect_list(concat(s, '{}')) AS e FROM t GROUP BY id",
    ],
)
def test_inside_other_operators(spark: SparkSession, tmp_path: Path, query: str) -> None:
    case = Maintained(spark, tmp_path, TABLE)
    case["t"].change(insert=ROWS)
    for text in ("a#12", "a#23", "null"):
        view = case.warehouse.view("v", query.format(text))
        view.refresh()
        same_rows(view.read(), case.truth(query.format(text)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT transform(array(id, 2), x -> x + 1) AS a FROM t",
        "SELECT id, row_number() OVER (PARTITION BY s ORDER BY id) AS n FROM t",
        "SELECT id, e FROM t LATERAL VIEW explode(split(s, ',')) AS e",
        "SELECT id FROM t AS o WHERE id IN (SELECT id FROM t WHERE t.s <> o.s)",
        "SELECT (SELECT max(id) FROM t) - id AS d FROM t",
        "SELECT s, count(DISTINCT id) AS n, max(struct(id, s)) AS m FROM t GROUP BY s WITH ROLLUP",
        "SELECT id, c FROM t JOIN VALUES (1, 'x'), (2, NULL) AS v (k, c) ON id = k",
        "SELECT id FROM t JOIN (SELECT NULL AS n) AS nothing ON id = n",
        "SELECT half(id) AS h FROM t",
    ],
)
def test_one_query_has_one_name(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    """Read again, when Spark has given out other numbers, it is the same query with the same states."""
    spark.udf.register("half", lambda n: n // 2, "int")
    case = Maintained(spark, tmp_path, TABLE)
    case["t"].change(insert=ROWS)
    case.warehouse.view("v", sql).refresh()
    case["t"].change(insert=ROWS[:2])
    again = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    again.source("t", hr.Folder(case["t"].folder, changes=True))
    view = again.view("v", sql)
    assert view.refresh().method in ("incremental", "unchanged")
    same_rows(view.read(), case.truth(sql))
