"""Two results as bags of rows: what each has that the other lacks, by EXCEPT ALL in both directions.

Spark does it, so that large results can be compared, and only rows that differ come here. A float or a double may
differ by rounding, for a sum depends on the order of its rows: rows that differ in nothing else are paired here,
unless they are too many to be brought, or the number is inside another value.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

_BROUGHT = 100_000  # rows that differ and are brought to be paired
_CLOSE = {"float": 1e-6, "double": 1e-9}  # of the value, or by as much; a float has 24 bits

Row = tuple[Any, ...]
Difference = tuple[int, list[dict[str, Any]]]


def differences(actual: DataFrame, expected: DataFrame, shown: int) -> tuple[Difference, Difference]:
    """What ``actual`` lacks of ``expected``, and what it has beyond it: how many rows, and up to ``shown`` of them."""
    ours, theirs = _comparable(actual), _comparable(expected)
    missing, surplus = theirs.exceptAll(ours), ours.exceptAll(theirs)
    names, close = actual.columns, [_CLOSE.get(f.dataType.typeName()) for f in actual.schema]

    def told(count: int, rows: Sequence[Row]) -> Difference:
        return count, [dict(zip(names, row, strict=True)) for row in rows[:shown]]

    bring = _BROUGHT if any(close) else shown
    left, right = ([tuple(row) for row in frame.limit(bring + 1).collect()] for frame in (missing, surplus))
    if any(close) and len(left) <= bring and len(right) <= bring:
        left, right = _unpaired(left, right, close)
    return (
        told(len(left) if len(left) <= bring else missing.count(), left),
        told(len(right) if len(right) <= bring else surplus.count(), right),
    )


def _comparable(frame: DataFrame) -> DataFrame:
    """The rows under names by place, with maps as sorted lists: Spark does not compare maps."""
    placed = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return placed.select([_listed(F.col(f.name), f.dataType).alias(f.name) for f in placed.schema])


def _listed(value: Column, kind: DataType) -> Column:
    if isinstance(kind, MapType):
        entries = F.transform(F.map_entries(value), lambda e: _entry(e, kind))
        return F.array_sort(entries)
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda element: _listed(element, kind.elementType))
    if isinstance(kind, StructType) and kind.fields:
        parts = F.struct(*(_listed(value.getField(f.name), f.dataType).alias(f.name) for f in kind))
        return F.when(value.isNotNull(), parts)
    return value


def _entry(entry: Column, kind: MapType) -> Column:
    return F.struct(
        _listed(entry.getField("key"), kind.keyType).alias("key"),
        _listed(entry.getField("value"), kind.valueType).alias("value"),
    )


def _unpaired(missing: list[Row], surplus: list[Row], close: list[float | None]) -> tuple[list[Row], list[Row]]:
    """The rows that have no partner which differs from them in the rounding of numbers alone. Rows that are equal in
    all else are gone through side by side, in the order of their numbers."""

    def split(row: Row) -> tuple[str, list[float]]:
        exact = repr([v for v, may in zip(row, close, strict=True) if may is None or v is None])
        return exact, [v for v, may in zip(row, close, strict=True) if may is not None and v is not None]

    def near(a: Row, b: Row) -> bool:
        pairs = zip(a, b, close, strict=True)
        return all(may is None or x is None or _near(x, y, may) for x, y, may in pairs)

    groups: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((missing, surplus)):
        for row in rows:
            groups[split(row)[0]][side].append(row)
    left: list[Row] = []
    right: list[Row] = []
    for ours, theirs in groups.values():
        a, b = (sorted(rows, key=lambda r: split(r)[1], reverse=True) for rows in (ours, theirs))
        while a and b:
            if near(a[-1], b[-1]):
                a.pop(), b.pop()
            elif split(a[-1])[1] <= split(b[-1])[1]:
                left.append(a.pop())
            else:
                right.append(b.pop())
        left += a
        right += b
    return left, right


def _near(a: float, b: float, may: float) -> bool:
    return math.isclose(a, b, rel_tol=may, abs_tol=may) or (math.isnan(a) and math.isnan(b))
