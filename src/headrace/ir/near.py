"""Reading only the files that can matter: ranges of columns, and the part of a leaf that lies in them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.ir.expr import Attr
from headrace.ir.rel import Node, Rel


@dataclass(frozen=True)
class Range:
    """Whole numbers, or days counted from the first of year 1, from ``low`` to ``high``; ``nulls`` says whether NULL is
    among them. A range is never too narrow; one with ``low`` above ``high`` has no values."""

    low: int
    high: int
    nulls: bool

    def meets(self, other: Range) -> bool:
        """Whether a value can be in both, NULL being equal to NULL."""
        return max(self.low, other.low) <= min(self.high, other.high) or (self.nulls and other.nulls)

    def joined(self, other: Range) -> Range:
        """What has the values of both."""
        if self.low > self.high or other.low > other.high:
            full = other if self.low > self.high else self
            return Range(full.low, full.high, self.nulls or other.nulls)
        return Range(min(self.low, other.low), max(self.high, other.high), self.nulls or other.nulls)

    def met(self, other: Range) -> Range:
        """The values that are in both."""
        return Range(max(self.low, other.low), min(self.high, other.high), self.nulls and other.nulls)

    def without_nulls(self) -> Range:
        return Range(self.low, self.high, False)


@dataclass(frozen=True)
class Near(Node):
    """Those rows of a snapshot of a source or of a state, weight kept, that are in files whose values can be in all of
    some ranges. Rows outside the ranges may be among them."""

    input: Rel
    within: tuple[tuple[Attr, Range], ...]

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs
