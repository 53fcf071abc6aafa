"""The judge of every refresh: two results are the same bag of rows.

    actual EXCEPT ALL expected = ∅   and   expected EXCEPT ALL actual = ∅

Both are collected and their rows weighed here, +1 for each actual and −1 for each expected one: they are
the same when every weight comes to 0. Spark could do it in one job, but for the small results of tests
two jobs without a shuffle are as fast, maps can be compared (Spark cannot group them), and float and
double values may differ by rounding.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

SHOWN = 10
TOLERANCE = 1e-9
FLOAT_TOLERANCE = 1e-6  # a float has 24 bits: its last one is worth 6e-8 of the value

Row = tuple[Any, ...]
# A row in two parts: what must be equal (`...` where a number stood), and the numbers that may be close.
Key = tuple[Row, tuple[float, ...], tuple[float, ...]]
# Gives the first part of a value and adds the numbers, and the tolerance of each, to the two lists.
Split = Callable[[Any, list[float], list[float]], Any]


def same_rows(actual: DataFrame, expected: DataFrame, *, float_tolerance: bool = True) -> None:
    """Raise AssertionError unless both have the same columns, and the same rows the same number of times.

    Names and types must be equal. The order of rows does not count, nor whether a column may be NULL.
    Float and double values, nested ones too, may differ by 1e-9 of the value (float: 1e-6) or by 1e-9;
    NaN equals NaN. With `float_tolerance=False` they must be equal.
    """
    __tracebackhide__ = True
    columns = expected.schema
    if _describe(actual.schema) != _describe(columns):
        raise AssertionError(
            f"the columns differ\n  expected: {_describe(columns)}\n  actual:   {_describe(actual.schema)}"
        )
    if not columns.fields:
        raise ValueError("nothing to compare: the results have no columns")
    ours, theirs = _collect(actual), _collect(expected)
    if ours.equals(theirs):
        return
    kinds = [field.dataType for field in columns.fields]
    splits = [None if _only_as_text(kind) else _split(kind, float_tolerance) for kind in kinds]
    weights: Counter[Key] = Counter()
    rows: dict[Key, Row] = {}
    for table, weight in ((ours, 1), (theirs, -1)):
        for row in _rows(table):
            key = _key(row, splits)
            weights[key] += weight
            rows.setdefault(key, row)
    surplus = [key for key, weight in weights.items() for _ in range(weight)]
    missing = [key for key, weight in weights.items() for _ in range(-weight)]
    if float_tolerance:
        surplus, missing = _without_close_pairs(surplus, missing)
    if surplus or missing:
        raise AssertionError(
            f"the rows differ: {theirs.num_rows} expected, {ours.num_rows} actual\n"
            f"  columns: {_describe(columns)}\n"
            + _list("missing", columns, [rows[key] for key in missing])
            + _list("surplus", columns, [rows[key] for key in surplus])
        )


def _collect(df: DataFrame) -> pa.Table:
    """All rows. A column that Arrow cannot carry comes as text, which is equal when the values are."""
    if any(_only_as_text(field.dataType) for field in df.schema.fields):
        df = df.toDF(*(f"_{i}" for i in range(len(df.columns))))
        df = df.select(
            [
                F.col(field.name).cast("string") if _only_as_text(field.dataType) else F.col(field.name)
                for field in df.schema.fields
            ]
        )
    table = df.toArrow()
    for i, field in enumerate(table.schema):
        # Python compares two times of one zone by the clock on the wall, which shows one hour twice a year.
        if pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC"):
            table = table.set_column(i, field.name, table.column(i).cast(pa.timestamp("us", tz="UTC")))
    return table


def _only_as_text(kind: DataType) -> bool:
    match kind:
        case CalendarIntervalType() | YearMonthIntervalType() | VariantType():
            return True
        case ArrayType():
            return _only_as_text(kind.elementType)
        case MapType():
            return _only_as_text(kind.keyType) or _only_as_text(kind.valueType)
        case StructType():
            return len(set(kind.names)) < len(kind.names) or any(_only_as_text(f.dataType) for f in kind.fields)
        case _:
            return False


def _rows(table: pa.Table) -> Iterator[Row]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _key(row: Row, splits: list[Split | None]) -> Key:
    numbers: list[float] = []
    tolerances: list[float] = []
    fixed = tuple(_apply(split, value, numbers, tolerances) for value, split in zip(row, splits, strict=True))
    return fixed, tuple(numbers), tuple(tolerances)


def _split(kind: DataType, tolerant: bool) -> Split | None:
    """How to split a value of this type; None when the value itself is its first part."""
    match kind:
        case FloatType() | DoubleType():
            tolerance = FLOAT_TOLERANCE if isinstance(kind, FloatType) else TOLERANCE

            def split_number(value: Any, numbers: list[float], tolerances: list[float]) -> Any:
                if math.isnan(value):
                    return "NaN"
                if not tolerant:
                    return value
                numbers.append(value)
                tolerances.append(tolerance)
                return ...

            return split_number
        case ArrayType():
            element = _split(kind.elementType, tolerant)
            return lambda value, *out: tuple(_apply(element, v, *out) for v in value)
        case StructType():
            fields = [(field.name, _split(field.dataType, tolerant)) for field in kind.fields]
            return lambda value, *out: tuple(_apply(field, value[name], *out) for name, field in fields)
        case MapType():
            # A map has no order: its entries are put in one, by keys, which must be equal even if numbers.
            key, item = _split(kind.keyType, False), _split(kind.valueType, tolerant)

            def split_map(value: Any, *out: list[float]) -> Any:
                entries = sorted(((_apply(key, k, *out), v) for k, v in value), key=lambda entry: repr(entry[0]))
                return tuple((k, _apply(item, v, *out)) for k, v in entries)

            return split_map
        case _:
            return None


def _apply(split: Split | None, value: Any, numbers: list[float], tolerances: list[float]) -> Any:
    return value if split is None or value is None else split(value, numbers, tolerances)


def _without_close_pairs(surplus: list[Key], missing: list[Key]) -> tuple[list[Key], list[Key]]:
    """Pair each surplus row with the first missing one that is close to it; give what stays alone."""
    candidates: dict[Row, list[Key]] = defaultdict(list)
    for key in sorted(missing, key=_numbers):
        candidates[key[0]].append(key)
    alone = []
    for key in sorted(surplus, key=_numbers):
        group = candidates[key[0]]
        twin = next((i for i, other in enumerate(group) if _close(key, other)), None)
        if twin is None:
            alone.append(key)
        else:
            del group[twin]
    return alone, [key for group in candidates.values() for key in group]


def _numbers(key: Key) -> tuple[float, ...]:
    return key[1]


def _close(one: Key, other: Key) -> bool:
    return len(one[1]) == len(other[1]) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=TOLERANCE)
        for a, b, tolerance in zip(one[1], other[1], one[2], strict=True)
    )


def _describe(columns: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns.fields)


def _list(title: str, columns: StructType, rows: list[Row]) -> str:
    if not rows:
        return f"  {title}: none\n"
    lines = [f"  {title}: {len(rows)}"]
    for row in rows[:SHOWN]:
        values = (repr(v) if isinstance(v, str | bytes | list | dict) else str(v) for v in row)
        lines.append("    " + ", ".join(f"{n}={v}" for n, v in zip(columns.names, values, strict=True)))
    if len(rows) > SHOWN:
        lines.append(f"    … and {len(rows) - SHOWN} more")
    return "\n".join(lines) + "\n"
