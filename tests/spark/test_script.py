"""Scripts: what is written down is built in the JVM, once, and one mistake does not spoil the rest."""

from __future__ import annotations

import gc

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession

from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst
from headrace.spark.measures import Measures
from headrace.spark.script import Script

LIST = "java.util.ArrayList"


@pytest.fixture
def script(spark: SparkSession) -> Script:
    return Script(spark._jvm)


def test_results_are_used_by_later_instructions(script: Script) -> None:
    text = script.new("java.lang.String", "abc").concat("def")
    assert script.value(text.length()) == 6
    assert script.value(text) == "abcdef"


def test_sequences_modules_and_statics(script: Script) -> None:
    some = script.static("scala.Option", "apply", script.seq([1, "two", None]))
    assert script.value(some.get().size()) == 3
    assert script.value(script.module("scala.None").isEmpty()) is True


def test_an_object_of_py4j_can_be_used(script: Script, spark: SparkSession) -> None:
    names = spark._jvm.java.util.ArrayList()
    names.add("x")
    assert script.value(script.call(names, "contains", "x")) is True


def test_a_failing_instruction_leaves_the_others_done(script: Script) -> None:
    good = script.new("java.lang.String", "kept")
    bad = script.new(LIST, "not a size")
    later = good.length()
    with pytest.raises(Py4JJavaError, match="NoSuchMethodException"):
        script.value(bad)
    assert script.value(later) == 4


def test_an_error_is_sparks_own(spark: SparkSession) -> None:
    c = Catalyst(spark)
    row = c.put(spark.range(1)._jdf.queryExecution().analyzed())
    plan = c.project([c.named(Attr("y", "y", "double"), "cast(1 as double) / 0")], row)
    with pytest.raises(ArithmeticException):
        c.collect(plan)


def test_what_nobody_holds_is_forgotten(script: Script) -> None:
    held = script.new("java.lang.String", "held")
    number = script.new("java.lang.String", "dropped")._number
    gc.collect()
    assert script.value(held) == "held"
    with pytest.raises(Py4JJavaError, match="there is no result"):
        script.value(script.itself.know([number]))
    assert script.value(held.length()) == 4


def test_collected_rows_are_what_spark_says(spark: SparkSession) -> None:
    c = Catalyst(spark)
    frame = spark.sql(
        "SELECT id, id * 1.5 AS x, array(id, NULL) AS a, timestamp'2024-02-29 12:00:00' AS t FROM range(5)"
    )
    rows = c.collect(c.measure("tvr7", c.measure("out", c.put(frame._jdf.queryExecution().analyzed()))))
    assert len(rows) == 5
    assert Measures().observed(rows.observed) == {"out": [5], "tvr7": [5]}
    assert rows.arrow().to_pylist() == frame.toArrow().to_pylist()
    again = c.collect(rows.relation())
    assert again.arrow().equals(rows.arrow())


def test_the_settings_of_the_session_count(spark: SparkSession) -> None:
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    c = Catalyst(spark)
    c.work_in(session, single=True)
    for zone, hour in (("UTC", "00"), ("Asia/Tokyo", "09")):
        session.conf.set("spark.sql.session.timeZone", zone)
        frame = session.sql("SELECT date_format(timestamp_seconds(id * 86400), 'HH') AS h FROM range(1)")
        assert c.collect(c.put(frame._jdf.queryExecution().analyzed())).arrow().to_pylist() == [{"h": hour}]
