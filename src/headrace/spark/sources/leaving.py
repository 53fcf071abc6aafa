"""Rows that leave must have been there. Of Parquet files that is found without a Spark job: by one column that tells
rows apart, only those rows of all files are read that have a value of the leaving ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.spark.sources.source import CHANGE_TYPE, OUT

UNKNOWN: Any = object()  # there are too many rows to look at here
_SMALL = 20_000  # rows that are looked at one by one in no time
_LEAVING = 100_000
_ALIKE = 300_000  # rows that have a value of the leaving ones


def missing_here(paths: Sequence[Path], since: int, columns: Sequence[str]) -> dict[str, Any] | None:
    """A row that leaves in the files from place ``since`` on and was not there; None where there is none, and
    ``UNKNOWN`` where that is better found by Spark."""
    wanted = [*columns, CHANGE_TYPE]
    out = pa.array(OUT)
    new = _read(paths[since:], wanted)
    leaving = new.filter(pc.is_in(new.column(CHANGE_TYPE), out))
    if leaving.num_rows > _LEAVING:
        return UNKNOWN  # type: ignore[no-any-return]
    found = _rows_like(paths, leaving, wanted, columns)
    if found is None:
        return UNKNOWN  # type: ignore[no-any-return]
    if _none_is_short(found, columns):
        return None
    total: Counter[str] = Counter()
    for row in found.to_pylist():
        sign = -1 if row.pop(CHANGE_TYPE) in OUT else 1
        total[_key(row)] += sign
    return next((r for r in leaving.select(columns).to_pylist() if total[_key(r)] < 0), None)


def _none_is_short(found: pa.Table, columns: Sequence[str]) -> bool:
    """Whether no row leaves more often than it came, as Arrow compares them: nearly always so, and found at once. It
    may tell rows apart that are the same, as two kinds of NaN, and then nothing is known yet."""
    gone = pc.is_in(found.column(CHANGE_TYPE), pa.array(OUT))
    keys = [str(place) for place in range(len(columns))]  # whatever a source calls its columns
    weighted = found.select(columns).rename_columns(keys).append_column("weight", pc.if_else(gone, -1, 1))
    try:
        total = weighted.group_by(keys).aggregate([("weight", "sum")])
    except pa.ArrowNotImplementedError:  # lists and structs are not compared
        return False
    least = pc.min(total.column("weight_sum")).as_py()
    return least is None or least >= 0


def _key(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def _rows_like(
    paths: Sequence[Path], leaving: pa.Table, wanted: Sequence[str], columns: Sequence[str]
) -> pa.Table | None:
    """Rows of all files, of many only those with a value of the leaving ones; None where those are many too."""
    if sum(pq.read_metadata(p).num_rows for p in paths) <= _SMALL:
        return _read(paths, wanted)
    import pyarrow.dataset as ds  # which takes a second

    files, condition = ds.dataset([str(p) for p in paths], format="parquet"), _like(leaving, columns)
    if condition is None:
        return None
    reader = files.scanner(columns={c: ds.field(c) for c in wanted}, filter=condition).to_reader()
    batches: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows > _ALIKE:
            return None
    return pa.Table.from_batches(batches, reader.schema)


def _read(paths: Sequence[Path], columns: Sequence[str]) -> pa.Table:
    """All rows of files, whichever order their columns have. There may be more files than a process may have open."""
    tables = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            tables.append(file.read(columns=columns).select(columns))
    return pa.concat_tables(tables, promote_options="default")


def _like(leaving: pa.Table, columns: Sequence[str]) -> pc.Expression | None:
    """What rows equal to the leaving ones have: in the column that has most different values, one of those."""
    plain = [c for c in columns if _comparable(leaving.schema.field(c).type)]
    if not plain:
        return None
    column = max(plain, key=lambda c: pc.count_distinct(leaving.column(c)).as_py())
    values = leaving.column(column).unique()
    found = pc.field(column).isin(values.drop_null())
    return found | pc.field(column).is_null() if values.null_count else found


def _comparable(kind: pa.DataType) -> bool:
    """Whether values are equal only where they are the same."""
    return any(is_kind(kind) for is_kind in (pa.types.is_integer, pa.types.is_date, pa.types.is_string))
