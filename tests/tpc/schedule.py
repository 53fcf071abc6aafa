"""The loads of each table, and the rows it must hold after each: bookkeeping that knows nothing of Headrace.

| load | what arrives                                                                                      |
| ---- | ------------------------------------------------------------------------------------------------- |
| 0    | about 85 % of the rows                                                                            |
| 1    | inserts only                                                                                      |
| 2    | inserts, updates and deletes in every table                                                       |
| 3    | the same, but one table, the largest that the query reads, gets nothing                           |
| 4    | the same, but one table loses all of its rows; which one goes round with the number of the query  |
| 5    | the same, but that table is filled again (long runs only)                                         |

Updates put the value of another row, or NULL, into one or two columns that some query mentions, foreign keys
among them. A load also holds what a careless reader of changes gets wrong: a second copy of a row, a row
that comes and goes in the same load, a row that is updated twice in it, changes spread over two files in no
order.

A history is the tuple of steps that a table went through. Everything is decided by checksums of the table's
name, the number of the load and the row's place, so that two tables with one history hold the same rows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tpc.data import VERSION, Tables, base_tables, publish
from tpc.queries import TABLES, Query, words

LOADS = ("initial", "inserts", "mixed", "one idle", "one emptied", "one refilled")
USUAL = 5
SEED = 2  # one of a few that were tried, which leaves the fewest answers empty

History = tuple[str, ...]

# Columns that identify a row and stay as they are. Sales and returns have none: they are bags of events.
KEYS = {
    "part": {"p_partkey"},
    "partsupp": {"ps_partkey"},
    "supplier": {"s_suppkey"},
    "customer": {"c_custkey", "c_customer_sk"},
    "orders": {"o_orderkey"},
    "nation": {"n_nationkey", "n_name"},
    "region": {"r_regionkey"},
}
EVENTS = {
    *("lineitem", "inventory", "store_sales", "store_returns"),
    *("catalog_sales", "catalog_returns", "web_sales", "web_returns"),
}
# Some queries compare with (SELECT DISTINCT d_month_seq … WHERE d_year = … AND d_moy = …), which must stay
# one row: in the calendar most columns stay, a few may become NULL.
CALENDAR = {"d_date_id", "d_month_seq", "d_week_seq", "d_quarter_seq", "d_moy"}
ONLY_NULL = {"d_date", "d_year"}


@dataclass(frozen=True)
class Load:
    """One load of one table: the files that arrive and the table as it is afterwards."""

    files: tuple[Path, ...]
    truth: Path


class Ledger:
    """All loads of one benchmark, made when they are first asked for and kept in `folder`."""

    def __init__(self, benchmark: str, folder: Path) -> None:
        self.benchmark = benchmark
        self.folder = folder
        self._loads: dict[tuple[str, History], Load] = {}
        self._lock = RLock()

    @cached_property
    def base(self) -> Tables:
        return base_tables(self.benchmark, self.folder)

    def load(self, table: str, history: History) -> Load:
        """The last load of a history."""
        key = (table, history)
        with self._lock:
            if key not in self._loads:
                home = self.folder / f"{self.benchmark}-{VERSION}-loads" / table / "-".join(history)
                if not home.exists():
                    self._make(table, history, home)
                self._loads[key] = Load(tuple(sorted(home.glob("changes-*.parquet"))), home / "truth.parquet")
            return self._loads[key]

    def _make(self, table: str, history: History, home: Path) -> None:
        before = pq.read_table(self.load(table, history[:-1]).truth) if history[1:] else None
        changes, after = step(table, history, self.base[table], before)
        home.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="partial-", dir=home.parent))
        for i, part in enumerate(_two_files(changes) if "mixed" in history[1:] else [changes]):
            if part.num_rows:
                pq.write_table(part, partial / f"changes-{i}.parquet")
        pq.write_table(after, partial / "truth.parquet")
        publish(partial, home)


def histories(query: Query, sizes: dict[str, int]) -> dict[str, History]:
    """What each table of a query goes through."""
    steps = {table: ["initial", "inserts", "mixed", "mixed", "mixed", "mixed"] for table in query.tables}
    if len(query.tables) > 1:
        steps[max(query.tables, key=lambda table: sizes[table])][3] = "idle"
    emptied = query.tables[query.number % len(query.tables)]
    steps[emptied][4:] = ["emptied", "refilled"]
    return {table: tuple(taken) for table, taken in steps.items()}


def deliver(load: Load, folder: Path, number: int) -> None:
    """Let the files of a load appear in a source's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, file in enumerate(load.files):
        target = folder / f"load-{number}-{i}.parquet"
        try:
            os.link(file, target)
        except OSError:  # another file system
            shutil.copyfile(file, target)


def step(table: str, history: History, base: pa.Table, before: pa.Table | None) -> tuple[pa.Table, pa.Table]:
    """The changes of the last step of a history and the rows after it."""
    number, kind = len(history) - 1, history[-1]
    arriving = _take(base, _arriving(table, base.num_rows, number))
    if before is None:
        return _changes(insert=arriving), arriving
    match kind:
        case "inserts":
            return _changes(insert=arriving), pa.concat_tables([before, arriving])
        case "idle":
            return _changes(insert=before.slice(0, 0)), before
        case "emptied":
            return _changes(delete=before), before.slice(0, 0)
        case "refilled":
            return _changes(insert=base), pa.concat_tables([before, base])
        case "mixed":
            return _mixed(table, number, base, before, arriving)
    raise ValueError(kind)


def _mixed(table: str, number: int, base: pa.Table, before: pa.Table, arriving: pa.Table) -> tuple[pa.Table, pa.Table]:
    size = before.num_rows
    order = _shuffled(f"{table} {number}", size)
    # Few of the others: a row of a dimension takes many answers with it.
    deletes = size // 25 if table in EVENTS else int(size >= 8)
    updates = size // 20 if size >= 60 else 1 + size // 10
    gone, touched, rest = order[:deletes], order[deletes : deletes + updates], order[deletes + updates :]
    deleted, old, kept = _take(before, gone), _take(before, touched), _take(before, rest)
    new = _updated(f"{table} {number}", table, base, old)
    # The first of them change once more in the same load.
    twice = new.slice(0, updates // 5)
    newest = _updated(f"{table} {number} again", table, base, twice)
    fleeting = _take(base, _shuffled(f"{table} {number} fleeting", base.num_rows)[:2])
    copies = kept.slice(0, kept.num_rows // 200 if table in EVENTS else 0)
    inserted = pa.concat_tables([arriving, copies])
    changes = _changes(
        insert=pa.concat_tables([inserted, fleeting]),
        delete=pa.concat_tables([deleted, fleeting]),
        update_preimage=pa.concat_tables([old, twice]),
        update_postimage=pa.concat_tables([new, newest]),
    )
    return changes, pa.concat_tables([kept, inserted, newest, new.slice(twice.num_rows)])


def _updated(salt: str, table: str, base: pa.Table, old: pa.Table) -> pa.Table:
    """The rows with one or two columns changed: to another row's value, or to NULL in one case of four."""
    # Every table but the listed ones starts with its key.
    fixed = KEYS.get(table, set() if table in EVENTS else {base.column_names[0]}) | CALENDAR
    free = [name for name in base.column_names if name in words() and name not in fixed]
    donors = _take(base, [_checksum(f"{salt} donor {i}") % base.num_rows for i in range(old.num_rows)])
    chosen = [{_checksum(f"{salt} {turn} {i}") % len(free) for turn in "ab"} for i in range(old.num_rows)]
    null = [_checksum(f"{salt} null {i}") % 4 == 0 for i in range(old.num_rows)]
    new = old
    for place, name in enumerate(free):
        changed = pa.array([place in places for places in chosen], pa.bool_())
        to_null = pa.array([flag or name in ONLY_NULL for flag in null], pa.bool_())
        value = pc.if_else(to_null, pa.scalar(None, base.schema.field(name).type), donors[name])
        new = new.set_column(
            new.schema.get_field_index(name), new.schema.field(name), pc.if_else(changed, value, old[name])
        )
    return new


def _arriving(table: str, size: int, number: int) -> list[int]:
    """The places in the base table of the rows that are inserted by a load."""
    shares = (1, 1, 1, 1) if table == "date_dim" else (6, 4, 3, 2)  # without its day a sale says nothing
    later = [max(size * share // 100, int(size >= least)) for share, least in zip(shares, (2, 12, 12, 12), strict=True)]
    ends = [size - sum(later[i:]) for i in range(len(later))] + [size]
    start = ends[number - 1] if number else 0
    return _shuffled(table, size)[start : ends[number]] if number < len(ends) else []


def _changes(**rows: pa.Table) -> pa.Table:
    return pa.concat_tables(
        table.append_column("_change_type", pa.array([kind] * table.num_rows, pa.string()))
        for kind, table in rows.items()
    )


def _two_files(changes: pa.Table) -> list[pa.Table]:
    order = _shuffled("files", changes.num_rows)
    half = changes.num_rows // 2 if changes.num_rows > 20 else 0
    return [_take(changes, order[:half]), _take(changes, order[half:])]


def _take(table: pa.Table, places: list[int]) -> pa.Table:
    return table.take(pa.array(places, pa.int64()))


def _shuffled(salt: str, size: int) -> list[int]:
    return sorted(range(size), key=lambda i: _checksum(f"{salt} {i}"))


def _checksum(text: str) -> int:
    return zlib.crc32(f"{SEED} {text}".encode()) * 2654435761 % 4294967291


def sizes(ledger: Ledger) -> dict[str, int]:
    return {table: ledger.base[table].num_rows for table in TABLES[ledger.benchmark]}
