"""What a source is to a run: positions, and rows at them.

To add a kind of source, write a description that people create (``Folder`` is one) with a method ``open``,
and a ``SourceReader`` that it opens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst
from headrace.spark.frames import Frame

CHANGE_TYPE = "_change_type"
IN = ("insert", "update_postimage")
OUT = ("delete", "update_preimage")


@dataclass(frozen=True)
class Scan:
    """Rows of a source that are not read yet: how many they are, how many of them take others back, and the bytes of
    the files that hold them; the files themselves where they are Parquet, for what their footers tell, and ``among``
    to read just some of those.

    ``plan`` gives a logical relation with the columns of the source's schema in their order; where some rows
    leave, a last column holds the change type of each. Every call gives attributes of its own.
    """

    rows: int
    leaving: int
    plan: Callable[[Catalyst], Any]
    bytes: int = 0
    files: Sequence[Path] = ()
    among: Callable[[Sequence[Path]], Scan] | None = None
    stored: StructType | None = None

    def frame(self, c: Catalyst, attrs: tuple[Attr, ...], places: Sequence[int], width: int) -> Frame:
        """The rows under the ids of attributes, each from its place among the ``width`` columns of the schema. They
        have weights only where some leave, for a row that came and went must not be seen: an expression might fail
        on it."""
        plan = self.plan(c)
        output = plan.output()
        columns = [c.named(a, output.apply(place)) for a, place in zip(attrs, places, strict=True)]
        weight = c.weight() if self.leaving else None
        if weight is not None:
            columns.append(c.named(weight, c.sign(output.apply(width), OUT)))
        return Frame(c, c.project(columns, c.gathered(plan)), attrs, weight, exact=True)

    def slot(self, c: Catalyst, name: Hashable, attrs: tuple[Attr, ...], places: Sequence[int], width: int) -> Frame:
        """The same rows, put into the slot of a place that the name tells."""
        if self.stored is not None and self.files:
            kinds = (Attr(f"{attrs[0].id}.change", CHANGE_TYPE, "string"),) if self.leaving else ()
            fields = [self.stored[place] for place in (*places, *([width] if kinds else []))]
            plan = c.slot_of_files(name, self.files, StructType(fields), (*attrs, *kinds))
            if plan is not None:
                frame = Frame(c, plan, attrs, exact=not kinds)
                return frame.weighed(c.sign(c.attr(kinds[0]), OUT)) if kinds else frame
        frame = self.frame(c, attrs, places, width)
        kept = attrs if frame.weight is None else (*attrs, frame.weight)
        return frame.over(c.slot_of_plan(name, frame.plan, kept))


class SourceReader(ABC):
    """One source of a warehouse, as runs read it.

    A position is a whole number. 0 is before all data, and a larger one is later. What must hold:

    - reading at the same position twice gives the same rows, in any process;
    - snapshot(w) = snapshot(v) + delta(v, w) for v ≤ w, weights added, and snapshot(0) is empty;
    - no row of a snapshot has a negative weight in sum;
    - without ``can_shrink`` no scan has rows that leave.
    """

    name: str
    schema: StructType
    can_shrink: bool

    @property
    @abstractmethod
    def kind(self) -> str:
        """What sort of source it is: positions of one sort mean nothing in another."""

    @abstractmethod
    def discover(self) -> int:
        """Look for new data and check it; returns the position reached. Data that is not as promised raises SourceError
        and is not recorded, so that it can be corrected."""

    @abstractmethod
    def snapshot(self, at: int) -> Scan:
        """All rows at a position."""

    @abstractmethod
    def delta(self, since: int, until: int) -> Scan:
        """What came after one position, up to and including another."""

    def mark(self, at: int) -> str:
        """What tells the rows at a position from those of another source that has such a position too. It is kept with
        the view; where it is another one later, the view is computed anew."""
        return ""

    def cut(self, since: int) -> str | None:
        """Why the rows at a position, or the changes after it, can no longer be read; None when they can. It is asked
        after ``discover``; a view that was at such a position is computed anew, and its report says why."""
        return None


class SourceDescription(Protocol):
    """What people pass to ``Warehouse.source``."""

    def open(self, name: str, folder: Path, spark: SparkSession) -> SourceReader:
        """The reader of a source by that name. It may keep files of its own under ``folder``, named after
        ``paths.file_name(name)``: a name can be any text."""
