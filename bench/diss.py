"""What does memory buy? The experiments of the paper on intermittent query processing (PVLDB 12(11), §6), on the TPC-H
queries that it uses.

    python bench/diss.py --scale 1 --experiments late,budgets --json build/diss.json

late         90 % of the data first, then 9, 0.9 and 0.1 %: DISS, all states, and computing everything anew (§6.3)
budgets      one delta for each budget, against Recycler; all states and computing anew for comparison (§6.5); done
             twice, and measured the second time, for strategies often choose the same and the first compiles its code
predictions  deltas that are larger or smaller than was said, and in other tables (§6.4)
deletes      one delta, of which none to all rows leave (§6.7)
injected     without states, with tables of relations, and with those of joins too (§6.6)

Seconds are wall clock. A delta of the same kind comes before each that is measured; late data comes once before, to
another view. What is built for the next delta is built before it comes, and counts with the first load. Memory is what
the tables take, measured when they are built. Every view is compared with Spark's answer at the end. In the first two
experiments a view computes anew where it expects that to be faster, as by default; in the others it never does.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import diss_found
import pyarrow.parquet as pq
import tpch
import typer
from cuts import Cut, place
from diss_found import Row
from pyspark.sql import SparkSession
from rich.console import Console
from running import ALL_CORES, Cores, Data, Heap, Json, Queries, Scale, chosen, session

import headrace as hr
from headrace.api.outlook import Outlook
from headrace.api.recall import Choosing
from headrace.api.refreshing import prepare
from headrace.cli.terminal import seconds, size, stderr_to
from headrace.runtime.memory_size import in_bytes
from headrace.stats.estimate import Change

FLAT = "1,3,5,6,7,8,9,10,12,14,19"  # flat select, project, join and aggregate (§6.2)
MANY = 1 << 50
BY_SIZE = ("lineitem", "orders", "partsupp", "part", "customer", "supplier")


@dataclass
class Bench:
    """What all experiments share, and what they found."""

    spark: SparkSession
    data: Path
    scale: float
    delta: float
    memory: int
    budgets: list[int]
    queries: dict[str, str]
    say: Callable[[str], None]
    rows: list[Row] = field(default_factory=list)

    def found(self, **row: Any) -> None:
        self.rows.append(row)
        row = {k: v for k, v in row.items() if k != "holds"}
        shown = {k: seconds(v) if k.endswith("_s") and v is not None else v for k, v in row.items()}
        shown |= {k: size(v) for k, v in row.items() if k.endswith("bytes") and v is not None}
        self.say("  ".join(f"{k} {v}" for k, v in shown.items()))


class Maintained:
    """One query over one cut of the data, and the deltas that came so far."""

    def __init__(
        self, bench: Bench, query: str, cut: Cut, *, changes: bool = False, policy: str = "INCREMENTAL"
    ) -> None:
        self.bench, self.cut, self.method = bench, cut, ""
        self.folder = bench.data / "work" / query
        shutil.rmtree(self.folder, ignore_errors=True)
        self.wh = hr.Warehouse(str(self.folder / "warehouse"), spark=bench.spark, memory=bench.memory)
        for table in tpch.KEYS:
            place(cut.base(table), self.folder / table, "base")
            changing = changes and table not in tpch.NEVER_CHANGING
            if changes and not changing:
                self._plain(table)
            self.wh.source(table, hr.Folder(str(self.folder / table), changes=changing))
        self.view = self.wh.view(query.lower(), bench.queries[query], refresh_policy=policy)
        started = perf_counter()
        self.view.refresh()
        self.initial = perf_counter() - started
        self.came = 0

    def _plain(self, table: str) -> None:
        for file in (self.folder / table).glob("*.parquet"):
            rows = pq.read_table(file)
            file.unlink()
            pq.write_table(rows.drop_columns(["_change_type"]), file, store_decimal_as_integer=True)

    def next(self, tables: Iterable[str] = tpch.KEYS) -> Outlook:
        """What the next delta will bring, for certain, in some tables."""
        reads = self.view.reads
        found: dict[str, Change] = {}
        for table in tables:
            files = self.cut.delta(self.came + 1, table) if table in reads else []
            rows = sum(pq.read_metadata(f).num_rows for f in files)
            left = sum(_deletes(f) for f in files)
            if rows:
                found[table] = Change(inserts=rows - left, deletes=left)
        return Outlook(found, 1000)  # what building costs is told apart

    def hold(self, choosing: Choosing, budget: int = MANY, *, anew: bool = True) -> float:
        """Choose and build what is held for the next delta, ``anew`` or with what is there; the seconds that takes."""
        memory = self.view._memory
        if anew:
            memory.clear()
        memory.too_large.clear()
        memory.own = min(budget, self.bench.memory)
        recall = self.view._recall
        recall.choosing, recall._made_for = choosing, None
        started = perf_counter()
        if choosing.outlook is not None:
            prepare(self.view, choosing.outlook)
        return perf_counter() - started

    def delta(self, tables: Iterable[str] = tpch.KEYS, *, anew: bool = False) -> float:
        """Let a delta come, and the seconds of the refresh."""
        self.came += 1
        for table in tables:
            place(self.cut.delta(self.came, table), self.folder / table, f"delta-{self.came}")
        started = perf_counter()
        report = self.view.refresh(full=anew)
        took, self.method = perf_counter() - started, report.method
        self.bench.say(f"    {report.method}, {len(report.memory)} states, {sum(report.memory.values()):,} bytes")
        return took

    def measured(
        self, choosing: Choosing, budget: int = MANY, tables: Iterable[str] = tpch.KEYS, *, twice: bool = True
    ) -> Row:
        """What a choice costs: of two deltas the second, for the first one has new code compiled; or of one where that
        was done before."""
        built, anew = 0.0, choosing.strategy == "rebatch" and choosing.outlook is None
        if not anew:
            built = self.hold(choosing, budget)
        taken, held = (0, []) if anew else (self.bytes, self.states)
        if twice:
            self.delta(tables, anew=anew)
        took = self.delta(tables, anew=anew)
        return {"built_s": built, "delta_s": took, "method": self.method, "memory_bytes": taken, "holds": held}

    @property
    def states(self) -> list[str]:
        return sorted(str(held.index) for held in self.view._memory.held.values())

    @property
    def bytes(self) -> int:
        return sum(self.view._memory.bytes().values())

    def done(self) -> bool:
        agrees = self.view.check().agrees
        self.wh.drop(self.view.name)
        shutil.rmtree(self.folder, ignore_errors=True)
        return agrees


def _deletes(file: Path) -> int:
    rows = pq.read_table(file, columns=["_change_type"]) if "_change_type" in pq.read_schema(file).names else None
    return 0 if rows is None else rows["_change_type"].to_pylist().count("delete")


def late(bench: Bench) -> None:
    cut = tpch.late(bench.data, bench.scale, 0.9, bench.say)
    for query in bench.queries:
        for strategy in ("diss", "keep-all"):  # their code is compiled, and measured for none
            bench.say(f"{query}: {strategy}, to warm up")
            _late(bench, query, strategy, cut)
        for strategy in ("diss", "keep-all", "rebatch"):
            bench.found(experiment="late", query=query, strategy=strategy, **_late(bench, query, strategy, cut))


def _late(bench: Bench, query: str, strategy: str, cut: Cut) -> Row:
    """What is held is chosen anew before each delta, and only what is not there is built."""
    view, anew = Maintained(bench, query, cut, policy="AUTO"), strategy == "rebatch"
    built, taken, deltas = 0.0, 0, []
    for number in range(1, cut.deltas + 1):
        if not anew:
            built += view.hold(Choosing(strategy, outlook=view.next(), at_once=True), anew=number == 1)
            taken = max(taken, view.bytes)
        deltas.append(view.delta(anew=anew))
        bench.say(f"    delta {number}: {deltas[-1]:.2f} s")
    return {
        "initial_s": view.initial + built,
        "delta_s": sum(deltas) / len(deltas),
        "deltas": [round(d, 3) for d in deltas],
        "total_s": view.initial + built + sum(deltas),
        "memory_bytes": taken,
        "agrees": view.done(),
    }


def budgets(bench: Bench) -> None:
    runs = [(s, b) for b in bench.budgets for s in ("diss", "recycler")] + [("keep-all", MANY), ("rebatch", 0)]
    cut = tpch.cut(bench.data, bench.scale, "random", [bench.delta] * 2 * len(runs), bench.say)
    for query in bench.queries:
        view = Maintained(bench, query, cut, policy="AUTO")
        for again in (False, True):
            for strategy, budget in runs:
                outlook = None if strategy == "rebatch" else view.next()
                row = view.measured(Choosing(strategy, outlook=outlook, at_once=True), budget, twice=False)
                what = {"strategy": strategy, "budget_bytes": None if budget == MANY else budget}
                if again:
                    bench.found(experiment="budgets", query=query, **what, **row)
        bench.found(experiment="budgets", query=query, strategy="agrees", agrees=view.done())


def predictions(bench: Bench) -> None:
    sizes = (1.0, 30.0, 1 / 30)
    counts = range(1, len(BY_SIZE))
    cut = tpch.cut(bench.data, bench.scale, "random", [bench.delta] * 2 * (len(sizes) + 2 * len(counts)), bench.say)
    for query in bench.queries:
        view = Maintained(bench, query, cut)
        for factor in sizes:
            said = Outlook({n: Change(c.inserts * factor) for n, c in view.next().changes.items()}, 1000)
            row = view.measured(Choosing(outlook=said, at_once=True))
            bench.found(experiment="predictions", query=query, wrong="size", said=round(factor, 3), **row)
        for n in counts:
            row = view.measured(Choosing(outlook=view.next(BY_SIZE[:n]), at_once=True))
            bench.found(experiment="predictions", query=query, wrong="too few tables", said=n, **row)
        for n in counts:
            row = view.measured(Choosing(outlook=view.next(), at_once=True), tables=BY_SIZE[:n])
            bench.found(experiment="predictions", query=query, wrong="too many tables", came=n, **row)
        bench.found(experiment="predictions", query=query, agrees=view.done())


def deletes(bench: Bench) -> None:
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        cut = tpch.leaving(bench.data, bench.scale, bench.delta, part, bench.say)
        for query in bench.queries:
            view = Maintained(bench, query, cut, changes=True)
            row = view.measured(Choosing(outlook=view.next(), at_once=True))
            bench.found(experiment="deletes", query=query, deletes=part, **row, agrees=view.done())


def injected(bench: Bench) -> None:
    ways = {
        "no states": Choosing("rebatch", at_once=True),
        "tables of relations": Choosing(joins=False, at_once=True),
        "tables of joins too": Choosing(at_once=True),
        "all of them": Choosing("keep-all", at_once=True),
    }
    cut = tpch.cut(bench.data, bench.scale, "random", [bench.delta] * 2 * len(ways), bench.say)
    for query in bench.queries:
        view = Maintained(bench, query, cut)
        for states, choosing in ways.items():
            row = view.measured(replace(choosing, outlook=view.next()))
            bench.found(experiment="injected", query=query, states=states, **row)
        bench.found(experiment="injected", query=query, states="agrees", agrees=view.done())


EXPERIMENTS = {"late": late, "budgets": budgets, "predictions": predictions, "deletes": deletes, "injected": injected}


def bench(
    scale: Scale = 0.1,
    experiments: Annotated[str, typer.Option(help="A subset, as in late,budgets.")] = ",".join(EXPERIMENTS),
    queries: Queries = FLAT,
    delta: Annotated[float, typer.Option(help="Size of a delta, as a fraction of the rows that change.")] = 0.01,
    memory: Annotated[str, typer.Option(help="The most that states may take.")] = "4g",
    budgets: Annotated[str, typer.Option(help="For the experiment of that name.")] = "0,1m,4m,16m,64m,256m,1g",
    heap: Heap = "12g",
    cores: Cores = ALL_CORES,
    data: Data = Path("build/bench"),
    json_file: Json = None,
    plots: Annotated[Path | None, typer.Option(help="Draw them into this folder (needs matplotlib).")] = None,
) -> None:
    """Measure what states in memory are worth, and which of them."""
    console = Console(highlight=False)
    names = [name.strip() for name in experiments.split(",")]
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise typer.BadParameter(f"there are {', '.join(EXPERIMENTS)}", param_hint="--experiments")
    texts = chosen(queries)
    data.mkdir(parents=True, exist_ok=True)
    with stderr_to(data / "spark.log"):
        spark = session(cores, heap)

    def say(what: str) -> None:
        console.print(what, soft_wrap=True, markup=False)

    limits = [in_bytes(b) for b in budgets.split(",")]
    run = Bench(spark, data, scale, delta, in_bytes(memory), limits, texts, say)
    for name in names:
        console.print(f"\n[bold]{name}[/]")
        EXPERIMENTS[name](run)
        if json_file is not None:  # after each, so that an interrupted run is not lost
            json_file.parent.mkdir(parents=True, exist_ok=True)
            summary = {"scale": scale, "delta": delta, "memory": memory, "cores": cores, "results": run.rows}
            json_file.write_text(json.dumps(summary, indent=2) + "\n")
        of = [r for r in run.rows if r["experiment"] == name]
        diss_found.table(console, name, of)
        diss_found.means(console, name, of)
    spark.stop()
    if plots is not None:
        diss_found.plots(run.rows, plots)
    if any(row.get("agrees") is False for row in run.rows):
        console.print("a view differs from Spark's answer", style="red")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(bench)
