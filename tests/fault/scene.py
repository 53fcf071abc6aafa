"""What the tests of crashes share: two tables, a view with several states over them, one that reads it, and a judge."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
from maintained import Maintained, Row
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr

TABLES = {
    "orders": pa.schema([("id", pa.int32()), ("customer", pa.string()), ("amount", pa.int64())]),
    "refunds": pa.schema([("id", pa.int32()), ("cost", pa.int64())]),
}
SQL = """
    SELECT customer, count(*) AS orders, sum(amount) AS amount, sum(cost) AS refunded, count(DISTINCT amount) AS amounts
    FROM orders LEFT JOIN refunds ON orders.id = refunds.id GROUP BY customer
"""
ABOVE = "SELECT customer, refunded FROM v WHERE orders > 2"


class Scene(Maintained):
    """Tables that change at random, the view over them and, where asked for, one that reads it."""

    def __init__(self, spark: SparkSession, folder: Path, seed: int = 0, *, above: bool = False) -> None:
        super().__init__(spark, folder, TABLES)
        self.random = random.Random(seed)
        self._above = above
        self._next = 0
        self.churn()

    def churn(self, rows: int = 6) -> None:
        """Some inserts, updates and deletes in both tables."""
        draw = self.random
        made = [(self._next + i, draw.choice("abc"), draw.randint(1, 9)) for i in range(rows)]
        self._next += rows
        for name, new in (("orders", made), ("refunds", [(i, a) for i, _, a in made if draw.random() < 0.5])):
            old = [r for r in self[name].rows if draw.random() < 0.2]
            moved: list[Row] = [(*r[:-1], r[-1] + 1) for r in old if draw.random() < 0.5]
            self[name].change(delete=old, insert=[*new, *moved])

    def view(self) -> hr.View:
        """The view as a process sees it that starts now."""
        warehouse = hr.Warehouse(self.folder / "warehouse", spark=self.spark)
        for name, table in self.tables.items():
            warehouse.source(name, hr.Folder(table.folder, changes=True))
        view = warehouse.view("v", SQL)
        if self._above:
            warehouse.view("above", ABOVE)
        return view

    def judge(self, view: hr.View) -> None:
        """The view is Spark's answer, so is the one above it, and nothing lies around that no version needs."""
        same_rows(view.read(), self.truth(SQL))
        if self._above:
            above = view.warehouse.views["above"]
            above.refresh()
            same_rows(above.read(), self.truth(f"WITH v AS ({SQL}) {ABOVE}"))
        assert view._result.leftovers(view.warehouse.retain) == []
        assert [state.name for state in view._states.values() if state.table.leftovers(1)] == []
