"""A view over tables that it names itself, compared with the same query run by Spark alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

import headrace as hr


class Kept:
    """The view ``v`` of a warehouse, and Spark's answer in a session that has seen no file yet."""

    def __init__(self, session: SparkSession, folder: Path, query: str, **options: Any) -> None:
        self.session = session
        self.query = query
        self.warehouse = hr.Warehouse(folder / "warehouse", spark=session)
        self.view = self.warehouse.view("v", query, **options)

    def check(self, method: str, code: str | None = None) -> hr.RefreshReport:
        """Refresh and compare, both what was maintained and what is computed from scratch."""
        report = self.view.refresh()
        assert (report.method, report.code) == (method, code)
        truth = self.truth()
        same_rows(self.view.read(), truth)
        same_rows(self.view.recompute(), truth)
        return report

    def truth(self) -> DataFrame:
        return SparkSession(self.session.sparkContext, self.session._jsparkSession.cloneSession()).sql(self.query)
