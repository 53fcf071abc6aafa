"""The strategy of random data: what four tables hold at first, and how they change.

A history is a list of batches; a batch gives each table no file, one or two. Files of a change folder carry
inserts, deletes and updates; the folder of a plain table only grows. `History.net` is the truth: the rows
that each table holds after a batch, kept in Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from .expressions import Pen
from .tables import DOMAIN, PLAIN, TABLES, Kind, Row, Table

MOST_ROWS = 7
INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"
SIGNS = {INSERT: "+", DELETE: "-", BEFORE: "<", AFTER: ">"}


class Change(NamedTuple):
    type: str
    row: Row


File = tuple[Change, ...]
Batch = Mapping[str, tuple[File, ...]]


def insert(*rows: Row) -> File:
    return tuple(Change(INSERT, row) for row in rows)


def delete(*rows: Row) -> File:
    return tuple(Change(DELETE, row) for row in rows)


def update(old: Row, new: Row) -> File:
    return (Change(BEFORE, old), Change(AFTER, new))


def batch(**files: File) -> Batch:
    """One file for each table named: `batch(t1=insert((1, 2, "a", None)) + delete(…))`."""
    return {name: (file,) for name, file in files.items()}


@dataclass(frozen=True)
class History:
    """Batches in order. The first one is the initial load: it gives every table a file."""

    batches: tuple[Batch, ...]
    plain: frozenset[str] = frozenset({PLAIN})

    def __post_init__(self) -> None:
        first = {name: self.batches[0].get(name) or ((),) for name in TABLES}
        object.__setattr__(self, "batches", (first, *self.batches[1:]))
        kinds = {c.type for b in self.batches for name in self.plain for f in b.get(name, ()) for c in f}
        if kinds - {INSERT}:
            raise ValueError("a plain folder only grows")
        self.net(len(self.batches) - 1)

    def net(self, step: int) -> dict[str, list[Row]]:
        """The rows of each table after batches 0 to `step`."""
        rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        for files in self.batches[: step + 1]:
            for name, written in files.items():
                changes = [change for file in written for change in file]
                rows[name] += [c.row for c in changes if c.type in (INSERT, AFTER)]
                for change in changes:
                    if change.type in (DELETE, BEFORE):
                        _remove(rows[name], change.row)
        return rows

    @property
    def size(self) -> int:
        """Batches, files and changes."""
        files = [file for step in self.batches for written in step.values() for file in written]
        return len(self.batches) + len(files) + sum(map(len, files))

    def write(self, step: int, root: Path) -> None:
        """Write the files of one batch, each into the folder of its table."""
        for name, files in self.batches[step].items():
            (root / name).mkdir(parents=True, exist_ok=True)
            for number, file in enumerate(files):
                table = arrow(TABLES[name], [change.row for change in file])
                if name not in self.plain:
                    table = table.append_column("_change_type", pa.array([change.type for change in file], pa.string()))
                pq.write_table(table, root / name / f"{step:03}-{number:03}.parquet")

    def text(self, names: Sequence[str] = tuple(TABLES)) -> str:
        """The history of some tables, one line for each change."""
        lines = []
        for step, files in enumerate(self.batches):
            lines.append(f"batch {step}")
            for name in names:
                for number, file in enumerate(files.get(name, ())):
                    kind = "append-only" if name in self.plain else "changes"
                    head = f"{TABLES[name].header()} {kind}" if step == 0 and number == 0 else name
                    lines.append(f"  {head}{'' if file else ': a file without rows'}")
                    lines += [f"    {SIGNS[c.type]} {' | '.join(map(_cell, c.row))}" for c in file]
        return "\n".join(lines)

    def code(self, names: Sequence[str] = tuple(TABLES)) -> str:
        """The history of some tables as Python, to be pasted into `test_regressions.py`."""
        steps = []
        for files in self.batches:
            written = {name: files[name] for name in names if any(files.get(name, ()))}
            if all(len(parts) == 1 for parts in written.values()):
                steps.append(f"batch({', '.join(f'{n}={_file_code(f[0])}' for n, f in written.items())})")
            else:
                parts = (f"{n!r}: ({', '.join(map(_file_code, f))},)" for n, f in written.items())
                steps.append(f"{{{', '.join(parts)}}}")
        plain = "" if self.plain == {PLAIN} else f", plain=frozenset({sorted(self.plain)!r})"
        return f"History(({', '.join(steps)},){plain})"


def smaller(history: History) -> Iterator[History]:
    """Histories with one thing less: a batch, a table, a table in one batch, a change."""
    steps = history.batches
    for i in range(len(steps) - 1, 0, -1):
        yield from _valid(history, (*steps[:i], *steps[i + 1 :]))
    for name in TABLES:
        changes = [(i, change) for i, step in enumerate(steps) for f in step.get(name, ()) for change in f]
        yield from _with(history, name, [])
        for i in sorted({i for i, _ in changes}, reverse=True):
            yield from _with(history, name, [(j, change) for j, change in changes if j != i])
        for place, (_, change) in enumerate(changes):
            pair = 2 if change.type == BEFORE else 1
            if change.type != AFTER:
                yield from _with(history, name, changes[:place] + changes[place + pair :])
            if change.type == INSERT:
                yield from _with(history, name, _without_life(changes, place))


def _without_life(changes: list[tuple[int, Change]], place: int) -> list[tuple[int, Change]]:
    """Without the row inserted here, which is deleted or updated later."""
    row = repr(changes[place][1].row)
    rest = list(changes)
    for end in range(place + 1, len(rest)):
        kind = rest[end][1].type
        if kind in (DELETE, BEFORE) and repr(rest[end][1].row) == row:
            if kind == BEFORE:
                rest[end + 1] = (rest[end + 1][0], Change(INSERT, rest[end + 1][1].row))
            del rest[end]
            break
    del rest[place]
    return rest


def _with(history: History, name: str, changes: list[tuple[int, Change]]) -> Iterator[History]:
    """The history with these changes of one table instead of its own, in one file for each batch."""
    steps = []
    for i, step in enumerate(history.batches):
        files = {other: written for other, written in step.items() if other != name}
        if file := tuple(change for j, change in changes if j == i):
            files[name] = (file,)
        steps.append(files)
    yield from _valid(history, tuple(steps))


def _valid(history: History, steps: tuple[Batch, ...]) -> Iterator[History]:
    try:
        other = History(steps, history.plain)
    except ValueError:
        return
    if other.size < history.size:
        yield other


def arrow(table: Table, rows: Sequence[Row]) -> pa.Table:
    """The rows as an Arrow table with the table's schema."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.columns)
    return pa.Table.from_arrays(
        [pa.array(list(c), f.type) for c, f in zip(columns, table.schema, strict=True)], schema=table.schema
    )


def _remove(rows: list[Row], row: Row) -> None:
    """Remove one copy. By representation, since NaN is not equal to itself."""
    for i, other in enumerate(rows):
        if repr(other) == repr(row):
            del rows[i]
            return
    raise ValueError(f"no such row to delete: {row}")


def _cell(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return repr(value)
        case tuple():
            return f"[{', '.join(map(_cell, value))}]"
        case _:
            return str(value)


def _file_code(file: File) -> str:
    parts, left = [], list(file)
    while left:
        change = left.pop(0)
        if change.type == BEFORE:
            parts.append(f"update({_row_code(change.row)}, {_row_code(left.pop(0).row)})")
        else:
            parts.append(f"{change.type}({_row_code(change.row)})")
    return " + ".join(parts) or "()"


def _row_code(row: Row) -> str:
    return repr(row).replace("datetime.date(", "date(").replace("Decimal(", "D(").replace("nan", "NAN")


# --- the strategy ---


@st.composite
def histories(draw: st.DrawFn, special: bool = False) -> History:
    """Data and up to three batches of changes. `special` adds NaN to the doubles."""
    return _Chronicler(Pen(draw), special).history()


class _Chronicler:
    """Draws one history and remembers the rows of each table."""

    def __init__(self, pen: Pen, special: bool) -> None:
        self.pen = pen
        self.domain = {kind: DOMAIN[kind] for kind in DOMAIN}
        if special:
            self.domain[Kind.DOUBLE] = (*DOMAIN[Kind.DOUBLE], math.nan)
        self.rows: dict[str, list[Row]] = {}

    def history(self) -> History:
        plain = {PLAIN} | ({self.pen.pick(tuple(TABLES))} if self.pen.chance(2) else set())
        first = {name: (self.load(table),) for name, table in TABLES.items()}
        steps = [self.changes(plain) for _ in range(self.pen.pick((1, 2, 2, 2, 2, 2, 3, 3)))]
        return History((first, *steps), frozenset(plain))

    def load(self, table: Table) -> File:
        count = self.pen.pick((0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, MOST_ROWS, MOST_ROWS))
        rows: list[Row] = []
        for _ in range(count):
            rows.append(self.pen.pick(rows) if rows and self.pen.chance(5) else self.row(table))
        self.rows[table.name] = rows
        return insert(*rows)

    def row(self, table: Table) -> Row:
        return tuple(self.pen.pick(self.domain[column.kind]) for column in table.columns)

    def changes(self, plain: set[str]) -> Batch:
        files: dict[str, tuple[File, ...]] = {}
        if self.pen.chance(10):
            return files
        for name, table in TABLES.items():
            match self.pen.up_to(9):
                case 0 | 1:
                    continue
                case 9 if self.pen.chance(3):
                    files[name] = ((),)
                case 8:
                    files[name] = (self.file(table, name in plain), self.file(table, name in plain))
                case _:
                    files[name] = (self.file(table, name in plain),)
        return files

    def file(self, table: Table, grows: bool) -> File:
        acts = [self.act(table, grows) for _ in range(1 + self.pen.up_to(2))]
        return tuple(change for act in acts for change in act)

    def act(self, table: Table, grows: bool) -> File:
        rows, pen = self.rows[table.name], self.pen
        if grows or not rows:
            choice = pen.pick((0, 0, 0, 1))
        else:
            choice = pen.pick((0, 2, 2, 3, 3, 1, 4, 2, 3, 0, 0, 3, 1, 5))
        match choice:
            case 1 if rows:
                row = pen.pick(rows)
                rows.append(row)
                return insert(row)
            case 2:
                return delete(rows.pop(pen.up_to(len(rows) - 1)))
            case 3:
                old = rows.pop(pen.up_to(len(rows) - 1))
                place = pen.up_to(len(old) - 1)
                new = (*old[:place], pen.pick(self.domain[table.columns[place].kind]), *old[place + 1 :])
                rows.append(new)
                return update(old, new)
            case 4:
                row = pen.pick(rows)
                return delete(row) + insert(row)
            case 5:
                gone = delete(*rows)
                rows.clear()
                return gone
            case _:
                row = self.row(table)
                rows.append(row)
                return insert(row)
