"""Sales and returns that arrive in batches, as change files.

Each batch adds one Parquet file to `sales/` and one to `returns/`. Rows carry `_change_type`: a sale is
inserted once and sometimes corrected later (update_preimage, update_postimage); a return is inserted, often
several batches after its sale, and sometimes withdrawn (delete). The same arguments give the same files.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

CATEGORIES = (
    "audio", "baby", "beauty", "bicycles", "books", "cameras", "computers", "films", "furniture", "games",
    "garden", "grocery", "handmade", "health", "kitchen", "lighting", "luggage", "music", "office", "outdoor",
    "pets", "phones", "shoes", "sports", "tools", "toys", "watches", "wine",
)  # fmt: skip

FIRST_SHARE = 0.9  # of all orders: what the shop sold before the report was first asked for
RETURN_RATE = 0.08
LATENESS = (0.30, 0.25, 0.20, 0.15, 0.10)  # chance that a return comes 0, 1, 2, … batches after its sale
CORRECTION_RATE = 0.02  # corrected old sales for each new one
MOVE_RATE = 0.25  # of the corrections: the category was wrong, not the price
WITHDRAWAL_RATE = 0.05  # withdrawn old returns for each new one

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """What one batch brought, and how many rows of change files were there ``before`` it."""

    number: int
    before: int
    sales: int
    returns: int
    corrections: int
    withdrawals: int

    @property
    def changes(self) -> int:
        """Rows in the files of this batch; a correction is two, the row before and the row after."""
        return self.sales + self.returns + 2 * self.corrections + self.withdrawals


def land_batches(folder: Path, orders: int, batches: int, seed: int = 1) -> Iterator[Batch]:
    """Write one batch under `folder` each time the next one is asked for.

    The first holds nine tenths of the orders; the others share the rest. The orders of the first were sold as fast as
    those after it, so that only returns of its last ones are still to come.
    """
    rng = np.random.default_rng(seed)
    first = orders if batches == 1 else int(orders * FIRST_SHARE)
    ends = np.linspace(first, orders, batches).astype(np.int64)
    starts = np.concatenate(([0], ends[:-1]))

    category = rng.integers(0, len(CATEGORIES), orders)
    price = np.clip(100 * np.exp(rng.normal(3.6, 0.8, orders)), 99, 500_000).astype(np.int64)
    cost = (price * rng.uniform(0.05, 0.25, orders)).astype(np.int64)
    sold_in = np.searchsorted(ends, np.arange(orders), side="right")
    sold_in[:first] = -(np.arange(first)[::-1] * (batches - 1) // max(orders - first, 1))
    lateness = rng.choice(len(LATENESS), orders, p=LATENESS)
    never = batches
    returned_in = np.where(rng.random(orders) < RETURN_RATE, np.maximum(sold_in + lateness, 0), never)
    withdrawn = np.zeros(orders, dtype=bool)

    arrived = 0
    (folder / "sales").mkdir(parents=True)
    (folder / "returns").mkdir()
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        new_sales = np.arange(start, end)
        corrected = rng.choice(start, min(start, int(CORRECTION_RATE * new_sales.size)), replace=False)
        before = _sales(corrected, category, price, "update_preimage")
        moves = rng.random(corrected.size) < MOVE_RATE
        category[corrected[moves]] = rng.integers(0, len(CATEGORIES), int(moves.sum()))
        price[corrected[~moves]] += rng.integers(1, 1_000, int((~moves).sum()))
        after = _sales(corrected, category, price, "update_postimage")

        new_returns = np.flatnonzero(returned_in == number)
        standing = np.flatnonzero((returned_in < number) & ~withdrawn)
        leaving = rng.choice(standing, min(standing.size, int(WITHDRAWAL_RATE * new_returns.size)), replace=False)
        withdrawn[leaving] = True

        name = f"batch-{number + 1:03}.parquet"
        _write(folder / "sales" / name, _sales(new_sales, category, price, "insert"), before, after)
        _write(
            folder / "returns" / name,
            _returns(new_returns, cost, "insert"),
            _returns(leaving, cost, "delete"),
        )
        batch = Batch(number + 1, arrived, new_sales.size, new_returns.size, corrected.size, leaving.size)
        arrived += batch.changes
        yield batch


def _sales(ids: Ints, category: Ints, price: Ints, change: str) -> pa.Table:
    names = pa.array(CATEGORIES).take(pa.array(category[ids]))
    return _changes({"o_id": pa.array(ids), "category": names, "price": _money(price[ids])}, change)


def _returns(ids: Ints, cost: Ints, change: str) -> pa.Table:
    return _changes({"o_id": pa.array(ids), "cost": _money(cost[ids])}, change)


def _changes(columns: dict[str, pa.Array], change: str) -> pa.Table:
    rows = len(columns["o_id"])
    return pa.table({**columns, "_change_type": pa.repeat(change, rows)})


def _money(cents: Ints) -> pa.Array:
    """Cents as DECIMAL(9, 2): exact, so that two ways of adding them up can be compared for equality."""
    halves = np.stack((cents, cents >> 63), axis=1)  # a decimal128 is a 16-byte integer, low half first
    return pa.Array.from_buffers(pa.decimal128(9, 2), cents.size, [None, pa.py_buffer(halves.tobytes())])


def _write(path: Path, *tables: pa.Table) -> None:
    pq.write_table(pa.concat_tables(tables), path, store_decimal_as_integer=True)
