"""Statistics of a Parquet file as a Delta log holds them: rows, and the range of each column.

They come from the footer, so that no row is read. Readers skip files by them, so a range may be too wide but
never too narrow: what is not certain is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 32  # a Delta log describes the first 32 columns by default
_LONGEST = 256  # characters of a text
_DOUBLE_DIGITS = 15
_NUMBER = "headrace.number "
_MILLISECOND = timedelta(milliseconds=1)


def file_stats(path: Path) -> str:
    """The statistics of a file as JSON. Decimals are numbers there, which Python's own writer would round."""
    return re.sub(rf'"{_NUMBER}([-0-9.]+)"', r"\1", json.dumps(_ranges(path)))


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
