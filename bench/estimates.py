"""How near are estimates to the truth? The rows of all 22 TPC-H queries, expected before any run and counted by DuckDB.

    python bench/estimates.py --scale 0.1 --json build/estimates.json

Nothing is computed by Spark: it reads the queries, files tell of the tables, and formulas of the rest. A LIMIT is left
out on both sides, for everybody knows how many rows it leaves. The factor is how many times too many, or too few.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path
from typing import Annotated, Any

import duckdb
import tpch
import typer
from cuts import place
from rich.console import Console
from rich.table import Table

import headrace as hr
from headrace.cli.terminal import count, ratio
from headrace.ir.rel import Limit, Node, Project
from headrace.ir.time import Reached
from headrace.stats.cardinality import estimate_tree


def bench(
    scale: Annotated[float, typer.Option(help="TPC-H scale factor; 0.1 is 100 MB.")] = 0.1,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the results here as well.")] = None,
    data: Annotated[Path, typer.Option(help="Where data is made and kept.")] = Path("build/bench"),
) -> None:
    """Compare expected rows with counted ones."""
    console = Console(highlight=False)
    base = tpch.cut(data, scale, "random", [0.01], console.print)
    folder = data / "estimates"
    shutil.rmtree(folder, ignore_errors=True)
    warehouse = hr.Warehouse(folder / "warehouse")
    with duckdb.connect() as db:
        for table in tpch.KEYS:
            place(base.base(table), folder / table, "base")
            warehouse.source(table, hr.Folder(folder / table))
            db.execute(f"CREATE VIEW {table} AS SELECT * FROM '{folder / table}/*.parquet'")
        found = [_compared(warehouse, db, name, query) for name, query in tpch.queries().items()]
    shutil.rmtree(folder)
    _show(console, found)
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps({"scale": scale, "queries": found}, indent=2) + "\n")


def _compared(warehouse: hr.Warehouse, db: duckdb.DuckDBPyConnection, name: str, query: str) -> dict[str, Any]:
    view = warehouse.view(name, query)
    reached = Reached({n: source.discover() for n, source in view.sources.items()})
    started = time.perf_counter()
    known = view._knowledge.run(reached, reached, {}, states=False)
    looked = time.perf_counter()
    expected = estimate_tree(_unlimited(view._planner.query), known, {}, {}).rows
    done = time.perf_counter()
    unlimited = re.sub(r"\bLIMIT\s+\d+\s*$", "", query.strip(), flags=re.IGNORECASE)
    counted = db.execute(f"SELECT count(*) FROM ({unlimited})").fetchone()
    truth = int(counted[0]) if counted else 0
    factor = max((expected + 1) / (truth + 1), (truth + 1) / (expected + 1))
    times = {"look_s": round(looked - started, 4), "estimate_s": round(done - looked, 4)}
    return {"name": name, "expected": round(expected, 1), "rows": truth, "factor": round(factor, 2), **times}


def _unlimited(root: Node) -> Node:
    below: Node | None = root
    while isinstance(below, Project) and isinstance(below.input, Node):
        below = below.input
    return below.input if isinstance(below, Limit) and isinstance(below.input, Node) else root


def _show(console: Console, found: list[dict[str, Any]]) -> None:
    table = Table("query", "expected", "rows", "factor", "ms", box=None)
    for one in found:
        cells = (count(round(one["expected"])), count(one["rows"]), ratio(one["factor"]))
        table.add_row(one["name"], *cells, f"{1e3 * one['estimate_s']:.1f}")
    console.print(table)
    factors = sorted(one["factor"] for one in found)
    middle, most = factors[len(factors) // 2], factors[int(len(factors) * 0.9)]
    console.print(f"the middle one is off by {ratio(middle)}, nine of ten by less than {ratio(most)}")


if __name__ == "__main__":
    typer.run(bench)
