"""The four small tables that random queries read, and the kinds of value in them.

Domains are tiny on purpose: keys must meet, groups must collide, rows must repeat, NULL must be common.
Doubles are multiples of 1/4, so that their sums are exact in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]


class Kind(Enum):
    """What an expression holds, as far as writing a valid and deterministic query needs to know."""

    INT = "INT"
    BIGINT = "BIGINT"
    STRING = "STRING"
    DECIMAL = "DECIMAL(10,2)"
    DOUBLE = "DOUBLE"
    """exact in binary: may be summed in any order"""
    APPROX = "QUOTIENT"
    """a double that is deterministic but not exact (an average): may be compared and grouped, not summed"""
    VAGUE = "ROUNDED"
    """a double that is equal only up to rounding (a deviation): may be returned, nothing else"""
    DATE = "DATE"
    BOOLEAN = "BOOLEAN"
    ARRAY = "ARRAY<INT>"


INTEGERS = (Kind.INT, Kind.BIGINT)
SUMMABLE = (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)
NUMBERS = (*SUMMABLE, Kind.APPROX)

ARROW: dict[Kind, pa.DataType] = {
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.STRING: pa.string(),
    Kind.DECIMAL: pa.decimal128(10, 2),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.ARRAY: pa.list_(pa.int32()),
}

DOMAIN: dict[Kind, tuple[Any, ...]] = {
    Kind.INT: (1, 2, None, 0),
    Kind.BIGINT: (1, 2, None, 0),
    Kind.STRING: ("a", "b", None, ""),
    Kind.DECIMAL: (Decimal("1.00"), Decimal("2.00"), None, Decimal("-1.00"), Decimal("0.50")),
    Kind.DOUBLE: (1.0, 2.0, None, -1.0, 0.25),
    Kind.DATE: (date(2024, 1, 1), date(2024, 1, 2), None, date(2023, 12, 31)),
    Kind.BOOLEAN: (True, False, None),
    Kind.ARRAY: ((1,), (1, 2), None, (), (2, None, 2)),
}
"""The values of each kind, simplest first: a failing case shrinks towards the left."""


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind


@dataclass(frozen=True)
class Table:
    """A base table, or the name of a common table expression."""

    name: str
    columns: tuple[Column, ...]

    def sql(self) -> str:
        return self.name

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.name, ARROW[column.kind]) for column in self.columns])

    def header(self) -> str:
        return f"{self.name}({', '.join(f'{column.name} {column.kind.value}' for column in self.columns)})"


def _table(name: str, **kinds: Kind) -> Table:
    return Table(name, tuple(Column(column, kind) for column, kind in kinds.items()))


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        _table("t1", a=Kind.INT, b=Kind.INT, s=Kind.STRING, d=Kind.DECIMAL),
        _table("t2", a=Kind.INT, k=Kind.BIGINT, x=Kind.DOUBLE, p=Kind.BOOLEAN),
        _table("t3", b=Kind.INT, day=Kind.DATE, x=Kind.DOUBLE, s=Kind.STRING),
        _table("t4", k=Kind.BIGINT, arr=Kind.ARRAY, d=Kind.DECIMAL, day=Kind.DATE),
    )
}
PLAIN = "t3"
"""Always an append-only folder; the others may be change folders."""


def literal(value: Any, kind: Kind) -> str:
    """The value as a SQL literal of exactly this kind."""
    match value:
        case None:
            return f"CAST(NULL AS {'DOUBLE' if kind is Kind.APPROX else kind.value})"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"{value}L" if kind is Kind.BIGINT else str(value)
        case float() if math.isnan(value):
            return "DOUBLE('NaN')"
        case float():
            return f"{value}D"
        case str():
            return f"'{value}'"
        case Decimal():
            return f"{value}BD"
        case date():
            return f"DATE'{value}'"
        case tuple():
            return f"CAST(array({', '.join('NULL' if v is None else str(v) for v in value)}) AS ARRAY<INT>)"
    raise TypeError(f"no literal for {value!r}")
