"""`headrace demo`: a report kept up to date while orders and returns arrive, beside Spark recomputing it."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import headrace as hr
from headrace.cli.terminal import count, last_lines, ratio, seconds, stderr_to
from headrace.demo import QUERY, Comparison, compare, land_batches, open_report

COLUMNS = ("batch", "rows changed", "rows read", "refresh s", "recompute s", "ratio", "agree", "how")
WHAT_TO_EXPECT = (
    "After each batch Headrace refreshes the report, and Spark recomputes it from all the change files, which it nets"
    " first. Expect the first refreshes to be slow: their code is new to Java, and they scan all orders. One of them"
    " puts the orders in memory; from then on a refresh looks up there what its batch touches.\n"
)
EXPLAIN_LINES = 14
REPORT_ROWS = 5


class Screen(Protocol):
    """Where the comparisons appear as they are made."""

    def step(self, what: str) -> None: ...

    def add(self, comparison: Comparison) -> None: ...


def demo(
    orders: Annotated[int, typer.Option(min=100, help="Orders in all batches together.")] = 2_000_000,
    batches: Annotated[int, typer.Option(min=2, help="Batches they arrive in; the first holds nine tenths.")] = 11,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the data and the warehouse in this new folder.", metavar="DIR")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON and nothing else.")] = False,
) -> None:
    """Refresh a report on generated sales and returns, and let Spark recompute it beside.

    Batches arrive with new orders, returns of orders sold several batches ago, corrected orders and withdrawn
    returns. After each one, Headrace refreshes the report incrementally, Spark recomputes it from all the
    change files, and both answers are compared row by row. Exit code 1 when they differ.
    """
    console = Console(quiet=as_json, highlight=False)
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise typer.BadParameter(f"{keep} is not empty: name a new folder", param_hint="--keep")
    with _folder(keep) as folder:
        console.print("Gross revenue by category, from sales and their returns (Tempura, Example 1):\n")
        console.print(QUERY, style="cyan", markup=False)
        console.print(WHAT_TO_EXPECT)
        try:
            comparisons = _run(folder, orders, batches, console, as_json)
        except hr.HeadraceError:
            raise
        except Exception:
            if said := last_lines(folder / "spark.log"):
                typer.echo(f"Spark said last:\n{said}\n", err=True)
            raise
        if keep is not None:
            console.print(f"Data, warehouse and Spark's log are in {keep}.", soft_wrap=True)
    if not all(c.agree for c in comparisons):
        typer.secho("The refreshed report differs from Spark's answer.", fg=typer.colors.RED, err=True)
        raise typer.Exit(1)


def _run(folder: Path, orders: int, batches: int, console: Console, as_json: bool) -> list[Comparison]:
    comparisons: list[Comparison] = []
    opened: tuple[hr.Warehouse, hr.View] | None = None
    try:
        with _screen(console, batches) as screen:
            screen.step("generating orders")
            for batch in land_batches(folder, orders, batches):
                if opened is None:
                    screen.step("starting Spark")
                    with stderr_to(folder / "spark.log"):
                        opened = open_report(folder)
                comparison = compare(opened[1], batch, screen.step)
                comparisons.append(comparison)
                screen.add(comparison)
                screen.step("the next batch arrives")
        assert opened is not None
        if as_json:
            typer.echo(json.dumps(_measures(orders, comparisons), indent=2))
        else:
            _conclude(opened[1], comparisons, console)
    finally:
        if opened is not None:
            opened[0].spark.stop()
    return comparisons


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="headrace-demo-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)


@contextmanager
def _screen(console: Console, batches: int) -> Iterator[Screen]:
    if console.is_terminal and not console.quiet:
        live = _LiveTable(batches)
        with Live(live.renderable, console=console, refresh_per_second=5):
            yield live
    else:
        yield _Lines(console)


class _LiveTable:
    """A table that grows by a row for each batch, above a line that says what is being done."""

    def __init__(self, batches: int) -> None:
        self._table = Table(*COLUMNS)
        for column in self._table.columns[:-2]:
            column.justify = "right"
        self._progress = Progress(SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn())
        self._task = self._progress.add_task("", total=batches)
        self.renderable = Group(self._table, self._progress)

    def step(self, what: str) -> None:
        if not self._progress.finished:
            self._progress.update(self._task, description=what)

    def add(self, comparison: Comparison) -> None:
        cells = dict(zip(COLUMNS, _cells(comparison), strict=True))
        if comparison.report.method != "initial" and comparison.ratio > 1:
            cells["ratio"] = f"[green]{cells['ratio']}[/green]"
        colour = "green" if comparison.agree else "red"
        cells["agree"] = f"[{colour}]{cells['agree']}[/{colour}]"
        self._table.add_row(*cells.values())
        self._progress.advance(self._task)
        if self._progress.finished:
            self._progress.update(self._task, description="done")


class _Lines:
    """One plain line for each batch, for a pipe or a log."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._print(COLUMNS)

    def step(self, what: str) -> None:
        pass

    def add(self, comparison: Comparison) -> None:
        self._print(_cells(comparison))

    def _print(self, cells: tuple[str, ...] | list[str]) -> None:
        line = "  ".join(cell.rjust(max(len(title), 9)) for cell, title in zip(cells, COLUMNS[:-1], strict=False))
        self._console.print(f"{line}  {cells[-1]}", soft_wrap=True)


def _cells(c: Comparison) -> list[str]:
    return [
        str(c.batch.number),
        count(c.batch.changes),
        count(c.report.rows_read),
        seconds(c.refresh_seconds),
        seconds(c.recompute_seconds),
        "" if c.report.method == "initial" else ratio(c.ratio),
        "✓" if c.agree else "✗",
        c.how,
    ]


def _conclude(view: hr.View, comparisons: list[Comparison], console: Console) -> None:
    later = [c for c in comparisons if c.report.method != "initial"]
    console.print()
    _total("After the first load", later, console)
    found = [c for c in later if c.how == "looks rows up"]
    if 0 < len(found) < len(later):
        _total("Of these, those that looked rows up", found, console)
    console.print()
    console.print(f"The report, highest {REPORT_ROWS} first:")
    report = Table("category", "gross")
    report.columns[1].justify = "right"
    rows = sorted(view.read().collect(), key=lambda row: row["gross"], reverse=True)
    for row in rows[:REPORT_ROWS]:
        report.add_row(row["category"], f"{row['gross']:,}")
    console.print(report)
    lines = view.explain().splitlines()
    more = f"\n… {len(lines) - EXPLAIN_LINES} more lines" if len(lines) > EXPLAIN_LINES else ""
    console.print("\nHow the last refresh was done (view.explain()):\n")
    console.print("\n".join(lines[:EXPLAIN_LINES]) + more, style="dim", markup=False, soft_wrap=True)
    console.print(
        "\nTry next:\n"
        "  headrace demo --keep shop            keep the files and the warehouse, and look inside\n"
        '  wh.view("mine", "SELECT …")          your own query: the example in README.md is 20 lines\n'
        "  print(view.explain())                what was chosen, over what, and why\n"
        '  make bench-refresh ARGS="--scale 1"  all 22 TPC-H queries, from a checkout of the sources',
        markup=False,
        soft_wrap=True,
    )


def _total(which: str, comparisons: list[Comparison], console: Console) -> None:
    refreshed = sum(c.refresh_seconds for c in comparisons)
    recomputed = sum(c.recompute_seconds for c in comparisons)
    console.print(
        f"{which}: {len(comparisons)} refreshes in {seconds(refreshed)} s, as many recomputes in"
        f" {seconds(recomputed)} s ({ratio(recomputed / refreshed)}).",
        soft_wrap=True,
    )


def _measures(orders: int, comparisons: list[Comparison]) -> dict[str, Any]:
    return {
        "orders": orders,
        "agree": all(c.agree for c in comparisons),
        "batches": [
            {
                "batch": c.batch.number,
                "rows": c.batch.changes,
                "method": c.report.method,
                "how": c.how,
                "refresh_s": round(c.refresh_seconds, 4),
                "recompute_s": round(c.recompute_seconds, 4),
                "ratio": round(c.ratio, 3),
                "rows_read": c.report.rows_read,
                "agree": c.agree,
            }
            for c in comparisons
        ],
    }
