"""The judge is judged first: for each pair it must accept, a near twin it must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession


def bag(spark: SparkSession, columns: str, *rows: str) -> DataFrame:
    """The rows, given as SQL, under these columns: bag(spark, "a, b", "1, 'x'", "2, 'y'")."""
    return spark.sql(" UNION ALL ".join(f"SELECT {row}" for row in rows)).toDF(*columns.split(", "))


@contextmanager
def refused(*words: str) -> Iterator[None]:
    with pytest.raises(AssertionError) as error:
        yield
    for word in words:
        assert word in str(error.value)


# name, what is there, what is the same, what is not
TWINS = [
    ("order", ["1, 'a'", "2, 'b'"], ["2, 'b'", "1, 'a'"], ["2, 'a'", "1, 'b'"]),
    ("duplicates", ["1", "1", "2"], ["2", "1", "1"], ["1", "2", "2"]),
    ("null", ["1, NULL", "NULL, 1"], ["NULL, 1", "1, NULL"], ["1, NULL", "1, 1"]),
    ("decimal", ["1.10", "2.20"], ["2.20", "1.10"], ["2.20", "1.11"]),
    ("binary", ["X'00ff'", "X''"], ["X''", "X'00ff'"], ["X''", "X'00fe'"]),
    ("date", ["DATE'2024-02-29'"], ["DATE'2024-02-29'"], ["DATE'2024-03-01'"]),
    ("time span", ["INTERVAL '3' DAY"], ["INTERVAL '3' DAY"], ["INTERVAL '4' DAY"]),
    ("month span", ["INTERVAL '3' MONTH"], ["INTERVAL '3' MONTH"], ["INTERVAL '4' MONTH"]),
    ("variant", ["parse_json('[1, 2]')"], ["parse_json('[1,2]')"], ["parse_json('[2,1]')"]),
    ("array", ["array(1, 2)"], ["array(1, 2)"], ["array(2, 1)"]),
    ("struct", ["struct(1, 'a')"], ["struct(1, 'a')"], ["struct(1, 'b')"]),
    ("repeated field", ["struct(1 AS a, 2 AS a)"], ["struct(1 AS a, 2 AS a)"], ["struct(2 AS a, 1 AS a)"]),
    ("map", ["map('a', 1, 'b', 2)"], ["map('b', 2, 'a', 1)"], ["map('a', 2, 'b', 1)"]),
    ("map in array", ["array(map(1, int(NULL)))"], ["array(map(1, int(NULL)))"], ["array(map(1, 0))"]),
    ("double", ["1D, 0.1D + 0.2D"], ["1D, 0.3D"], ["1D, 0.3001D"]),
    ("float", ["float(1)"], ["float(1.0000001)"], ["float(1.00001)"]),
    ("tiny", ["1e-12D"], ["0D"], ["1e-8D"]),
    ("huge", ["1e18D"], ["1e18D + 1024"], ["1.0001e18D"]),
    ("nan", ["double('NaN')", "1D"], ["1D", "double('NaN')"], ["1D", "NULL"]),
    ("infinity", ["double('inf')", "1D"], ["1D", "double('inf')"], ["1D", "double('-inf')"]),
    ("zero", ["0D"], ["-0D"], ["double(NULL)"]),
    ("numbers move together", ["1D, 2D", "3D, 4D"], ["3D, 4D", "1D, 2D"], ["1D, 4D", "3D, 2D"]),
    ("numbers of a group", ["'a', 1D", "'b', 2D"], ["'b', 2D", "'a', 1D"], ["'a', 2D", "'b', 1D"]),
    ("sorted apart", ["1D, 5D", "1.0000000000001D, 3D"], ["1D, 3D", "1D, 5D"], ["1D, 3D", "1D, 3D"]),
    ("close duplicates", ["0.3D", "0.1D + 0.2D"], ["0.3D", "0.3D"], ["0.3D", "0.4D"]),
    ("double in array", ["array(0.1D + 0.2D, NULL)"], ["array(0.3D, NULL)"], ["array(NULL, 0.3D)"]),
    ("double in struct", ["struct(0.1D + 0.2D, 1)"], ["struct(0.3D, 1)"], ["struct(0.3D, 2)"]),
    (
        "double in map",
        ["map('a', 0.1D + 0.2D, 'b', 1D)"],
        ["map('b', 1D, 'a', 0.3D)"],
        ["map('a', 1D, 'b', 0.3D)"],
    ),
]


@pytest.mark.parametrize(("there", "same", "other"), [t[1:] for t in TWINS], ids=[t[0] for t in TWINS])
def test_twins(spark: SparkSession, there: list[str], same: list[str], other: list[str]) -> None:
    width = len(spark.sql(f"SELECT {there[0]}").columns)
    columns = ", ".join(f"c{i}" for i in range(width))
    actual = bag(spark, columns, *there)
    same_rows(actual, bag(spark, columns, *same))
    with refused("the rows differ", "missing: ", "surplus: "):
        same_rows(actual, bag(spark, columns, *other))


def test_empty(spark: SparkSession) -> None:
    rows = bag(spark, "a", "1")
    same_rows(rows.where("a > 1"), rows.where("a < 1"))
    with refused("1 expected, 0 actual", "missing: 1", "a=1", "surplus: none"):
        same_rows(rows.where("a > 1"), rows)


def test_a_result_has_columns(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no columns"):
        same_rows(spark.range(2).select(), spark.range(3).select())


def test_names_and_types_count(spark: SparkSession) -> None:
    rows = bag(spark, "a", "1")
    with refused("the columns differ", "expected: b int", "actual:   a int"):
        same_rows(rows, bag(spark, "b", "1"))
    with refused("expected: a bigint", "actual:   a int"):
        same_rows(rows, bag(spark, "a", "1L"))
    with refused("expected: a decimal(3,2)", "actual:   a decimal(2,1)"):
        same_rows(bag(spark, "a", "1.0"), bag(spark, "a", "1.00"))


def test_nullability_does_not_count(spark: SparkSession) -> None:
    same_rows(
        spark.sql("SELECT 1 AS a, array(1) AS b"),
        bag(spark, "a, b", "1, array(1)", "2, array(NULL)").where("a = 1"),
    )


def test_two_columns_of_one_name(spark: SparkSession) -> None:
    same_rows(spark.sql("SELECT 1 AS a, 2 AS a"), spark.sql("SELECT 1 AS a, 2 AS a"))
    with refused("a=2, a=1"):
        same_rows(spark.sql("SELECT 1 AS a, 2 AS a"), spark.sql("SELECT 2 AS a, 1 AS a"))


def test_without_tolerance_numbers_must_be_equal(spark: SparkSession) -> None:
    nan, near = bag(spark, "a", "double('NaN')", "0.3D"), bag(spark, "a", "0.1D + 0.2D", "double('NaN')")
    same_rows(nan, nan.orderBy("a"), float_tolerance=False)
    with refused("a=0.30000000000000004", "a=0.3\n"):
        same_rows(nan, near, float_tolerance=False)


def test_an_hour_that_the_clock_shows_twice(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        before, after = (f"SELECT timestamp_seconds({t}) AS t" for t in (1730611800, 1730615400))
        same_rows(spark.sql(before), spark.sql(before))
        with refused("05:30:00", "06:30:00"):
            same_rows(spark.sql(before), spark.sql(after))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_long_difference_is_cut(spark: SparkSession) -> None:
    with refused("missing: 13", "… and 3 more", "surplus: 1\n    id=0\n"):
        same_rows(spark.range(3), spark.range(1, 16))
