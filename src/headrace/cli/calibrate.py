"""`headrace calibrate`: measure what work costs on this machine, so that plans are chosen by it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from headrace.cli.opening import aside
from headrace.cli.options import AsJson
from headrace.cli.output import Output, explained

if TYPE_CHECKING:
    from headrace.api.calibration import Calibration, Told


def calibrate(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="About a minute instead of a few, and less exact.")] = False,
    into: Annotated[
        Path | None,
        typer.Option(help="A warehouse, for its views alone; else your own folder, for all.", metavar="DIR"),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs; local\\[*] unless told.", metavar="URL")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the prices by which plans are chosen.

    Made-up tables of several sizes are kept up to date by views that use every operator; from how long their
    steps take follows what a row, a byte, a job and a lookup cost here. Without it, prices of a small machine
    are used. Runs correct them as they go, so this is worth it where the first refreshes matter.
    """
    from headrace.api.calibration import QUICK, THOROUGH
    from headrace.api.calibration import calibrate as measure
    from headrace.api.prices import own_folder, store_prices
    from headrace.spark.session import start_session

    with explained(as_json) as output, tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        with output.console.status("starting Spark"), aside(context, Path(folder)):
            spark = context.obj or start_session({"spark.master": master} if master else None)
        try:
            with _bar(output.console) as tell:
                found = measure(spark, QUICK if quick else THOROUGH, None, tell)
        finally:
            if context.obj is None:
                spark.stop()
        file = store_prices(into or own_folder(), found.prices)
        _show(output, found.prices.record())
        output.console.print(
            f"{found.steps} steps: the middle one is off by {found.error:.2f}×, {_before(found)}\nwritten to {file}",
            soft_wrap=True,
        )
        output.line(
            prices=found.prices.record(),
            steps=found.steps,
            error=round(found.error, 3),
            error_before=round(found.error_before, 3),
            file=str(file),
        )


@contextmanager
def _bar(console: Console) -> Iterator["Told"]:
    columns = (TextColumn("{task.description:<36}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("tables", total=None)
        yield lambda done, total, what: progress.update(task, completed=done, total=total, description=what)


def _before(found: "Calibration") -> str:
    if found.better:
        return f"by the prices before {found.error_before:.2f}×"
    return "and by no other prices less: those before stay"


def _show(output: Output, prices: dict[str, float]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("what")
    table.add_column("price", justify="right")
    for name, value in prices.items():
        table.add_row(name.replace("_", " "), _shown(name, value))
    output.console.print(table)


def _shown(name: str, value: float) -> str:
    if name == "cores":
        return f"{value:.0f}"
    if name.endswith(("_row", "_pair")):
        return f"{value * 1e6:.3f} µs"
    return f"{value * 1e9:.3f} ns" if name.endswith("_byte") else f"{value * 1e3:.1f} ms"
