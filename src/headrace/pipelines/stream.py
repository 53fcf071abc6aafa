"""What streams of a project do when they are refreshed, told in the same words as a view."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headrace.api.removal import size_of
from headrace.runtime.lease import lease
from headrace.runtime.policy import Policy
from headrace.runtime.progress import Looking, Progress, RunBegan, RunDone, silent
from headrace.runtime.report import RefreshReport
from headrace.spark.paths import file_name
from headrace.spark.streams import StreamFlow, StreamTable, remove_at_once, run_sink


def lease_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lease")


class Stream(ABC):
    """Something that flows write to. ``below`` are the elements that they read."""

    policy: Policy | None = None

    def __init__(self, name: str, below: frozenset[str], flows: tuple[StreamFlow, ...], folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.below = below
        self.flows = flows

    def refresh(self, *, full: bool = False, wait: float = 600.0, progress: Progress = silent) -> RefreshReport:
        """Read all that is there and was not read yet; with ``full`` from the beginning."""
        with lease(self._lease, f'"{self.name}"', wait):
            started = time.time()
            progress(Looking(self.name))
            progress(RunBegan(self.name, "full" if full else "incremental", None, len(self.flows), {}, None))
            rows, published = self._run(full)
            report = self._report(started, full=full, rows=rows, published=published)
            progress(RunDone(self.name, report))
            return report

    def drop(self, *, wait: float = 600.0) -> int:
        """Remove all that is kept, while no run is in hand; returns the bytes freed."""
        with lease(self._lease, f'"{self.name}"', wait):
            size = size_of([self.folder])
            remove_at_once(self.folder)
        return size

    def vacuum(self, *, wait: float = 600.0) -> int:
        """Remove what runs that were ended have left; returns the bytes freed."""
        return 0

    @property
    def _lease(self) -> Path:
        """The file whose lock says that a run is in hand."""
        return lease_of(self.folder)

    @abstractmethod
    def _run(self, full: bool) -> tuple[int, str]:
        """How many rows were written, and how."""

    def _report(self, started: float, *, full: bool, rows: int, published: str) -> RefreshReport:
        return RefreshReport(
            view=self.name,
            run=0,
            started=started,
            method="full" if full else "incremental" if rows else "unchanged",
            code="REQUESTED" if full else None,
            reason="it was asked for" if full else None,
            estimated=None,
            seconds=time.time() - started,
            since={},
            until={},
            rows_in={},
            rows_read=rows,
            bytes_read=0,
            rows_out=rows,
            published=published,
            bytes_written=0,
            operators=(),
            states={},
            steps={},
        )


class StreamingTable(Stream):
    """A streaming table: its flows append to it."""

    def __init__(self, name: str, below: frozenset[str], flows: tuple[StreamFlow, ...], table: StreamTable) -> None:
        super().__init__(name, below, flows, table.folder)
        self.table = table

    def vacuum(self, *, wait: float = 600.0) -> int:
        with lease(self._lease, f'"{self.name}"', wait):
            self.table.table.reload()
            before = size_of([self.folder])
            self.table.table.clean(1)
            return before - size_of([self.folder])

    def _run(self, full: bool) -> tuple[int, str]:
        if full:
            self.table.reset()
        self.table.exist()
        rows = self.table.run(self.flows)
        return rows, "appended" if rows else "nothing changed"

    def read(self) -> DataFrame:
        """All rows."""
        return self.table.read()


class StreamSink(Stream):
    """A sink outside: what its flows give is handed to it, and how far they came is kept."""

    def __init__(
        self,
        name: str,
        below: frozenset[str],
        flows: tuple[StreamFlow, ...],
        spark: SparkSession,
        kind: str,
        options: Mapping[str, str],
        folder: Path,
    ) -> None:
        super().__init__(name, below, flows, folder)
        self._spark = spark
        self._kind = kind
        self._options = options

    def _run(self, full: bool) -> tuple[int, str]:
        if full:
            remove_at_once(self.folder)
        for flow in self.flows:
            checkpoint = self.folder / file_name(flow.name)
            run_sink(self._spark, self.name, flow, self._kind, self._options, checkpoint)
        return 0, f"handed to {self._kind}"
