"""Is it worth working ahead? Queries whose result is due at the end of a day, with early runs at a lower price.

    python bench/progressive.py --scale 1 --json build/progressive.json
    python bench/progressive.py --benchmark ds --scale 1 --json build/progressive-ds.json

All of TPC-H, or a spread of TPC-DS.

Data comes all day: what is there at 14:00, at 19:00 and at 24:00, in proportion, as the timeline says. A view with a
timeline does three runs of which the last delivers, as it plans them; another does everything at 24:00. Costs are CPU
seconds of Python and the JVM together, those of early runs times their weight (Tempura §8.2).
"""

from __future__ import annotations

import json
import shutil
import statistics
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import tpcds
import tpch
import typer
from cuts import Cut, place
from refresh import Pattern
from rich.console import Console
from rich.table import Table
from running import ALL_CORES, Cores, Data, Heap, Json, Queries, Scale, chosen, release, same_rows, session, timed

import headrace as hr
from headrace.cli.terminal import ratio, seconds, stderr_to

TIMES = ("14:00", "19:00", "24:00")
PARTS = (5 / 14, 5 / 14)  # what comes after 14:00, in parts of what came before
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

Result = dict[str, Any]


class Benchmark(str, Enum):
    h = "h"
    ds = "ds"


def bench(
    scale: Scale = 1.0,
    benchmark: Annotated[Benchmark, typer.Option(help="h: TPC-H; ds: a spread of TPC-DS.")] = Benchmark.h,
    weights: Annotated[str, typer.Option(help="What a second costs in each run.")] = "0.25,0.3,1",
    pattern: Annotated[
        Pattern,
        typer.Option(help="TPC-H's. random: in all tables but nation and region; natural: the newest orders."),
    ] = Pattern.natural,
    queries: Queries = "",
    json_file: Json = None,
    data: Data = Path("build/bench"),
    cores: Cores = ALL_CORES,
    memory: Heap = "12g",
) -> None:
    """Compare progressive runs with one run at the end."""
    console, ds = Console(highlight=False), benchmark is Benchmark.ds
    texts = chosen(queries, tpcds.queries(), tpcds.SPREAD) if ds else chosen(queries)
    if ds:
        cut = tpcds.growing(data, scale, PARTS, console.print)
    else:
        cut = tpch.growing(data, scale, pattern.value, PARTS, console.print)
    comes = {table: [1.0, *PARTS] if cut.delta(1, table) else [1.0, 0.0, 0.0] for table in cut.tables}
    try:
        timeline = hr.runs(TIMES, weights=[float(w) for w in weights.split(",")], arrivals=comes)
    except (ValueError, hr.HeadraceError) as error:
        raise typer.BadParameter(str(error), param_hint="--weights") from None
    work = data / "progressive"
    shutil.rmtree(work, ignore_errors=True)
    with stderr_to(data / "spark.log"):
        spark = session(cores, memory)
    results: list[Result] = []
    for name, sql in texts.items():
        _measured(name, sql, cut, timeline, work / "warming", spark)  # code is compiled for both, and measured for none
        release(spark, work / "warming")
        results.append(_measured(name, sql, cut, timeline, work / name, spark))
        release(spark, work / name)
        console.print(_line(results[-1]), soft_wrap=True, markup=False)
        if json_file is not None:
            json_file.parent.mkdir(parents=True, exist_ok=True)
            summary = {
                "scale": scale,
                "benchmark": benchmark.value,
                "pattern": pattern.value,
                "weights": weights,
                "queries": results,
            }
            json_file.write_text(json.dumps(summary | _summary(results), indent=2) + "\n")
    spark.stop()
    shutil.rmtree(work, ignore_errors=True)
    _conclude(console, results)
    if not all(r["agree"] for r in results):
        console.print("a view differs from the one that was computed at the end", style="red")
        raise typer.Exit(1)


def _measured(name: str, sql: str, cut: Cut, timeline: Any, folder: Path, spark: Any) -> Result:
    for table in cut.tables:
        place(cut.base(table), folder / table, "base")
    ahead, at_end = (_warehouse(folder, way, cut, spark) for way in ("ahead", "end"))
    view = ahead.view(name.lower(), sql, timeline=timeline)
    runs = [timed(view.advance, spark)]
    for number in range(1, cut.deltas + 1):
        for table in cut.tables:
            place(cut.delta(number, table), folder / table, f"delta-{number}")
        runs.append(timed(view.advance, spark))
    other = at_end.view(name.lower(), sql)
    once = timed(other.refresh, spark)
    costs = [run.cpu or run.seconds for run in runs]
    weighted = sum(c * r.weight for c, r in zip(costs, timeline.runs, strict=True))
    whole = once.cpu or once.seconds
    return {
        "name": name,
        "runs_cpu_s": costs,
        "end_cpu_s": whole,
        "runs_s": [run.seconds for run in runs],
        "end_s": once.seconds,
        "total_ratio": round(weighted / whole, 3),
        "last_ratio": round(costs[-1] / whole, 3),
        "states": [len(run.value.states) for run in runs],
        "agree": same_rows([tuple(r) for r in view.read().collect()], [tuple(r) for r in other.read().collect()]),
    }


def _warehouse(folder: Path, way: str, cut: Cut, spark: Any) -> hr.Warehouse:
    made = hr.Warehouse(str(folder / f"warehouse-{way}"), spark=spark)
    for table in cut.tables:
        made.source(table, hr.Folder(str(folder / table)))
    return made


def _line(r: Result) -> str:
    runs = " + ".join(seconds(c) for c in r["runs_cpu_s"])
    together = f"together {ratio(r['total_ratio'])}, the last {ratio(r['last_ratio'])}"
    return f"{r['name']}  {runs} CPU s, at the end {seconds(r['end_cpu_s'])}: {together}"


def _summary(results: list[Result]) -> Result:
    return {
        "total": round(statistics.mean(r["total_ratio"] for r in results), 3),
        "last": round(statistics.mean(r["last_ratio"] for r in results), 3),
        "last_less": round(sum(r["last_ratio"] < 1 for r in results) / len(results), 3),
        "total_less": round(sum(r["total_ratio"] < 1 for r in results) / len(results), 3),
    }


def _conclude(console: Console, results: list[Result]) -> None:
    table = Table("cost, of that at the end", "mean", *(f"{q:.0%}" for q in QUANTILES), "less for")
    for title, field in (("all runs, weighted", "total"), ("the last run", "last")):
        values = sorted(r[f"{field}_ratio"] for r in results)
        at = [values[min(int(q * len(values)), len(values) - 1)] for q in QUANTILES]
        less = f"{sum(v < 1 for v in values)} of {len(values)}"
        table.add_row(title, f"{statistics.mean(values):.2f}", *(f"{v:.2f}" for v in at), less)
    console.print(table)


if __name__ == "__main__":
    typer.run(bench)
