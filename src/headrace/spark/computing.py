"""Computing frames. Little work is done in one partition; few rows come to the driver, many are held by Spark, and
either become files of a table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headrace.errors import InternalError
from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst, Collected
from headrace.spark.delta_log import Table, rows_of
from headrace.spark.frames import Frame
from headrace.spark.measures import Measures, Watch

# Below this many rows a result goes through the driver: one small file, written without a Spark job. A step that
# reads no more works in a single partition, for starting a task takes longer than its work.
SMALL = 150_000
MIDDLE = 5_000_000
# Up to this many rows of a result come to the driver at once.
COLLECTED = 250_000


@dataclass(frozen=True)
class Computed:
    """What a step has computed: a frame, its rows where they are in the driver, and what was measured on the way."""

    frame: Frame
    rows: Collected | None
    seen: Mapping[str, list[int]] = field(default_factory=dict)


class Computing:
    """The computing of one run, a step at a time. ``many`` are the steps that once had too many rows for the driver;
    ``rows`` says how many each step of this run has computed; ``written`` are those last written, where they are here.
    A run is ``loading`` when it computes from scratch, and ``tiny`` while a step reads no more than ``few`` rows."""

    def __init__(self, catalyst: Catalyst, many: set[str], watch: Watch | None, few: int | None = None) -> None:
        self.catalyst = catalyst
        self.many = many
        self.watch = watch
        self.few = SMALL if few is None else few
        self.measures = Measures()
        self.loading = False
        self.tiny = False
        self.rows: dict[str, int] = {}
        self.written: Collected | None = None
        self._held: list[Any] = []
        self._step_name = ""

    @contextmanager
    def measured(self, step: str) -> Iterator[None]:
        """Take the time of a step, and tell of it."""
        self._step_name = step
        if self.watch is not None:
            self.watch.began(step)
        started = time.perf_counter()
        yield
        self.measures.seconds[step] = seconds = time.perf_counter() - started
        if self.watch is not None:
            self.watch.done(step, self.rows[step], seconds)

    def work(self, rows: int, *, in_tasks: bool = False) -> None:
        """Work in one partition where all that is read is few rows; not where they must go ``in_tasks`` to what they
        are looked up in."""
        self.tiny = self.small(rows) and not in_tasks
        self.catalyst.work("small" if self.tiny else "middle" if rows <= MIDDLE and not self.loading else "large")

    def small(self, rows: int) -> bool:
        """Whether rows are so few that no tasks are worth starting for them."""
        return rows <= self.few

    def release(self) -> None:
        """Let Spark forget what it holds."""
        for held in self._held:
            held.unpersist(False)

    # --- to be used by later steps

    def counted(self, frame: Frame) -> Frame:
        return frame.over(self.catalyst.measure("out", frame.plan))

    def none(self, attrs: tuple[Attr, ...]) -> Computed:
        """What a step has computed that has no rows."""
        columns = [self.catalyst.attr(a) for a in attrs]
        return Computed(
            Frame(self.catalyst, self.catalyst.no_rows(columns), attrs, consolidated=True, exact=True), None
        )

    def hold(self, frame: Frame, name: str = "") -> Computed:
        """Compute a frame once and hold its rows, in the driver when few; and what was measured on the way. ``name`` is
        that of a part of a step."""
        frame, c = frame.select(frame.attrs), self.catalyst
        rows = self._few(frame.plan, name or self._step_name)
        if rows is not None:
            seen = self.measures.observed(rows.observed)
            if len(rows) and not all(sum(values) for name, values in seen.items() if name in ("out", "signs")):
                raise InternalError("BAD_MEASURE", f"{len(rows)} rows were counted as none")
            return Computed(frame, rows, seen)
        computed = c.frame(frame.plan)
        held = computed.localCheckpoint()
        plan = held._jdf.queryExecution().analyzed()
        self._held.append(plan.rdd())
        return Computed(frame.over(c.put(plan)), None, self._observe(computed))

    def leaf(self, computed: Computed, name: str) -> Frame:
        """What was computed, as a leaf of a later plan."""
        frame, rows = computed.frame, computed.rows
        if rows is None:
            return frame.over(self.catalyst.gathered(frame.plan))
        columns = frame.attrs if frame.weight is None else (*frame.attrs, frame.weight)
        return frame.over(self.catalyst.slot_of_rows(("step", name), rows, columns))

    def _few(self, plan: Any, step: str) -> Collected | None:
        """The rows of a plan, unless they are many. A step that had many once is taken to have many again."""
        if step in self.many:
            return None
        rows = self.catalyst.collect_most(plan, COLLECTED)
        if rows is None:
            self.many.add(step)
        return rows

    # --- as files

    def write(self, table: Table, frame: Frame, schema: StructType) -> tuple[list[Path], int]:
        """A frame's rows as files of a table: through the driver when few, else by Spark. A load is expected to have
        many."""
        columns = [c.withName(f.name) for c, f in zip(frame.columns, schema, strict=True)]
        plan = self.catalyst.project(columns, frame.plan)
        rows = self.written = self._few(plan, self._step_name) if self.tiny or not self.loading else None
        if rows is not None:
            self.measures.observed(rows.observed)
            return table.write_arrow(rows.arrow()), len(rows)
        computed = self.catalyst.frame(plan)
        if self.loading:
            files = table.write_spark(computed)
            return files, rows_of(files)
        held = computed.localCheckpoint()  # what a write measures on its way cannot be read
        rdd = held._jdf.queryExecution().analyzed().rdd()
        try:
            self._observe(computed)
            files = table.write_spark(held)
            return files, rows_of(files)
        finally:
            rdd.unpersist(False)

    def _observe(self, frame: DataFrame) -> dict[str, list[int]]:
        return self.measures.observed(self.catalyst.observed(frame))
