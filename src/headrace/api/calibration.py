"""Prices of this machine: made-up tables of several sizes, views that use every operator, their refreshes measured step
by step, and the prices that explain them.

What a view does for the first time compiles its code, which later runs need not, so it is not counted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.api.expected import Ran
from headrace.api.warehouse import Warehouse
from headrace.cost.calibrate import Sample, better, error, samples, units
from headrace.cost.prices import Prices
from headrace.spark.sources.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Told = Callable[[int, int, str], None]

VIEWS = {
    "filter": "SELECT id, v * 2 AS w, s FROM facts WHERE v > 300",
    "few groups": "SELECT g, sum(v) AS total, count(*) AS n FROM facts GROUP BY g",
    "many groups": "SELECT k, sum(v) AS total, count(*) AS n FROM facts GROUP BY k",
    "join": "SELECT f.id, f.v, d.name FROM facts f JOIN dims d ON f.k = d.k WHERE d.c < 500",
    "join and group": "SELECT d.c, sum(f.v) AS total FROM facts f JOIN dims d ON f.k = d.k GROUP BY d.c",
    "semi-join": "SELECT k, name FROM dims WHERE EXISTS (SELECT 1 FROM facts WHERE facts.k = dims.k AND v > 990)",
    "greatest": "SELECT k, max(v) AS most, count(DISTINCT g) AS kinds FROM facts GROUP BY k",
    "window": "SELECT id, k, rank() OVER (PARTITION BY k ORDER BY v) AS place FROM facts WHERE v > 900",
    "first": "SELECT id, v, s FROM facts ORDER BY v DESC, id LIMIT 100",
}


@dataclass(frozen=True)
class Scene:
    """Tables of a size and the changes that come to them, with memory to look rows up in or without."""

    rows: int
    deltas: tuple[int, ...]
    memory: int


@dataclass(frozen=True)
class Calibration:
    """Prices, and by how many times steps differ from them and from the ones before, in the middle."""

    prices: Prices
    steps: int
    error: float
    error_before: float

    @property
    def better(self) -> bool:
        """Whether prices are new ones: those before stay where they explain the steps as well."""
        return self.error < self.error_before


_FIRST = (0, 2)  # turns in which a view does something for the first time: computes everything, works changes in
QUICK = (Scene(40_000, (2_000,), 0), Scene(500_000, (2_000, 50_000), 0), Scene(500_000, (10_000,), 2**30))
THOROUGH = (
    Scene(40_000, (200, 4_000, 20_000), 0),
    Scene(600_000, (2_000, 200_000), 0),
    Scene(3_000_000, (2_000, 30_000, 300_000), 0),
    Scene(3_000_000, (2_000, 30_000, 120_000), 2**31),
)


def calibrate(
    spark: SparkSession | None,
    scenes: tuple[Scene, ...],
    start: Prices | None = None,
    tell: Told = lambda *_: None,
    *,
    views: Collection[str] = (),
) -> Calibration:
    """Measure and fit. ``tell`` hears how many refreshes are done, of how many, and what comes next. ``views`` are some
    of those in ``VIEWS``, without it all."""
    views = views or tuple(VIEWS)
    total = sum(len(views) * (3 + len(s.deltas)) for s in scenes)
    measured: list[Sample] = []
    done = 0

    def before(scene: Scene, view: str) -> None:
        nonlocal done
        tell(done, total, f"{scene.rows:,} rows, {view}")
        done += 1

    old = start or Prices()
    for scene in scenes:
        with tempfile.TemporaryDirectory(prefix="headrace-calibrate-", ignore_cleanup_errors=True) as folder:
            warehouse = Warehouse(Path(folder) / "warehouse", spark, memory=scene.memory)
            spark, old = warehouse.spark, replace(old, cores=warehouse._prices.cores)
            measured += _played(scene, warehouse, Path(folder), views, before)
    prices = better(measured, old)
    return Calibration(prices, len(measured), error(measured, prices), error(measured, old))


def _played(
    scene: Scene, warehouse: Warehouse, folder: Path, names: Collection[str], before: Callable[[Scene, str], None]
) -> list[Sample]:
    """The steps of all refreshes of a scene but each view's first of a kind."""
    tables, measured = _Tables(folder, scene.rows), list[Sample]()
    for source in ("facts", "dims"):
        warehouse.source(source, Folder(folder / source))
    warehouse._budget.eager = bool(scene.memory)
    cores = warehouse._prices.cores
    views = [warehouse.view(name, VIEWS[name]) for name in names]
    for view in views:
        view._observer = lambda ran: measured.extend(_steps(ran, cores))
    for turn, rows in enumerate((0, 0, scene.deltas[0], *scene.deltas)):
        tables.add(rows)
        kept = len(measured)
        for view in views:
            before(scene, view.name)
            view.refresh(full=turn == 1)
        if turn in _FIRST:
            del measured[kept:]
    for view in views:
        view._memory.clear()
    return measured


def _steps(ran: Ran, cores: float) -> list[Sample]:
    """The steps of a run as equations; what the run took besides is a price of its own."""
    expected, report = ran.expected, ran.report
    if ran.plan.situation is None:
        steps = units(ran.plan, expected.whole, cores)
    else:
        steps = units(ran.plan, expected.known, cores, result=expected.result, held=ran.held)
    found = samples(steps, report.steps)
    return [*found, Sample("run", max(report.seconds - sum(report.steps.values()), 0.0), {"run": 1.0})]


class _Tables:
    """Facts that refer to dimensions, in files."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder = folder
        self.random = np.random.default_rng(5)
        self.dims = max(rows // 20, 100)
        self.rows = 0
        self.files = 0
        (folder / "dims").mkdir()
        (folder / "facts").mkdir()
        k = np.arange(self.dims)
        names = pa.array([f"dimension {i:08}" for i in k])
        pq.write_table(pa.table({"k": k, "c": k % 1_000, "name": names}), folder / "dims" / "0.parquet")
        for _ in range(4):
            self.add(rows // 4)

    def add(self, rows: int) -> None:
        if not rows:
            return
        draw = self.random
        table = pa.table(
            {
                "id": np.arange(self.rows, self.rows + rows),
                "k": draw.integers(0, self.dims, rows),
                "g": draw.integers(0, 50, rows),
                "v": draw.integers(0, 1_000, rows),
                "s": pa.array([f"text {i}" for i in draw.integers(0, 5_000, rows)]),
            }
        )
        self.rows, self.files = self.rows + rows, self.files + 1
        pq.write_table(table, self.folder / "facts" / f"{self.files:04}.parquet")
