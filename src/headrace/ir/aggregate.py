"""Aggregate calls and the partial states through which they merge.

A partial state is a row of buffers for each group, with the merge ``+γ``: adding the buffers of two
disjoint parts of the input gives the buffers of their union. What decides the rules is how far that
holds:

- ALWAYS: the buffers form a group, so rows can leave again (COUNT, exact SUM and AVG);
- GROWING: the buffers only merge upwards (MIN, MAX, and floating-point sums, where taking a large
  value out again would leave its rounding behind);
- NEVER: no small buffer exists; the final value itself is kept and recomputed for touched groups.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from headrace.ir.expr import Attr, Expr

# A sum of decimal(p, s) has type decimal(p + 10, s), and no more than 38 digits.
DIGITS_OF_SUM, MOST_DIGITS = 10, 38
_INTEGRAL = ("tinyint", "smallint", "int")
_SPREAD = ("stddev_samp", "stddev_pop", "stddev", "var_samp", "var_pop", "variance")


class Merging(IntEnum):
    NEVER = 0
    GROWING = 1
    ALWAYS = 2


@dataclass(frozen=True)
class Call:
    """One aggregate call: ``function([DISTINCT] args) [FILTER (WHERE filter)]``, giving ``attr``."""

    attr: Attr
    function: str
    args: tuple[Expr, ...]
    distinct: bool = False
    filter: Expr | None = None
    text: str = field(compare=False, default="")
    handle: Any = field(compare=False, repr=False, default=None)

    def __str__(self) -> str:
        return self.text or f"{self.function}({', '.join(map(str, self.args))})"

    @property
    def merging(self) -> Merging:
        return _kind(self)[0]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(
            Buffer(Attr(f"{self.attr.id}.{name}", f"{self.attr.name}.{name}", type_), merge)
            for name, type_, merge in _kind(self)[1]
        )


@dataclass(frozen=True)
class Buffer:
    """One column of a partial state, and how two of them merge: add, least, greatest, spread or replace."""

    attr: Attr
    merge: str


def decimal_of(type_: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal type, else None."""
    found = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", type_)
    return (int(found[1]), int(found[2])) if found else None


def floating(type_: str) -> bool:
    """Whether values of the type can differ by rounding, alone or nested."""
    return "double" in type_ or "float" in type_


_Kind = tuple[Merging, tuple[tuple[str, str, str], ...]]


def _kind(call: Call) -> _Kind:
    result = call.attr.type
    keep: _Kind = (Merging.NEVER, (("value", result, "replace"),))
    if call.distinct:
        return keep
    count = ("count", "bigint", "add")
    if call.function == "count":
        return Merging.ALWAYS, (count,)
    if len(call.args) != 1:
        return keep
    argument = call.args[0].type
    digits = decimal_of(argument)
    if call.function in ("min", "max"):
        merge = "least" if call.function == "min" else "greatest"
        orderable = not any(nested in argument for nested in ("array", "struct", "map", "variant"))
        return (Merging.GROWING, (("value", result, merge),)) if orderable else keep
    if call.function in ("sum", "avg") and digits:
        wide = f"decimal({min(digits[0] + DIGITS_OF_SUM, MOST_DIGITS)},{digits[1]})"
        return Merging.ALWAYS, (("sum", wide, "add"), count)
    if call.function in ("sum", "avg") and argument in (*_INTEGRAL, "bigint"):
        wide = "decimal(38,0)" if call.function == "avg" and argument == "bigint" else "bigint"
        return Merging.ALWAYS, (("sum", wide, "add"), count)
    if call.function in ("sum", "avg") and argument in ("float", "double"):
        return Merging.GROWING, (("sum", "double", "add"), count)
    if call.function in _SPREAD and argument == "double":
        return Merging.GROWING, tuple((part, "double", "spread") for part in ("n", "avg", "m2"))
    return keep
