"""How much faster is a refresh than a recompute? All 22 TPC-H queries, one session, ratios.

    python bench/refresh.py --scale 1 --delta 0.01,0.001 --json build/refresh.json

For each query: a view is loaded from the base, refreshed by some deltas to warm up, and refreshed by one more
delta, which is measured; and so again with deltas of the next size, if there are several. Plain Spark in the same
JVM and DuckDB on the same cores then answer the query from all these files, warmed, best of two; name the largest
size first, so that what they read hardly differs from what was there when it was measured. A refresh also stores its
result; they only compute theirs. The view must hold the rows that plain Spark computes.

Seconds are wall clock. On a machine with other work they say little: on two shared cores, the same recompute
of Q01 took from 6 to 33 s. So the CPU seconds of both sides and the load are recorded, and a busy machine is
named.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any

import duckdb
import tpch
import typer
from cuts import Cut, place
from pyspark.sql import SparkSession
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from running import ALL_CORES, Cores, Data, Heap, Json, Queries, Scale, chosen, release, same_rows, session, timed

import headrace as hr
from headrace.cli.terminal import count, ratio, seconds, size, stderr_to

BUSY = 2.0  # load for each core that this bench does not reach by itself

Result = dict[str, Any]

COLUMNS = {
    "query": 5,
    "delta": 6,
    "method": 11,
    "initial s": 9,
    "recompute s": 11,
    "refresh s": 9,
    "ratio": 7,
    "DuckDB s": 8,
    "rows read": 11,
    "state": 8,
    "": 5,
}


class Pattern(str, Enum):
    random = "random"
    natural = "natural"


def bench(
    scale: Scale = 1.0,
    delta: Annotated[
        str, typer.Option(help="Size of a delta, as a fraction of the rows that change; or several, as in 0.01,0.001.")
    ] = "0.01",
    pattern: Annotated[
        Pattern,
        typer.Option(help="random: in every table but nation and region; natural: the newest orders."),
    ] = Pattern.random,
    queries: Queries = "",
    warm: Annotated[int, typer.Option(min=0, help="Refreshes of each size before the measured one.")] = 5,
    json_file: Json = None,
    data: Data = Path("build/bench"),
    cores: Cores = ALL_CORES,
    memory: Heap = "12g",
    states: Annotated[str, typer.Option(help="Of it, what views may take to look rows up in.")] = "3g",
    timeout: Annotated[int, typer.Option(min=1, help="Seconds until a query is given up.")] = 300,
) -> None:
    """Measure refreshes against recomputing, on all TPC-H queries."""
    console = Console(highlight=False)
    texts = chosen(queries)
    sizes = _sizes(delta)
    results: list[Result] = []
    summary: Result = {
        "scale": scale,
        "delta": sizes[0] if len(sizes) == 1 else sizes,
        "pattern": pattern.value,
        "warm": warm,
        "cores": cores,
        "memory": memory,
        "states": states,
        "queries": results,
        "geomean": None,
        "geomeans": {},
    }
    with _screen(console, len(texts)) as screen:
        try:
            parts = [size for size in sizes for _ in range(warm + 1)]
            cut = tpch.cut(data, scale, pattern.value, parts, screen.step)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--delta, --warm") from None
        work = data / "work"
        shutil.rmtree(work, ignore_errors=True)
        everything = _everything(cut, work / "everything")
        screen.step("starting Spark")
        with stderr_to(data / "spark.log"):
            spark = session(cores, memory)
        screen.step("warming the JVM")
        _recompute(next(iter(texts.values())), everything, spark, {})
        summary |= {"spark": spark.version, "duckdb": duckdb.__version__}
        for name, sql in texts.items():
            measured = {warm + n * (warm + 1) + 1: size for n, size in enumerate(sizes)}
            found = _measure(name, sql, cut, measured, work, everything, spark, cores, states, timeout, screen.step)
            results += found
            for result in found:
                screen.add(result)
            summary["geomean"] = _geomean(results)
            summary["geomeans"] = {str(size): _geomean(_of(results, size)) for size in sizes}
            if json_file is not None:  # after each query, so that an interrupted run is not lost
                json_file.parent.mkdir(parents=True, exist_ok=True)
                json_file.write_text(json.dumps(summary, indent=2) + "\n")
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    _conclude(summary, console)
    if any(result["error"] for result in results):
        raise typer.Exit(1)


def _sizes(delta: str) -> list[float]:
    try:
        return [float(size) for size in delta.split(",")]
    except ValueError:
        raise typer.BadParameter("give a fraction, or several as in 0.01,0.001", param_hint="--delta") from None


def _of(results: list[Result], size: float) -> list[Result]:
    return [result for result in results if result["delta"] == size]


def _everything(cut: Cut, folder: Path) -> Path:
    """Base and all deltas in one folder for each table: what a recompute reads."""
    for table in tpch.KEYS:
        place(cut.base(table), folder / table, "base")
        for number in range(1, cut.deltas + 1):
            place(cut.delta(number, table), folder / table, f"delta-{number}")
    return folder


def _measure(
    name: str,
    sql: str,
    cut: Cut,
    measured: Mapping[int, float],
    work: Path,
    everything: Path,
    spark: SparkSession,
    cores: int,
    states: str,
    timeout: int,
    step: Callable[[str], None],
) -> list[Result]:
    """A result for each delta that is ``measured``, by its number."""
    fields = (
        "recompute_s",
        "refresh_s",
        "ratio",
        "duckdb_s",
        "rows_read",
        "state_bytes",
        "memory_bytes",
        "files_skipped",
        "method",
        "code",
        "initial_s",
        "steps",
    )
    unknown = dict.fromkeys((*fields, "refresh_cpu_s", "recompute_cpu_s", "load", "agree", "error"))
    results: dict[int, Result] = {number: {"name": name, "delta": size, **unknown} for number, size in measured.items()}
    folder = work / name
    ours: list[tuple[Any, ...]] | None = None
    error: str | None = None
    try:
        with _limit(timeout, spark):
            ours = _refresh(name, sql, cut, folder, spark, states, results, lambda what: step(f"{name}: {what}"))
    except Exception as failed:
        error = _first_line(failed)
    release(spark, folder)
    alone: Result = {}
    try:
        with _limit(timeout, spark):
            step(f"{name}: Spark recomputes")
            theirs = _recompute(sql, everything, spark, alone)
            step(f"{name}: DuckDB recomputes")
            _recompute_by_duckdb(sql, everything, cores, alone)
        if ours is not None:
            alone["agree"] = same_rows(ours, theirs)
            if not alone["agree"]:
                error = f"the view ({len(ours)} rows) differs from the recompute ({len(theirs)} rows)"
    except Exception as failed:
        error = error or _first_line(failed)
    for result in results.values():
        result |= alone | {"error": error}
        if result["recompute_s"] and result["refresh_s"]:
            result["ratio"] = round(result["recompute_s"] / result["refresh_s"], 3)
    return list(results.values())


def _refresh(
    name: str,
    sql: str,
    cut: Cut,
    folder: Path,
    spark: SparkSession,
    states: str,
    results: dict[int, Result],
    step: Callable[[str], None],
) -> list[tuple[Any, ...]]:
    """Load the view, warm it up, measure the refreshes that results are wanted of, and hand its rows over."""
    wh = hr.Warehouse(str(folder / "warehouse"), spark=spark, memory=states)
    for table in tpch.KEYS:
        place(cut.base(table), folder / table, "base")
        wh.source(table, hr.Folder(str(folder / table)))
    step("first load")
    view = wh.view(name.lower(), sql)
    initial = timed(view.refresh).seconds
    for number in range(1, cut.deltas + 1):
        for table in tpch.KEYS:
            place(cut.delta(number, table), folder / table, f"delta-{number}")
        step("measured refresh" if number in results else f"warm refresh {number}")
        refresh = timed(view.refresh, spark)
        if number in results:
            report = refresh.value
            results[number] |= {
                "initial_s": initial,
                "refresh_s": refresh.seconds,
                "refresh_cpu_s": refresh.cpu,
                "load": round(os.getloadavg()[0], 1),
                "method": report.method,
                "code": report.code,
                "rows_read": report.rows_read,
                "state_bytes": report.state_bytes,
                "memory_bytes": sum(report.memory.values()),
                "files_skipped": report.files_skipped,
                "steps": {name: round(took, 3) for name, took in report.steps.items()},
            }
    return [tuple(row) for row in view.read().collect()]


def _recompute(sql: str, everything: Path, spark: SparkSession, result: Result) -> list[tuple[Any, ...]]:
    plain = spark.newSession()  # the same JVM and settings, none of Headrace's names
    for table in tpch.KEYS:
        plain.read.parquet(str(everything / table)).createOrReplaceTempView(table)
    rows = [tuple(row) for row in plain.sql(sql).collect()]

    def run() -> None:
        plain.sql(sql).write.format("noop").mode("overwrite").save()

    best = min((timed(run, spark) for _ in range(2)), key=lambda timed: timed.seconds)
    result |= {"recompute_s": best.seconds, "recompute_cpu_s": best.cpu}
    return rows


def _recompute_by_duckdb(sql: str, everything: Path, cores: int, result: Result) -> None:
    with duckdb.connect(config={"threads": cores}) as db:
        for table in tpch.KEYS:
            db.execute(f"CREATE VIEW {table} AS FROM read_parquet('{everything / table}/*.parquet')")
        db.execute(sql).fetchall()
        result["duckdb_s"] = min(timed(lambda: db.execute(sql).fetchall()).seconds for _ in range(2))


@contextmanager
def _limit(timeout: int, spark: SparkSession) -> Iterator[None]:
    """Give up after so many seconds: from then on, cancel every job that Spark is given."""
    done, late = Event(), Event()

    def watch() -> None:
        wait = float(timeout)
        while not done.wait(wait):
            late.set()
            spark.sparkContext.cancelAllJobs()
            wait = 1.0

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        if late.is_set():
            raise TimeoutError(f"given up after {timeout} s") from error
        raise
    finally:
        done.set()
        watcher.join()


def _first_line(error: Exception) -> str:
    text = str(error).removeprefix("error: ")
    return f"{type(error).__name__}: {text}".splitlines()[0]


def _geomean(results: list[Result]) -> float | None:
    ratios = [result["ratio"] for result in results if result["ratio"] and not result["error"]]
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3) if ratios else None


class _LiveTable:
    """A table that grows by a row for each query, above a line that says what is being done."""

    def __init__(self, queries: int) -> None:
        self._table = Table(*COLUMNS)
        for column in self._table.columns[2:-1]:
            column.justify = "right"
        self._progress = Progress(SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn())
        self._task = self._progress.add_task("", total=queries)
        self.renderable = Group(self._table, self._progress)

    def step(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def add(self, result: Result) -> None:
        cells = _cells(result)
        at = list(COLUMNS).index("ratio")
        if result["ratio"]:
            cells[at] = f"[{'green' if result['ratio'] >= 1 else 'red'}]{cells[at]}[/]"
        self._table.add_row(*cells)
        self._progress.update(self._task, advance=1, description="")


class _Lines:
    """One plain line for each query, for a pipe or a log."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._print(list(COLUMNS))

    def step(self, what: str) -> None:
        if not what.startswith("Q"):
            self._console.print(f"… {what}", soft_wrap=True)

    def add(self, result: Result) -> None:
        self._print(_cells(result))

    def _print(self, cells: list[str]) -> None:
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells, COLUMNS.values(), strict=True))
        self._console.print(line, soft_wrap=True, markup=False)


@contextmanager
def _screen(console: Console, queries: int) -> Iterator[_LiveTable | _Lines]:
    if console.is_terminal:
        live = _LiveTable(queries)
        with Live(live.renderable, console=console, refresh_per_second=4):
            yield live
    else:
        yield _Lines(console)


def _cells(result: Result) -> list[str]:
    def show(field: str, how: Callable[[Any], str]) -> str:
        return "–" if result[field] is None else how(result[field])

    return [
        result["name"],
        f"{result['delta']:.2%}",
        show("method", str),
        show("initial_s", seconds),
        show("recompute_s", seconds),
        show("refresh_s", seconds),
        show("ratio", ratio),
        show("duckdb_s", seconds),
        show("rows_read", count),
        show("state_bytes", size),
        "error" if result["error"] else "✓",
    ]


def _conclude(summary: Result, console: Console) -> None:
    results = summary["queries"]
    for delta, mean in summary["geomeans"].items():
        good = [result for result in _of(results, float(delta)) if not result["error"]]
        if good:
            faster = sum(result["ratio"] > 1 for result in good)
            what = f"scale {summary['scale']:g}, {summary['pattern']} delta of {float(delta):.2%}"
            of = f"geometric mean of {len(good)} queries; {faster} refresh faster"
            console.print(f"\n{what}: recompute / refresh = {ratio(mean)} ({of})", soft_wrap=True)
    busiest = max((result["load"] or 0 for result in results), default=0)
    if busiest > BUSY * summary["cores"]:
        console.print(
            f"The load reached {busiest:g} on {summary['cores']} cores: other work was running, and"
            " these seconds and ratios are not to be relied on. The CPU seconds in the JSON are steadier.",
            style="yellow",
            soft_wrap=True,
        )
    for result in results:
        if result["error"]:
            console.print(f"{result['name']}: {result['error']}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    typer.run(bench)
