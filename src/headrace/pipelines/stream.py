"""What streams of a project do when they are refreshed, told in the same words as a view."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headrace.runtime.lease import lease
from headrace.runtime.report import RefreshReport
from headrace.spark.paths import file_name
from headrace.spark.streams import StreamFlow, StreamTable, run_sink


class Stream(ABC):
    """Something that flows write to. ``below`` are the elements that they read."""

    def __init__(self, name: str, below: frozenset[str], flows: tuple[StreamFlow, ...]) -> None:
        self.name = name
        self.below = below
        self.flows = flows

    @abstractmethod
    def refresh(self, *, full: bool = False, wait: float = 600.0) -> RefreshReport:
        """Read all that is there and was not read yet; with ``full`` from the beginning."""

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
        super().__init__(name, below, flows)
        self.table = table

    def refresh(self, *, full: bool = False, wait: float = 600.0) -> RefreshReport:
        held = self.table.folder.with_name(f"{self.table.folder.name}.lease")
        with lease(held, f'streaming table "{self.name}"', wait):
            started = time.time()
            if full:
                self.table.reset()
            self.table.exist()
            rows = self.table.run(self.flows)
            return self._report(started, full=full, rows=rows, published="appended" if rows else "nothing changed")

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
        super().__init__(name, below, flows)
        self._spark = spark
        self._kind = kind
        self._options = options
        self._folder = folder

    def refresh(self, *, full: bool = False, wait: float = 600.0) -> RefreshReport:
        with lease(self._folder.with_name(f"{self._folder.name}.lease"), f'sink "{self.name}"', wait):
            started = time.time()
            if full:
                shutil.rmtree(self._folder, ignore_errors=True)
            for flow in self.flows:
                checkpoint = self._folder / file_name(flow.name)
                run_sink(self._spark, self.name, flow, self._kind, self._options, checkpoint)
            return self._report(started, full=full, rows=0, published=f"handed to {self._kind}")
