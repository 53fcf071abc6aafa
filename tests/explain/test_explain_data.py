"""The facts that explain tells, as data and as a graph: the same ones, and nothing that was not measured."""

from __future__ import annotations

import json
from pathlib import Path

from fault.scene import Scene
from pyspark.sql import SparkSession

from headrace.planner.dot import dot

LIMITED = "SELECT customer, sum(amount) AS amount FROM orders GROUP BY customer ORDER BY amount LIMIT 2 OFFSET 1"


def test_the_same_facts_as_data(spark: SparkSession, tmp_path: Path) -> None:
    view = Scene(spark, tmp_path).view().warehouse.view("few", LIMITED)
    data = view.explain_data()
    assert json.loads(json.dumps(data)) == data
    assert (data["view"], data["policy"], data["maintained"], data["seconds"]) == ("few", "AUTO", "incremental", {})
    methods = {o["operator"]: o["method"] for o in data["operators"]}
    assert methods["Limit"] == "recompute"
    assert methods["Aggregate"] == "merge"
    (limit,) = (o for o in data["operators"] if o["operator"] == "Limit")
    assert "LIMIT" in limit["reason"]
    assert data["operators"][0]["above"] is None
    assert all(data["operators"][o["above"]]["depth"] == o["depth"] - 1 for o in data["operators"][1:])
    assert {s["bytes"] for s in data["states"]} == {None}
    assert data["steps"][-1]["do"] == "publish"
    view.refresh()
    after = view.explain_data()
    assert all(s["bytes"] > 0 for s in after["states"])
    assert set(after["seconds"]) == {"initial"}
    text = view.explain()
    assert "costs of the alternatives" in text
    assert "from scratch" in text
    assert all(o["text"] in text for o in after["operators"])


def test_a_view_that_is_computed_anew(spark: SparkSession, tmp_path: Path) -> None:
    view = Scene(spark, tmp_path).view().warehouse.view("whole", LIMITED, refresh_policy="FULL")
    data = view.explain_data()
    assert data["maintained"] == "full"
    assert data["states"] == []
    assert "computed anew on every run: its policy is FULL" in view.explain()


def test_the_same_facts_as_a_graph(spark: SparkSession, tmp_path: Path) -> None:
    view = Scene(spark, tmp_path).view().warehouse.view('a "b"', LIMITED)
    data = view.explain_data()
    drawn = dot(data)
    assert drawn.startswith('digraph "a \\"b\\"" {')
    assert drawn.count("{") == drawn.count("}") == 1
    edges = [line for line in drawn.splitlines() if "->" in line and "dashed" not in line]
    assert len(edges) == len(data["operators"])
    assert all(s["name"] in drawn for s in data["states"])
    assert "because a LIMIT" in drawn
