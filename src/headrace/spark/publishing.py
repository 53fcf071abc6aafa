"""Writing a result: the whole of it anew, or a Delta into as few of its files as hold what it takes away. Nothing is
committed here."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc

from headrace.faults import effect
from headrace.ir.expr import Attr
from headrace.ir.plan import Publish
from headrace.spark.computing import Computing
from headrace.spark.delta_log import File, Table
from headrace.spark.frames import Frame
from headrace.spark.sources.source import CHANGE_TYPE
from headrace.spark.state import file_frame
from headrace.spark.to_spark import Compiler

_MANY_FILES = 12  # of a small result: appended to until then, and written anew as one


class Publishing:
    """One run's part of a result: ``files`` to add to the table, in the place of all or of those ``removed``; and where
    a view reads this one (``feed``), a file of ``changes``."""

    def __init__(self, computing: Computing, compiler: Compiler, result: Table, feed: bool) -> None:
        self.computing = computing
        self.catalyst = computing.catalyst
        self.measures = computing.measures
        self.result = result
        self.files: list[Path] = []
        self.overwrite = False
        self.removed: list[File] = []
        self.changes: Path | None = None
        self._compiler = compiler
        self._feed = feed and CHANGE_TYPE not in result.schema.names

    def publish(self, step: Publish) -> None:
        (self._replace if step.replace else self._change)(step)

    def _replace(self, step: Publish) -> None:
        frame = self._compiler.compile(step.rel).rows()
        self.files, self.measures.published = self._write_result(frame, step.cluster)
        self.overwrite, self.measures.how = True, "replaced"

    def _change(self, step: Publish) -> None:
        """Publish a Delta: appended when it only adds rows, written over a small result, else put into just those
        files of a large one that hold rows it takes away. Where a view reads this one (``feed``), the rows that came
        and left are put beside it: those of a rewritten file would be all of its rows."""
        delta = self._compiler.compile(step.rel)
        if step.growing:
            self.files, self.measures.published = self._write_result(delta.rows())
            self.measures.how = "appended"
            return
        before = self.result.files()
        touched = before
        tiny = self.computing.tiny
        if self._feed or not tiny:
            delta, added, removed = self._signed(delta.consolidate().with_weight())
            self.measures.published = added + removed
            if not added and not removed:
                self.measures.how = "nothing changed"
                return
            if not removed and (not tiny or len(before) < _MANY_FILES):
                self.files, _ = self._write_result(delta.rows())
                self.measures.how = "appended"
                return
            if step.cluster is not None and not tiny and self.computing.small(removed):
                touched = self._touched(delta, step.cluster)
            if self._feed and self.computing.small(added + removed):
                self._write_changes(delta)
        self.measures.bytes_read += sum(f.size for f in touched)
        merged = self._merged(delta, [f.path for f in touched])
        self.files, rows = self._write_result(merged.rows(), step.cluster)
        self.overwrite, self.removed = len(touched) == len(before), touched
        self.measures.how = "rewritten" if self.overwrite else f"rewritten in {len(touched)} of {len(before)} files"
        self.measures.published = self.measures.published or rows

    def _write_changes(self, delta: Frame) -> None:
        """A consolidated Delta as a file of changes."""
        schema, units = self.result.schema, delta.units()
        columns = [c.withName(n) for c, n in zip(units.columns, [*schema.names, CHANGE_TYPE], strict=True)]
        rows = self.catalyst.collect(self.catalyst.project(columns, units.plan)).arrow()
        kinds = pc.if_else(pc.greater(rows.column(CHANGE_TYPE), 0), "insert", "delete")
        with effect("changes written"):
            place = rows.column_names.index(CHANGE_TYPE)
            self.changes = self.result.write_changes(rows.set_column(place, CHANGE_TYPE, kinds))

    def _touched(self, delta: Frame, cluster: Attr) -> list[File]:
        """The files of the result that may hold a row which a Delta takes away."""
        c = self.catalyst
        key = c.attr(cluster)
        leaving = c.filter(f"{delta.w} < 0L", delta.plan)
        values = c.collect(c.aggregate([key], [key], leaving)).arrow().column(0).to_pylist()
        column = self.result.schema.names[delta.attrs.index(cluster)]
        return self.result.meeting(column, values)

    def _merged(self, delta: Frame, files: list[Path]) -> Frame:
        """Files of the result with a Delta added to them."""
        attrs = delta.attrs
        schema = self.result.schema
        old = file_frame(self.catalyst, "result", files, schema, attrs, True, False, weighted=False)
        before = old.with_weight()
        plan = self.catalyst.union([before.plan, delta.with_weight().plan])
        return Frame(self.catalyst, plan, attrs, before.weight, unit=False)

    def _signed(self, delta: Frame) -> tuple[Frame, int, int]:
        """A consolidated Delta, held, and how many rows it adds and takes away."""
        assert delta.weight is not None
        held = self.computing.hold(delta.over(self.catalyst.measure_signs("signs", delta.weight, delta.plan)))
        added, removed = held.seen["signs"]
        return self.computing.leaf(held, "signed"), added, removed

    def _write_result(self, frame: Frame, cluster: Attr | None = None) -> tuple[list[Path], int]:
        if cluster is not None and not self.computing.tiny:
            c = self.catalyst
            frame = frame.over(c.sort(c.seq([c.sort_key(c.attr(cluster))]), frame.plan, everywhere=True))
        with effect("result written"):
            files, rows = self.computing.write(self.result, frame, self.result.schema)
        self.measures.bytes_written = sum(f.stat().st_size for f in files)
        return files, rows
