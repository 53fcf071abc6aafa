"""TPC-H for the benches: its data, cut into a base and deltas, and its queries.

The data comes from `tpcgen-cli`, the query texts from ibis's package data; neither is copied here.
"""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from cuts import Cut, Numbers, Shares, grown, hashed, once, plain_strings, split, write

Pattern = Literal["random", "natural"]

KEYS = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
NEVER_CHANGING = ("region", "nation")
# Files for each unit of scale, so that a file holds one or two million rows at most.
PARTS = {"lineitem": 4.0, "orders": 1.0, "partsupp": 1.0, "part": 0.2, "customer": 0.2}


def queries() -> dict[str, str]:
    """All 22 queries by name, Q01 to Q22."""
    folder = resources.files("ibis.backends.tests") / "tpc" / "queries" / "duckdb" / "h"
    texts = {f"Q{file.name[:-4]}": file.read_text().strip().rstrip(";") for file in folder.iterdir()}
    return dict(sorted(texts.items()))


def cut(folder: Path, scale: float, pattern: Pattern, parts: Sequence[float], say: Callable[[str], None]) -> Cut:
    """The data at this scale, cut so that each delta holds its own part of what changes, the last ones last.

    random:  of every table but nation and region, chosen by a hash of the key.
    natural: the newest orders with their lineitems and nothing else. The newest are those with the highest
             order keys, as in TPC-H's own refresh; their dates spread over all years, so that no query's
             filter on a date spares it the work.
    """
    alike = [(part, len(list(same))) for part, same in groupby(parts)]
    shown = ", ".join(f"{count} of {part:.2%}" for part, count in alike)
    if min(parts, default=0) <= 0 or sum(parts) >= 1:
        raise ValueError(f"deltas of all rows ({shown}) leave no base: make them fewer or smaller")
    raw = _raw(folder, scale, say)
    target = raw.parent / "-".join([pattern, *(f"{part:g}x{count}" for part, count in alike)])
    if not target.exists():
        say(f"cutting off deltas: {shown} ({pattern})")
        shares = 1 - np.cumsum(parts[::-1], dtype=np.float64)[::-1]
        newest = _order_keys_at(raw, shares) if pattern == "natural" else None
        once(target, lambda unfinished: _split(raw, unfinished, shares, newest))
    return Cut(target, len(parts))


def growing(folder: Path, scale: float, pattern: Pattern, parts: Sequence[float], say: Callable[[str], None]) -> Cut:
    """The data at this scale, cut so that each delta brings its own part of what is there at first."""
    raw = _raw(folder, scale, say)
    target = raw.parent / f"{pattern}-{'-'.join(f'{p:g}' for p in parts)}"
    if not target.exists():
        say(f"cutting off deltas of {', '.join(f'{p:.1%}' for p in parts)} ({pattern})")
        shares = grown(parts)
        newest = _order_keys_at(raw, shares) if pattern == "natural" else None
        once(target, lambda unfinished: _split(raw, unfinished, shares, newest))
    return Cut(target, len(parts))


def late(folder: Path, scale: float, first: float, say: Callable[[str], None]) -> Cut:
    """The data at this scale, of which a part is there at first and each of three deltas brings that part of the rest,
    the last what is left: of every table but nation and region, chosen by a hash of the key."""
    raw = _raw(folder, scale, say)
    target = raw.parent / f"late-{first:g}"
    if not target.exists():
        say(f"cutting off what is late: {first:.0%} are there at first")
        shares = 1 - (1 - first) ** np.arange(1, 4, dtype=np.float64)
        once(target, lambda unfinished: _split(raw, unfinished, shares, None))
    return Cut(target, 3)


def leaving(folder: Path, scale: float, delta: float, deletes: float, say: Callable[[str], None]) -> Cut:
    """The data at this scale as changes: a base, and two deltas of the same size, of which the part ``deletes`` takes
    rows of the base away and the rest brings new ones."""
    raw = _raw(folder, scale, say)
    target = raw.parent / f"leaving-{delta:g}-{deletes:g}"
    if not target.exists():
        say(f"cutting off deltas of {delta:.2%}, {deletes:.0%} of them deletes")
        once(target, lambda unfinished: _split_changes(raw, unfinished, delta, deletes))
    return Cut(target, 2)


def _raw(folder: Path, scale: float, say: Callable[[str], None]) -> Path:
    raw = folder / f"sf{scale:g}" / "raw"
    if not raw.exists():
        say(f"generating TPC-H at scale {scale:g}")
        once(raw, lambda unfinished: _generate(unfinished, scale))
    return raw


def _generate(folder: Path, scale: float) -> None:
    program = Path(sysconfig.get_path("scripts")) / "tpcgen-cli"
    for table in KEYS:
        parts = max(1, round(PARTS.get(table, 0) * scale))
        options = [
            f"--scale-factor={scale:g}",
            f"--tables={table}",
            f"--parts={parts}",
            f"--output-dir={folder}",
        ]
        subprocess.run([str(program), "tpch", "parquet", *options, "--quiet"], check=True)


def _split(raw: Path, target: Path, shares: Shares, newest: npt.NDArray[np.int64] | None) -> None:
    split(raw, target, shares.size, [*KEYS], lambda rows, table: _delta_numbers(rows, table, shares, newest))


def _split_changes(raw: Path, target: Path, delta: float, deletes: float) -> None:
    """By a hash: the lowest leave, one delta after the other, and the highest come."""
    new, old = delta * (1 - deletes), delta * deletes
    for table in KEYS:
        parts: dict[int, list[pa.Table]] = {1: [], 2: []}
        for file in sorted((raw / table).glob("*.parquet")):
            rows = plain_strings(pq.read_table(file))
            at = np.full(rows.num_rows, 0.5) if table in NEVER_CHANGING else hashed(rows, KEYS[table])
            write(_changes(rows, at < 1 - 2 * new, "insert"), target / "base" / table / file.name)
            for number in (1, 2):
                came = (at >= 1 - (3 - number) * new) & (at < 1 - (2 - number) * new)
                left = (at >= (number - 1) * old) & (at < number * old)
                parts[number] += [_changes(rows, came, "insert"), _changes(rows, left, "delete")]
        for number, changes in parts.items():
            if any(part.num_rows for part in changes):
                write(pa.concat_tables(changes), target / f"delta-{number}" / f"{table}.parquet")


def _changes(rows: pa.Table, which: npt.NDArray[np.bool_], kind: str) -> pa.Table:
    chosen = rows.filter(pa.array(which))
    return chosen.append_column("_change_type", pa.array([kind] * chosen.num_rows, pa.string()))


def _delta_numbers(rows: pa.Table, table: str, shares: Shares, newest: npt.NDArray[np.int64] | None) -> Numbers:
    if table in NEVER_CHANGING or (newest is not None and table not in ("orders", "lineitem")):
        return np.zeros(rows.num_rows, dtype=np.intp)
    if newest is not None:
        return np.searchsorted(newest, rows[KEYS[table][0]].to_numpy(), side="right")
    return np.searchsorted(shares, hashed(rows, KEYS[table]), side="right")


def _order_keys_at(raw: Path, shares: Shares) -> npt.NDArray[np.int64]:
    keys = np.sort(pq.read_table(raw / "orders", columns=["o_orderkey"])["o_orderkey"].to_numpy())
    return keys[(shares * keys.size).astype(np.int64)]
