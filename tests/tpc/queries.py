"""The 22 TPC-H and 99 TPC-DS queries, as `ibis-framework` ships them for DuckDB, made to run on Spark.

Two kinds of change, each listed here and nowhere else:

- DIALECT: what Spark spells otherwise or would raise an error for.
- WIDER: substitution parameters (the values that TPC's own query generator draws) that hardly any row of a
  few thousand meets, replaced by wider ones, so that the answer is not empty all the time.

`Query.ordered` is the text whose answer is the expected one. A query that ends in ORDER BY … LIMIT may
choose among rows that tie; Headrace orders those by all output columns, left to right, ascending, NULLs
first. SQL can say just that: the numbers of all output columns are appended to the ORDER BY list, as
`ORDER BY revenue DESC, 1, 2, 3 LIMIT 10`. No window function in these queries depends on ties: they use
rank(), whole partitions, or running sums over dates that a GROUP BY made unique.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LONG = os.environ.get("HEADRACE_LONG") == "1"

COUNTS = {"h": 22, "ds": 99}

# A fixed spread that runs by default, chosen for its operators.
SPREAD = {
    "h": {
        3: "join, aggregate, LIMIT",
        13: "left outer join, aggregate over aggregate",
        16: "NOT IN with NULLs, COUNT DISTINCT",
        21: "EXISTS and NOT EXISTS with inequality, self-joins",
    },
    "ds": {
        1: "correlated average, shared subplan",
        9: "fifteen scalar subqueries",
        51: "running window, full outer join",
        67: "ROLLUP over eight keys, rank by partition",
    },
}

Changes = dict[tuple[str, int], list[tuple[str, str]]]

# (benchmark, number): [(what the text says, what Spark is given)]
DIALECT: Changes = {
    # All that was sold in a year may have come back.
    ("ds", 75): [("CAST(prev_yr.sales_cnt AS DECIMAL(17,2))", "nullif(CAST(prev_yr.sales_cnt AS DECIMAL(17,2)), 0)")],
}

WIDER: Changes = {
    ("ds", 6): [("count(*) >= 10", "count(*) >= 2")],
    ("ds", 8): [("count(*) > 10", "count(*) > 1")],
    ("ds", 10): [("'Jefferson County'", "'Williamson County'"), ("1+3", "12")],
    ("ds", 13): [
        ("hd_dep_count = 1", "hd_dep_count >= 1"),
        ("BETWEEN 100 AND 200", "BETWEEN -9000 AND 9000"),
        ("BETWEEN 50 AND 250", "BETWEEN -9000 AND 9000"),
    ],
    ("ds", 18): [("'ND'", "'TN'"), ("'OK'", "'GA'")],
    ("ds", 23): [(">4", ">1")],
    ("ds", 31): [("d_year = 2000", "d_year >= 2000")],
    ("ds", 34): [("BETWEEN 15 AND 20", "BETWEEN 5 AND 20")],
    ("ds", 39): [("END > 1", "END > 0.3")],
    ("ds", 40): [("BETWEEN 0.99 AND 1.49", "BETWEEN 0.99 AND 9.49")],
    ("ds", 41): [("BETWEEN 738 AND 738+40", "BETWEEN 1 AND 1000")],
    ("ds", 54): [
        ("AND i_class = 'maternity'", ""),
        ("AND d_moy = 12 AND d_year = 1998 )", "AND d_year = 1998)"),
    ],
    ("ds", 58): [("0.9 *", "0.1 *"), ("1.1 *", "10 *")],
    ("ds", 61): [("d_moy = 11", "d_moy >= 9")],
    ("ds", 64): [
        ("i_color IN (", "i_color NOT IN ("),
        ("AND i_current_price BETWEEN 64 AND 64 + 10 AND i_current_price BETWEEN 64 + 1 AND 64 + 15", ""),
    ],
    ("ds", 72): [("d1.d_year = 1999", "d1.d_year >= 1999"), ("'D'", "'S'")],
    ("ds", 83): [
        (
            "IN (DATE '2000-06-30', DATE '2000-09-27', DATE '2000-11-17')",
            "BETWEEN DATE '2000-06-30' AND DATE '2000-11-17'",
        )
    ],
    ("ds", 84): [("38128 + 50000", "38128 + 150000")],
    ("ds", 85): [
        ("d_year = 2000", "d_year >= 1998"),
        ("BETWEEN 100 AND 200", "BETWEEN -9000 AND 9000"),
        ("BETWEEN 150 AND 300", "BETWEEN -9000 AND 9000"),
        ("BETWEEN 50 AND 250", "BETWEEN -9000 AND 9000"),
    ],
    ("ds", 91): [
        ("d_year = 1998 AND d_moy = 11", "d_year >= 1998"),
        ("'Unknown%'", "'%0%'"),
        ("= -7", "< -4"),
    ],
    ("ds", 94): [("= 'IL'", "IN ('GA', 'IL', 'TN', 'TX')"), ("'1999-04-02'", "'1999-07-02'")],
}

# Tables whose names occur in the text, but only as those of a column or of a subquery.
NOT_READ = {("ds", 49): {"item", "store"}, ("ds", 51): {"store"}}


@dataclass(frozen=True)
class Query:
    benchmark: str
    number: int
    sql: str
    tables: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.benchmark}{self.number:02}"

    def ordered(self, columns: int) -> str:
        """The text with ties in its last ORDER BY … LIMIT decided by all of its output columns."""
        found = re.search(r"\bORDER\s+BY\b(?!.*\bORDER\s+BY\b)(?P<keys>.*)(?P<limit>\bLIMIT\s+\d+)$", self.sql, RE)
        if not found:
            return self.sql
        ties = "".join(f", {i + 1}" for i in range(columns))
        return f"{self.sql[: found.end('keys')].rstrip()}{ties}\n{found['limit']}"


RE = re.IGNORECASE | re.DOTALL


@cache
def query(benchmark: str, number: int) -> Query:
    folder = files("ibis") / "backends" / "tests" / "tpc" / "queries" / "duckdb" / benchmark
    sql = (folder / f"{number:02}.sql").read_text(encoding="utf-8").strip().rstrip(";").rstrip()
    for changes in (DIALECT, WIDER):
        for old, new in changes.get((benchmark, number), []):
            spaced = r"\s*".join(map(re.escape, old.split()))
            sql, found = re.subn(spaced, new, sql)
            if not found:
                raise ValueError(f"the text of {benchmark}{number:02} has no {old!r} any more")
    tables = _tables(benchmark, sql) - NOT_READ.get((benchmark, number), set())
    return Query(benchmark, number, sql, tuple(sorted(tables)))


def queries(benchmark: str, numbers: Iterable[int] = ()) -> list[Query]:
    return [query(benchmark, n) for n in numbers or range(1, COUNTS[benchmark] + 1)]


@cache
def words() -> frozenset[str]:
    """All names in all texts, those of columns among them."""
    texts = (q.sql for benchmark in COUNTS for q in queries(benchmark))
    return frozenset(name.lower() for sql in texts for name in re.findall(r"\w+", sql))


TABLES = {
    "h": ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"),
    "ds": (
        *("call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address"),
        *("customer_demographics", "date_dim", "household_demographics", "income_band", "inventory", "item"),
        *("promotion", "reason", "ship_mode", "store", "store_returns", "store_sales", "time_dim"),
        *("warehouse", "web_page", "web_returns", "web_sales", "web_site"),
    ),
}


def _tables(benchmark: str, sql: str) -> set[str]:
    """The tables named after FROM, JOIN or a comma."""
    named = re.findall(r"(?:\bFROM\s*\(?|\bJOIN\s|,)\s*(\w+)", sql, RE)
    return {name.lower() for name in named} & set(TABLES[benchmark])
