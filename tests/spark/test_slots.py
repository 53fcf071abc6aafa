"""Plans are run again over other rows: planned once, and never with the rows, counts or settings of an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headrace as hr
from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst, Collected

A, B = Attr("1", "a", "bigint"), Attr("2", "b", "bigint")


def small(spark: SparkSession) -> Catalyst:
    c = Catalyst(spark)
    c.restart()
    c.work("small")
    return c


def numbers(spark: SparkSession, c: Catalyst, *values: int) -> Collected:
    frame = spark.createDataFrame([(v,) for v in values], "a bigint")
    return c.collect(c.put(frame._jdf.queryExecution().analyzed()))


def column(rows: Collected) -> list[Any]:
    return sorted(rows.arrow().column(0).to_pylist())


def test_other_rows_without_planning_again(spark: SparkSession) -> None:
    c = small(spark)
    for values in ([1, 2, 3], [4, 5], [], [2, 2]):
        c.restart()
        leaf = c.slot_of_rows("x", numbers(spark, c, *values), [A])
        before = c.runs_again
        assert column(c.collect(c.filter("c1 > 1", leaf))) == [v for v in values if v > 1]
        assert c.runs_again - before == (values != [1, 2, 3])


def test_counts_are_of_one_run(spark: SparkSession) -> None:
    c = small(spark)
    for values in ([1, 2, 3], [4, 5], [6]):
        c.restart()
        leaf = c.slot_of_rows("x", numbers(spark, c, *values), [A])
        assert f"all -> [{len(values)}]" in c.collect(c.measure("all", leaf)).observed


def test_two_places_are_two_leaves(spark: SparkSession) -> None:
    c = small(spark)
    for left, right in (([1, 2, 3], [2, 3, 4]), ([7, 8], [8, 9])):
        c.restart()
        one = c.slot_of_rows("x", numbers(spark, c, *left), [A])
        other = c.slot_of_rows("y", numbers(spark, c, *right), [B])
        joined = c.join(one, other, "inner", c.equal(c.attr(A), c.attr(B)))
        assert column(c.collect(joined)) == sorted(set(left) & set(right))


def test_jobs_get_the_rows_themselves(spark: SparkSession) -> None:
    c = small(spark)
    leaf = c.slot_of_rows("x", numbers(spark, c, 1, 2, 3), [A])
    plan = c.filter("c1 > 1", leaf)
    assert sorted(r[0] for r in c.frame(plan).collect()) == [2, 3]
    c.work("large")
    assert column(c.collect(plan)) == [2, 3]
    with_python = spark.range(3).mapInPandas(lambda frames: frames, "id bigint")  # no plan that the driver runs itself
    c.work("small")
    both = c.union([leaf, c.put(with_python._jdf.queryExecution().analyzed())])
    assert column(c.collect(both)) == [0, 1, 1, 2, 2, 3]


def test_a_plan_that_failed_is_run_again(spark: SparkSession) -> None:
    c = small(spark)
    text = "if(c1 = 0L, raise_error('no'), c1)"
    for values in ([1, 2], [0], [3]):
        c.restart()
        leaf = c.slot_of_rows("x", numbers(spark, c, *values), [A])
        plan = c.project([c.named(B, text)], leaf)
        if 0 in values:
            with pytest.raises((Py4JJavaError, PySparkException), match="no"):
                c.collect(plan)
        else:
            assert column(c.collect(plan)) == values


def test_rows_are_forgotten_after_a_run(spark: SparkSession) -> None:
    c = small(spark)
    leaf = c.slot_of_rows("x", numbers(spark, c, 1, 2, 3), [A])
    assert column(c.collect(leaf)) == [1, 2, 3]
    c.end()
    assert column(c.collect(leaf)) == []


def test_settings_that_change_are_followed(spark: SparkSession) -> None:
    session = spark.newSession()
    c = small(session)
    sessions = []
    for value in ("1", "2", "2"):
        session.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", value)
        c.restart()
        c.work("small")
        sessions.append(c._session)
        assert c._session.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold") == value
    assert sessions[0] is not sessions[1] is sessions[2]


def test_refreshes_run_the_plans_of_the_one_before(spark: SparkSession, tmp_path: Path) -> None:
    wh = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    source = hr.Rows("k bigint, v bigint")
    wh.source("t", source)
    view = wh.view("v", "SELECT k, sum(v) AS s, max(v) AS m FROM t GROUP BY k")
    source.insert(*((i % 5, i) for i in range(50)))
    view.refresh()
    hits = []
    for number in range(5):
        source.insert((number, 100 + number))
        before = view._engine.catalyst.runs_again
        view.refresh()
        assert view.check().agrees
        hits.append(view._engine.catalyst.runs_again - before)
    assert min(hits[2:]) > 0


def test_what_is_broadcast_is_of_this_run(spark: SparkSession) -> None:
    """A join without an equality broadcasts a side, which Spark does once for a plan."""
    c = small(spark)
    for left, right in (([1, 5], [3]), ([1, 5, 9], [6]), ([2], [1])):
        c.restart()
        one = c.slot_of_rows("x", numbers(spark, c, *left), [A])
        other = c.slot_of_rows("y", numbers(spark, c, *right), [B])
        joined = c.join(one, other, "left anti", c.sql("c1 > c2"))
        assert column(c.collect(joined)) == [v for v in left if v <= right[0]]
