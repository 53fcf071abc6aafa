"""States: Tvrs kept between runs as Segments, each one commit of a Delta table.

A Segment holds rows with weights; the first is the base. A state at a version is all Segments up to
then, merged by adding weights. A refresh appends a Segment and never rewrites the base.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql.types import StructField, StructType

from headrace.errors import StateError
from headrace.ir.expr import Attr
from headrace.ir.plan import Kept
from headrace.spark.catalyst import WEIGHT, Catalyst, name_of
from headrace.spark.delta_log import Table
from headrace.spark.frames import Frame
from headrace.spark.schema import spark_type

_FEW_ROWS = 1_000
_MANY_SEGMENTS = 12  # opening a file costs a millisecond or two


class State:
    """One kept Tvr of a view."""

    def __init__(self, folder: Path, kept: Kept) -> None:
        self.name = kept.name
        self.attrs: tuple[Attr, ...] = kept.rel.attrs
        self.unique = kept.unique
        fields = [StructField(name_of(a), spark_type(a)) for a in (*self.attrs, WEIGHT)]
        self.table = Table(folder / kept.name, StructType(fields))

    def readable(self, version: int) -> bool:
        """Whether all files of a version are there."""
        try:
            return self.table.exists and version <= self.table.version and not self.table.missing(version)
        except StateError:
            return False

    def sound(self) -> bool:
        """Whether its log can be read, or is not there yet."""
        try:
            return not self.table.exists or self.table.version >= 0
        except StateError:
            return False

    def worth_folding(self) -> bool:
        """Whether reading the later Segments costs more than the base: then folding pays before they double again.
        A small state is folded when it has many files, for each costs as much as thousands of rows."""
        files = self.table.files()
        base = sum(f.rows for f in files if f.segment == files[0].segment)
        later = sum(f.rows for f in files) - base
        return later > max(base, _FEW_ROWS) or len({f.segment for f in files}) > _MANY_SEGMENTS

    def read(self, catalyst: Catalyst, version: int | None = None) -> Frame:
        """The rows of the state with their weights. Of a single Segment no two rows are equal."""
        files = self.table.paths(version)
        segments = {f.parent.name for f in files}
        plan = catalyst.parquet(files, self.table.schema)
        return bound_frame(catalyst, plan, self.attrs, self.unique, consolidated=len(segments) <= 1)


def bound_frame(
    catalyst: Catalyst,
    plan: Any,
    attrs: tuple[Attr, ...],
    unit: bool,
    *,
    consolidated: bool,
    weighted: bool = True,
) -> Frame:
    """A plan's columns, by position, under the ids of attributes; the weight is the last where there is one."""
    weight = catalyst.weight() if weighted else None
    output = plan.output()
    wanted = attrs if weight is None else (*attrs, weight)
    columns = [catalyst.named(a, output.apply(i)) for i, a in enumerate(wanted)]
    return Frame(
        catalyst, catalyst.project(columns, catalyst.gathered(plan)), attrs, weight, unit, consolidated, exact=True
    )
