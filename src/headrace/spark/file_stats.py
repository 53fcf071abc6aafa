"""Statistics of a Parquet file as a Delta log holds them: rows, and the range of each column.

They come from the footer, so that no row is read. Readers skip files by them, so a range may be too wide but
never too narrow: what is not certain is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.ir.near import Range

COLUMNS = 32  # a Delta log describes the first 32 columns by default
_LONGEST = 256  # characters of a text
_DOUBLE_DIGITS = 15
_NUMBER = "headrace.number "
_MILLISECOND = timedelta(milliseconds=1)


def file_stats(path: Path) -> str:
    """The statistics of a file as JSON. Decimals are numbers there, which Python's own writer would round."""
    return re.sub(rf'"{_NUMBER}([-0-9.]+)"', r"\1", json.dumps(_ranges(path)))


def near(files: Sequence[Path], within: Mapping[str, Range]) -> list[Path]:
    """The Parquet files whose values of some columns can be in all of some ranges."""

    def can(file: Path) -> bool:
        known = ((_bounds(*as_it_is(file), column), wanted) for column, wanted in within.items())
        return all(bounds is None or bounds.meets(wanted) for bounds, wanted in known)

    return [f for f in files if can(f)]


def bounds(files: Sequence[Path], column: str) -> Range | None:
    """The values that a column of Parquet files can have; None where that is not known."""
    found: Range | None = None
    for file in files:
        one = _bounds(*as_it_is(file), column)
        if one is None:
            return None
        found = one if found is None else found.joined(one)
    return found


def rows_in(files: Sequence[Path]) -> int:
    """How many rows Parquet files hold."""
    return sum(_rows(*as_it_is(f)) for f in files)


def as_it_is(file: Path) -> tuple[str, int, int]:
    """What tells a file from another that took its place; one that is not there from all that are."""
    try:
        stat = file.stat()
    except OSError:
        return str(file), -1, -1
    return str(file), stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=100_000)
def _rows(path: str, size: int, modified: int) -> int:
    return int(pq.read_metadata(path).num_rows) if size >= 0 else 0


@lru_cache(maxsize=100_000)
def _bounds(path: str, size: int, modified: int, column: str) -> Range | None:
    """The whole numbers or days of a column of one file; None where its footer does not tell of all its values."""
    try:
        footer = pq.read_metadata(path)
        names = [footer.schema.column(i).path for i in range(footer.num_columns)]
        place = names.index(column)
    except (OSError, ValueError, pa.ArrowException):
        return None
    found = Range(1, 0, False)
    for group in range(footer.num_row_groups):
        told = footer.row_group(group).column(place).statistics
        if told is None or not told.has_null_count:
            return None
        if told.num_values == 0:  # it has NULLs alone
            found = found.joined(Range(1, 0, told.null_count > 0))
            continue
        if not told.has_min_max:
            return None
        low, high = (v.toordinal() if type(v) is date else v for v in (told.min, told.max))
        if type(low) is not int or type(high) is not int:
            return None
        found = found.joined(Range(low, high, told.null_count > 0))
    return found


def spread(files: Sequence[Path], column: str) -> int | None:
    """How many different values a column of Parquet files can have, by its range; None where that is not known."""
    ranges = [_range(str(f), column) for f in files]
    known = [r for r in ranges if r is not None]
    if not known or len(known) < len(ranges):
        return None
    least, most = min(r[0] for r in known), max(r[1] for r in known)
    return int(most - least) + 1


@lru_cache(maxsize=100_000)
def _range(path: str, column: str) -> tuple[int, int] | None:
    """The least and the greatest of whole numbers or days. Where another file takes its place, the estimate is old."""
    try:
        footer = pq.read_metadata(path)
        names = [footer.schema.column(i).path for i in range(footer.num_columns)]
        groups = [footer.row_group(i).column(names.index(column)).statistics for i in range(footer.num_row_groups)]
    except (OSError, ValueError, pa.ArrowException):
        return None
    if not groups or not all(g is not None and g.has_min_max for g in groups):
        return None
    bounds = [v.toordinal() if isinstance(v, date) else v for g in groups for v in (g.min, g.max)]
    whole = all(isinstance(v, int) for v in bounds)
    return (min(bounds), max(bounds)) if whole else None


def _ranges(path: Path) -> dict[str, Any]:
    """``numRecords``, and ``minValues``, ``maxValues``, ``nullCount`` of top-level columns where they are known."""
    footer = pq.read_metadata(path)
    found: dict[str, Any] = {"numRecords": footer.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for place in range(min(footer.num_columns, COLUMNS)):
        column = footer.schema.column(place)
        if column.max_repetition_level or column.path != column.name:
            continue
        groups = [footer.row_group(i).column(place).statistics for i in range(footer.num_row_groups)]
        if not all(g is not None and g.has_null_count for g in groups):
            continue
        found["nullCount"][column.name] = sum(g.null_count for g in groups)
        filled = [g for g in groups if g.null_count < g.num_values + g.null_count]
        if filled and all(g.has_min_max for g in filled):
            least, most = _json(min(g.min for g in filled), up=False), _json(max(g.max for g in filled), up=True)
            if least is not None and most is not None:
                found["minValues"][column.name] = least
                found["maxValues"][column.name] = most
    return found


def _json(value: Any, *, up: bool) -> Any:
    """A bound as the log writes it; None where it cannot be written without being too narrow."""
    match value:
        case bool() | bytes():
            return None
        case int() | str() if not isinstance(value, str) or len(value) <= _LONGEST:
            return value
        case float():
            # NaN is above all numbers and -0.0 equals 0.0, but footers do not say whether either is there.
            return value if math.isfinite(value) and value != 0 and not up else None
        case Decimal():
            # As a number with all its digits, of which readers keep those that a double holds.
            return f"{_NUMBER}{value:f}" if len(value.as_tuple().digits) <= _DOUBLE_DIGITS else None
        case datetime():
            return _instant(value, up=up)
        case date():
            return value.isoformat()
    return None


def _instant(value: datetime, *, up: bool) -> str:
    """In milliseconds, as the log counts, rounded outwards."""
    cut = value.replace(microsecond=value.microsecond // 1000 * 1000)
    if up and cut != value:
        cut += _MILLISECOND
    text = cut.astimezone(timezone.utc).replace(tzinfo=None) if cut.tzinfo else cut
    return text.isoformat(timespec="milliseconds") + ("Z" if cut.tzinfo else "")
