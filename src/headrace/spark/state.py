"""States: Tvrs kept between runs as Segments, each one commit of a Delta table.

A Segment holds rows with weights; the first is the base. A state at a version is all Segments up to
then, merged by adding weights. A refresh appends a Segment and never rewrites the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructField, StructType

from headrace.cost.folding import Segments
from headrace.errors import StateError
from headrace.ir.expr import Attr
from headrace.ir.near import Range
from headrace.ir.plan import Kept
from headrace.spark.catalyst import WEIGHT, Catalyst, name_of
from headrace.spark.delta_log import Table
from headrace.spark.file_stats import bounds, near
from headrace.spark.frames import Frame
from headrace.spark.schema import spark_type


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

    def segments(self) -> Segments:
        """How large its Segments are."""
        files = self.table.files() if self.table.exists else []
        base = sum(f.rows for f in files if f.segment == files[0].segment)
        count = len({f.segment for f in files})
        return Segments(base, sum(f.rows for f in files) - base, max(count - 1, 0))

    def read(self, catalyst: Catalyst, version: int | None = None, within: Mapping[Attr, Range] | None = None) -> Frame:
        """The rows of the state with their weights, or those in files that can have values in some ranges. Of a single
        Segment no two rows are equal."""
        files = self.near(within, version) if within else self.table.paths(version)
        segments = {f.parent.name for f in files}
        plan = catalyst.parquet(files, self.table.schema)
        return bound_frame(catalyst, plan, self.attrs, self.unique, consolidated=len(segments) <= 1)

    def near(self, within: Mapping[Attr, Range], version: int | None = None) -> list[Path]:
        """The files that can have values in all of some ranges."""
        return near(self.table.paths(version), {name_of(a): r for a, r in within.items()})

    def bounds(self, attr: Attr) -> Range | None:
        """The values that a column can have as the state is now."""
        return bounds(self.table.paths(), name_of(attr))


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
