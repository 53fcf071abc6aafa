"""States: Tvrs kept between runs as Segments, each one commit of a Delta table.

A Segment holds rows with weights; the first is the base. A state at a version is all Segments up to
then, merged by adding weights. A refresh appends a Segment and never rewrites the base.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

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

    def read(
        self,
        catalyst: Catalyst,
        place: Hashable,
        version: int | None = None,
        within: Mapping[Attr, Range] | None = None,
    ) -> Frame:
        """The rows of the state with their weights, or those in files that can have values in some ranges. Of a single
        Segment no two rows are equal. ``place`` tells them from other rows of it that a run reads."""
        files = self.near(within, version) if within else self.table.paths(version)
        segments = {f.parent.name for f in files}
        return file_frame(
            catalyst, ("state", self.name, place), files, self.table.schema, self.attrs, self.unique, len(segments) <= 1
        )

    def near(self, within: Mapping[Attr, Range], version: int | None = None) -> list[Path]:
        """The files that can have values in all of some ranges."""
        return near(self.table.paths(version), {name_of(a): r for a, r in within.items()})

    def bounds(self, attr: Attr) -> Range | None:
        """The values that a column can have as the state is now."""
        return bounds(self.table.paths(), name_of(attr))


def file_frame(
    catalyst: Catalyst,
    place: Hashable,
    files: Sequence[Path],
    schema: StructType,
    attrs: tuple[Attr, ...],
    unit: bool,
    consolidated: bool,
    *,
    weighted: bool = True,
) -> Frame:
    """The rows of files, their columns by position under the ids of attributes; the weight is the last where there is
    one. ``place`` tells them from those of other files of the run."""
    weight = catalyst.weight() if weighted else None
    wanted = attrs if weight is None else (*attrs, weight)
    plan = catalyst.slot_of_files(place, files, schema, wanted)
    if plan is None:
        relation = catalyst.parquet(files, schema)
        output = relation.output()
        columns = [catalyst.named(a, output.apply(i)) for i, a in enumerate(wanted)]
        plan = catalyst.project(columns, catalyst.gathered(relation))
    return Frame(catalyst, plan, attrs, weight, unit, consolidated, exact=True)
