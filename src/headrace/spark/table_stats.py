"""What Parquet files tell of a table without a job: where values lie, from footers; and how many there are, by two
small samples from its ends.

Of two samples with a and b different values, c of them in both, a column has about a × b / c values: the fewer there
are, the more often the same are met. Where none is met twice, a column rises through the table or has a value of its
own in every row, and has as many values for each row as the samples have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.spark.file_stats import as_it_is
from headrace.stats.estimate import drawn
from headrace.stats.table import ColumnFacts, TableFacts

_SAMPLE = 32_768  # rows of each of the two
_LATEST = 5  # files that tell whether a column still rises
_FOOTERS = 200  # files whose footers are asked where the values of a column lie
_File = tuple[str, int, int]


def table_facts(files: Sequence[Path], rows: int, size: int, columns: Sequence[str]) -> TableFacts:
    """The facts of some columns of a table that is so many rows in these files."""
    if not files or not rows:
        return TableFacts(float(rows), float(size))
    known = _asked(files)
    facts = {name: _column(known, rows, name) for name in columns}
    return TableFacts(float(rows), float(size), facts)


def grown(facts: TableFacts, rows: int, size: int) -> TableFacts:
    """The same table with other rows, without looking at it again: what had a value of its own in every row still has,
    what had few values has the same."""
    times = rows / facts.rows if facts.rows else 1.0
    columns = {}
    for name, c in facts.columns.items():
        own = c.distinct is not None and facts.rows > 0 and c.distinct >= 0.9 * facts.rows
        columns[name] = replace(c, distinct=c.distinct * times) if own and c.distinct is not None else c
    return TableFacts(float(rows), float(size), columns)


def _asked(files: Sequence[Path]) -> list[_File]:
    """Files whose footers are read; an empty one, as jobs often leave, tells nothing."""
    step = -(-len(files) // _FOOTERS)
    known = [as_it_is(files[i]) for i in sorted({*range(0, len(files), step), len(files) - 1})]
    return [file for file in known if _rows(*file) != 0] or known


def in_order(facts: TableFacts, files: Sequence[Path]) -> TableFacts:
    """The same table with what its files, in the order in which they came, tell of columns that rise: each of the
    latest begins where all before it end. Of a single file, its own order is taken to be the one in which rows came."""
    numbers = [n for n, c in facts.columns.items() if c.low is not None and c.high is not None]
    asked = _asked(files) if numbers and files else []
    rising = {n: facts.columns[n] for n in numbers}
    for name, column in rising.items():
        high = _risen(asked, name)
        rising[name] = replace(column, rising=high is not None, high=column.high if high is None else high)
    return replace(facts, columns={**facts.columns, **rising})


def _risen(files: Sequence[_File], column: str) -> float | None:
    """Where a column ends that has risen up to now; None for any other."""
    if len(files) == 1:
        return _sorted(files[0], column)
    high, since = -math.inf, len(files) - _LATEST
    for place, file in enumerate(files):
        told = _footer(*file, column)
        if told is None or told[0] is None or told[1] is None or (place >= max(since, 1) and told[0] < high):
            return None
        high = max(high, told[1])
    return high


@lru_cache(maxsize=20_000)
def _sorted(file: _File, column: str) -> float | None:
    """Where a column of one file ends whose last rows have greater values than its first; None for any other."""
    told = _footer(*file, column)
    if told is None or told[1] is None or told[3] <= 2 * _SAMPLE:
        return None
    try:
        first, last = (_sample(file[0], column, _SAMPLE, end=end) for end in (False, True))
        most, least = _number(pc.max(first).as_py()), _number(pc.min(last).as_py())
    except (OSError, ValueError, LookupError, pa.ArrowException):
        return None
    return told[1] if most is not None and least is not None and least >= most else None


def _column(files: Sequence[_File], rows: int, column: str) -> ColumnFacts:
    low = high = None
    nulls = counted = 0
    for file in files:
        told = _footer(*file, column)
        if told is None:
            low = high = None
            break
        one_low, one_high, one_nulls, one_rows = told
        nulls, counted = nulls + one_nulls, counted + one_rows
        if one_low is not None and one_high is not None:
            low = one_low if low is None else min(low, one_low)
            high = one_high if high is None else max(high, one_high)
    distinct, width, whole = _values(files[0], files[-1], column, rows)
    if distinct is not None and whole and low is not None and high is not None:
        distinct = min(distinct, high - low + 1)
    share = nulls / counted if counted else 0.0
    return ColumnFacts(distinct, low, high, share, width)


@lru_cache(maxsize=100_000)
def _rows(path: str, size: int, modified: int) -> int | None:
    """The rows of a file; None where that is not known."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, ValueError, pa.ArrowException):
        return None


@lru_cache(maxsize=100_000)
def _footer(path: str, size: int, modified: int, column: str) -> tuple[float | None, float | None, int, int] | None:
    """From where to where the values of a column of one file are, how many are missing, and how many rows there are."""
    try:
        footer = pq.read_metadata(path)
        names = [footer.schema.column(i).path for i in range(footer.num_columns)]
        place = names.index(column)
    except (OSError, ValueError, pa.ArrowException):
        return None
    low = high = None
    nulls = 0
    for group in range(footer.num_row_groups):
        told = footer.row_group(group).column(place).statistics
        if told is None or not told.has_min_max:
            return None
        nulls += told.null_count if told.has_null_count else 0
        least, most = _number(told.min), _number(told.max)
        if least is None or most is None:
            return None
        low = least if low is None else min(low, least)
        high = most if high is None else max(high, most)
    return low, high, nulls, int(footer.num_rows)


def _number(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case int() | float() | Decimal():
            return float(value)
        case datetime():
            return value.toordinal() + (value.hour * 3600 + value.minute * 60 + value.second) / 86_400
        case date():
            return float(value.toordinal())
    return None


@lru_cache(maxsize=20_000)
def _values(first: _File, last: _File, column: str, rows: int) -> tuple[float | None, float | None, bool]:
    """How many values a column has, the bytes of one, and whether they are whole numbers or days."""
    try:
        one = _sample(first[0], column, 2 * _SAMPLE if rows <= 2 * _SAMPLE else _SAMPLE, end=False)
        other = _sample(last[0], column, _SAMPLE, end=True)
        a, b = pc.unique(one.drop_null()), pc.unique(other.drop_null())
        width = _bytes_of(one)
        whole = pa.types.is_integer(one.type) or pa.types.is_date(one.type)
        if first == last and rows <= 2 * _SAMPLE:
            return float(len(a)), width, whole
        common = int(pc.sum(pc.is_in(b, value_set=a)).as_py() or 0)
    except (OSError, ValueError, LookupError, pa.ArrowException):
        return None, None, False
    if not len(one) or not len(other):
        return None, width, whole
    each = rows * (len(a) + len(b)) / (len(one) + len(other))  # a table has no more values for each row than its parts
    met = drawn(len(a) * len(b) / common, rows) if common else each
    return min(met, each), width, whole


def _sample(path: str, column: str, rows: int, *, end: bool) -> pa.Array:
    """Rows of a column next to each other: the first ones, or the last."""
    with pq.ParquetFile(path) as file:
        groups = file.metadata.num_row_groups
        if end and groups:
            whole = file.read_row_group(groups - 1, columns=[column]).column(0)
            return whole.slice(max(len(whole) - rows, 0)).combine_chunks()
        for batch in file.iter_batches(rows, columns=[column]):
            return batch.column(0)
    return pa.array([])


def _bytes_of(values: pa.Array) -> float | None:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_binary(values.type):
        mean = pc.mean(pc.binary_length(values)).as_py()
        return 8.0 + float(mean or 0.0)
    return None
