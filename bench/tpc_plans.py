"""The queries of TPC-H and TPC-DS as Headrace's operators: read by Spark once, over tables of a few rows."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from tpc.answers import SETTINGS
from tpc.data import VERSION, base_tables
from tpc.queries import COUNTS, queries

import headrace as hr
from headrace.ir.narrow import narrow
from headrace.ir.rel import Node

# Rows of the largest tables at scale 1, by which a planner tells facts from dimensions.
ROWS = {
    "ds": {
        "store_sales": 2_880_404,
        "catalog_sales": 1_441_548,
        "web_sales": 719_384,
        "inventory": 11_745_000,
        "store_returns": 287_514,
        "catalog_returns": 144_067,
        "web_returns": 71_763,
        "customer": 100_000,
        "customer_address": 50_000,
        "customer_demographics": 1_920_800,
        "date_dim": 73_049,
        "time_dim": 86_400,
        "item": 18_000,
        "catalog_page": 11_718,
        "household_demographics": 7_200,
        "promotion": 300,
    },
    "h": {
        "lineitem": 6_001_215,
        "orders": 1_500_000,
        "partsupp": 800_000,
        "part": 200_000,
        "customer": 150_000,
        "supplier": 10_000,
    },
}
FACTS = {
    *("store_sales", "catalog_sales", "web_sales", "inventory", "store_returns", "catalog_returns", "web_returns"),
    *("lineitem", "orders", "partsupp", "customer", "part"),
}
RETURNS = {"store_returns", "catalog_returns", "web_returns"}


def rows(benchmark: str, table: str) -> float:
    return float(ROWS[benchmark].get(table, 30))


def plans(benchmark: str, numbers: Iterable[int] = ()) -> Iterator[tuple[str, Node]]:
    """The name of each query, and its operators."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    folder = Path(tempfile.gettempdir()) / "headrace-tpc"
    base_tables(benchmark, folder)
    home = folder / f"{benchmark}-{VERSION}"  # beside it may be what an interrupted run has left
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    with tempfile.TemporaryDirectory(prefix="headrace-plans-") as temporary:
        warehouse = hr.Warehouse(temporary, spark=spark)
        for file in home.glob("*.parquet"):
            table = Path(temporary) / "data" / file.stem
            table.mkdir(parents=True)
            (table / file.name).symlink_to(file)
            warehouse.source(file.stem, hr.Folder(str(table)))
        for query in queries(benchmark, numbers or range(1, COUNTS[benchmark] + 1)):
            known = warehouse._readers(query.name)
            read = warehouse._engine.query(query.name, query.sql, known, warehouse._find)
            yield query.name, narrow(read.root)
