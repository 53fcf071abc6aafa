"""Rows in memory, changed by calls: for tests and notebooks.

Every call is one further position. The rows live in this process alone, so positions start at the time when the
object was made: one that another process reached is never taken for one of these.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType, _make_type_verifier

from headrace.errors import ConfigError, SourceError
from headrace.spark.catalyst import Catalyst
from headrace.spark.schema import nullable
from headrace.spark.sources.source import CHANGE_TYPE, Scan, SourceReader

Row = tuple[Any, ...]
_REMEMBERED = 8  # plans: old, new and delta of a run, and of the next
_INSERT, _DELETE, _BEFORE, _AFTER = "insert", "delete", "update_preimage", "update_postimage"


class Rows:
    """Rows in memory under a schema (a DDL string, or Spark's StructType). Each call of ``insert``, ``delete``,
    ``update`` or ``change`` is one step that a refresh sees whole or not at all."""

    def __init__(self, schema: str | StructType, rows: Iterable[Sequence[Any]] = ()) -> None:
        self._given = schema
        self._schema: StructType | None = None
        self._start = time.time_ns()
        self._steps: list[list[tuple[str, Row]]] = []
        self._held: Counter[Hashable] = Counter()
        self._lock = RLock()
        first = list(rows)
        if first:
            self.insert(*first)

    def insert(self, *rows: Sequence[Any]) -> None:
        """Add rows."""
        self._record([(_INSERT, tuple(r)) for r in rows])

    def delete(self, *rows: Sequence[Any]) -> None:
        """Take rows away; each must be there."""
        self._record([(_DELETE, tuple(r)) for r in rows])

    def update(self, old: Sequence[Any], new: Sequence[Any]) -> None:
        """Put a row in the place of another, which must be there."""
        self._record([(_BEFORE, tuple(old)), (_AFTER, tuple(new))])

    def change(self, *, insert: Iterable[Sequence[Any]] = (), delete: Iterable[Sequence[Any]] = ()) -> None:
        """Take rows away and add others in one step."""
        self._record([*((_DELETE, tuple(r)) for r in delete), *((_INSERT, tuple(r)) for r in insert)])

    def open(self, name: str, folder: Path, spark: SparkSession) -> RowsReader:
        """The reader of these rows under a name; rows that do not fit the schema are refused."""
        with self._lock:
            if self._schema is None:
                self._schema = _schema(name, self._given)
            for step in self._steps:
                self._check(step, name)
            return RowsReader(name, self, self._schema)

    # --- what a reader needs

    @property
    def start(self) -> int:
        """The position before the first step."""
        return self._start

    @property
    def position(self) -> int:
        """The newest one; 0 while nothing was ever inserted."""
        with self._lock:
            return self._start + len(self._steps) if self._steps else 0

    def steps(self, since: int, until: int) -> list[tuple[str, Row]]:
        """The changes after a position, up to and including another."""
        with self._lock:
            chosen = self._steps[max(since - self._start, 0) : max(until - self._start, 0)]
            return [change for step in chosen for change in step]

    def net(self, until: int) -> list[Row]:
        """The rows that are there at a position."""
        found: dict[Hashable, list[Row]] = {}
        changes = self.steps(0, until)
        for kind, row in changes:
            if kind in (_INSERT, _AFTER):
                found.setdefault(_key(row), []).append(row)
        for kind, row in changes:
            if kind in (_DELETE, _BEFORE):
                found[_key(row)].pop()
        return [row for rows in found.values() for row in rows]

    # --- inside

    def _record(self, changes: list[tuple[str, Row]]) -> None:
        """One step, checked before anything of it is kept."""
        if not changes:
            return
        with self._lock:
            if self._schema is not None:
                self._check(changes, None)
            moved: Counter[Hashable] = Counter()
            for kind, row in changes:
                moved[_key(row)] += 1 if kind in (_INSERT, _AFTER) else -1
            for kind, row in changes:
                if kind in (_DELETE, _BEFORE) and self._held[_key(row)] + moved[_key(row)] < 0:
                    raise SourceError(
                        "DELETE_OF_MISSING_ROW",
                        f"a row is deleted that is not there: {row!r}",
                        hint="give the row with all its values, as it was inserted; nothing was changed",
                    )
            self._held.update(moved)
            self._held = +self._held
            self._steps.append(changes)

    def _check(self, changes: list[tuple[str, Row]], name: str | None) -> None:
        """That rows have the columns and types of the schema."""
        assert self._schema is not None
        verify = _make_type_verifier(self._schema)
        for _, row in changes:
            try:
                verify(row)
            except (PySparkException, ValueError, TypeError) as problem:
                raise SourceError(
                    "ROW_TYPE",
                    f"{f'source {name!r}: ' if name else ''}the row {row!r} does not fit the schema: {problem}",
                    hint=f"the columns are {self._schema.simpleString()}",
                ) from problem


class RowsReader(SourceReader):
    """``Rows`` as runs read them; its plans are remembered."""

    can_shrink = True

    kind = "rows"

    def __init__(self, name: str, rows: Rows, schema: StructType) -> None:
        self.name = name
        self.schema = schema
        self._rows = rows
        self._plans: dict[tuple[int, int], Any] = {}
        self._lock = RLock()

    def discover(self) -> int:
        return self._rows.position

    def snapshot(self, at: int) -> Scan:
        rows = self._rows.net(at)
        return Scan(len(rows), 0, partial(self._plan, (0, at), rows, self.schema))

    def delta(self, since: int, until: int) -> Scan:
        if since == 0:
            return self.snapshot(until)
        changes = self._rows.steps(since, until)
        leaving = sum(1 for kind, _ in changes if kind in (_DELETE, _BEFORE))
        if not leaving:
            return Scan(len(changes), 0, partial(self._plan, (since, until), [r for _, r in changes], self.schema))
        full = StructType([*self.schema.fields, StructField(CHANGE_TYPE, StringType())])
        return Scan(len(changes), leaving, partial(self._plan, (since, until), [(*r, k) for k, r in changes], full))

    def cut(self, since: int) -> str | None:
        if since == 0 or self._rows.start <= since <= max(self._rows.position, self._rows.start):
            return None
        return (
            f'source "{self.name}": its rows are in memory, and what the view has read of them was in another process'
        )

    def _plan(self, key: tuple[int, int], rows: list[Row], schema: StructType, c: Catalyst) -> Any:
        with self._lock:
            if key not in self._plans:
                if len(self._plans) >= _REMEMBERED:
                    del self._plans[next(iter(self._plans))]
                frame = c.spark.createDataFrame(rows, schema, verifySchema=False)
                self._plans[key] = frame._jdf.queryExecution().analyzed()
            return c.put(self._plans[key]).newInstance()


def _schema(name: str, given: str | StructType) -> StructType:
    try:
        found = StructType.fromDDL(given) if isinstance(given, str) else given
    except Exception as problem:
        raise ConfigError(
            "SCHEMA", f'source "{name}": {given!r} is not a schema', hint='write it as in "id bigint, name string"'
        ) from problem
    assert isinstance(found, StructType)
    return StructType([StructField(f.name, nullable(f.dataType), True) for f in found])


def _key(value: Any) -> Hashable:
    """A value that is equal to another just where Spark's would be."""
    if isinstance(value, tuple | list):
        return tuple(_key(v) for v in value)
    if isinstance(value, dict):
        return frozenset((_key(k), _key(v)) for k, v in value.items())
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, bytearray):
        return bytes(value)
    assert isinstance(value, Hashable)
    return value
