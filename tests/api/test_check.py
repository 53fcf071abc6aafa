"""A check finds what is wrong with a result, and nothing where nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from fault.scene import Scene
from oracle import same_rows
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.spark.compare import differences


def test_a_good_view_agrees_and_a_spoilt_one_does_not(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    with pytest.raises(hr.StateError) as early:
        view.check()
    assert early.value.code == "NOT_REFRESHED"
    view.refresh()
    scene.churn()
    view.refresh()
    scene.churn()  # what was not read yet does not count
    good = view.check()
    assert good.agrees, good
    assert (good.run, good.rows) == (2, view.read().count())
    row = {"customer": "x", "orders": 1, "amount": 2, "refunded": None, "amounts": 1}
    write_deltalake(
        str(view._result.path), pa.Table.from_pylist([row], schema=view._result.arrow_schema), mode="append"
    )
    spoilt = view.check()
    assert (spoilt.agrees, spoilt.missing, spoilt.surplus) == (False, 0, 1)
    assert spoilt.surplus_rows == (row,)
    assert "surplus:  customer='x'" in str(spoilt)


def test_another_definition_is_not_compared(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    warehouse = scene.view().warehouse
    warehouse.view("n", "SELECT count(*) AS n FROM orders").refresh()
    with pytest.raises(hr.StateError) as changed:
        warehouse.view("n", "SELECT count(*) + 1 AS n FROM orders").check()
    assert changed.value.code == "DEFINITION_CHANGED"
    dice = warehouse.view("dice", "SELECT rand() AS r FROM orders", refresh_policy="FULL")
    dice.refresh()
    with pytest.raises(hr.QueryError) as random:
        dice.check()
    assert random.value.code == "NOT_DETERMINISTIC"


def test_a_view_given_as_a_data_frame(spark: SparkSession, tmp_path: Path) -> None:
    """With a join of a source with itself and a subquery, both over stand-ins."""
    scene = Scene(spark, tmp_path)
    warehouse = scene.view().warehouse
    orders, refunds = warehouse.table("orders"), warehouse.table("refunds")
    most = orders.groupBy("customer").agg(F.max("amount").alias("amount"))
    refunds.createOrReplaceTempView("refunds_of_the_test")
    some = spark.sql("SELECT avg(cost) AS mean FROM refunds_of_the_test")
    frame = orders.join(most, ["customer", "amount"]).where(F.col("amount") > some.scalar()).select("id", "customer")
    view = warehouse.view("top", frame)
    view.refresh()
    scene.churn()
    view.refresh()
    truth = """
        SELECT id, orders.customer FROM orders JOIN
        (SELECT customer, max(amount) AS amount FROM orders GROUP BY customer) AS most
        ON orders.customer = most.customer AND orders.amount = most.amount
        WHERE orders.amount > (SELECT avg(cost) FROM refunds)
    """
    same_rows(view.recompute(), scene.truth(truth))
    assert view.recompute().count() > 0
    assert view.check().agrees


def values(spark: SparkSession, columns: str, rows: list[tuple[Any, ...]]) -> Any:
    return spark.createDataFrame(rows, columns)


def test_numbers_may_differ_by_rounding_alone(spark: SparkSession) -> None:
    columns = "k int, x double, m map<string, double>"
    ours = values(
        spark, columns, [(1, 0.1 + 0.2, None), (1, 5.0, None), (2, 1.0, {"a": 1.0, "b": 2.0}), (3, None, None)]
    )
    theirs = values(spark, columns, [(1, 0.3, None), (1, 5.0, None), (2, 1.0, {"b": 2.0, "a": 1.0}), (3, None, None)])
    assert differences(ours, theirs, 5) == ((0, []), (0, []))
    other = values(spark, columns, [(1, 0.3001, None), (1, 5.0, None), (2, 1.0, {"b": 2.0}), (3, 0.0, None)])
    (missing, rows), (surplus, _) = differences(ours, other, 2)
    assert (missing, surplus) == (3, 3)
    assert len(rows) == 2
    assert {row["k"] for row in rows} <= {1, 2, 3}


def test_rows_count_as_often_as_they_occur(spark: SparkSession) -> None:
    ours, theirs = (values(spark, "`a b` int", [(1,)] * n) for n in (2, 9))
    assert differences(ours, theirs, 3) == ((7, [{"a b": 1}] * 3), (0, []))
