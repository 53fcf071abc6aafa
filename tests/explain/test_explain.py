"""What explain says of known queries, as golden files that a person can follow.

Write them anew with HEADRACE_GOLDEN=1, and read them before you commit them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tpc.queries import queries

import headrace as hr
from headrace.demo.report import QUERY

GOLDEN = Path(__file__).parent / "golden"

TPCH = {
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, "
    "c_acctbal decimal(15,2), c_mktsegment string, c_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice decimal(15,2), "
    "o_orderdate date, o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(15,2), "
    "l_extendedprice decimal(15,2), l_discount decimal(15,2), l_tax decimal(15,2), l_returnflag string, "
    "l_linestatus string, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, "
    "l_shipmode string, l_comment string",
}
DEMO = {
    "sales": "o_id bigint, category string, price decimal(10,2)",
    "returns": "o_id bigint, cost decimal(10,2)",
}


def explained(spark: SparkSession, folder: Path, tables: dict[str, str], name: str, sql: str) -> str:
    warehouse = hr.Warehouse(folder / "warehouse", spark=spark)
    for table, columns in tables.items():
        (folder / table).mkdir()
        warehouse.source(table, hr.Folder(folder / table, changes=True, schema=columns))
    return warehouse.view(name, sql).explain() + "\n"


def agrees(name: str, text: str) -> None:
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("HEADRACE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("number", [3, 13, 18])
def test_tpch(spark: SparkSession, tmp_path: Path, number: int) -> None:
    (query,) = queries("h", [number])
    agrees(f"tpch_q{number}", explained(spark, tmp_path, TPCH, f"q{number}", query.sql))


def test_the_demo(spark: SparkSession, tmp_path: Path) -> None:
    agrees("demo", explained(spark, tmp_path, DEMO, "summary", QUERY))


def test_explain_is_the_same_in_another_session(spark: SparkSession, tmp_path: Path) -> None:
    """States are found again by name, so names must not depend on what ran before."""
    (query,) = queries("h", [18])
    texts = []
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        texts.append(explained(spark, tmp_path / run, TPCH, "q18", query.sql))
    assert texts[0] == texts[1]
