"""Data cut into a base and the deltas that arrive after it, one Parquet file for each table and delta.

Everything lies under one folder and is made once:

    sf1/raw/<table>/*.parquet                     as `tpcgen-cli` generates it
    sf1/random-0.01x3/base/<table>/*.parquet      what a view is first loaded from
    sf1/random-0.01x3/delta-1/<table>.parquet     what arrives next, and so on
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Shares = npt.NDArray[np.float64]  # where each delta begins, as a fraction of the whole
Numbers = npt.NDArray[np.intp]  # for each row the number of its delta; 0 is the base


@dataclass(frozen=True)
class Cut:
    """Tables at one scale, as a base and the deltas that arrive after it."""

    folder: Path
    deltas: int

    @property
    def tables(self) -> list[str]:
        return sorted(folder.name for folder in (self.folder / "base").iterdir())

    def base(self, table: str) -> list[Path]:
        return sorted((self.folder / "base" / table).glob("*.parquet"))

    def delta(self, number: int, table: str) -> list[Path]:
        """The files of one delta, counted from 1; none where the table does not change."""
        return sorted((self.folder / f"delta-{number}").glob(f"{table}.parquet"))


def place(files: list[Path], folder: Path, name: str) -> None:
    """Let the files appear in a folder, without copying them where the file system allows it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files, 1):
        target = folder / f"{name}-{number:03}.parquet"
        try:
            os.link(file, target)
        except OSError:
            shutil.copyfile(file, target)


def once(target: Path, make: Callable[[Path], None]) -> None:
    """Make a folder under another name and rename it when it is whole: an interrupted run leaves none."""
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    make(unfinished)
    unfinished.rename(target)


def grown(parts: Sequence[float]) -> Shares:
    """Where deltas begin, each of which brings its own part of what is there at first."""
    begins = (1 + np.concatenate([[0.0], np.cumsum(parts)[:-1]])) / (1 + sum(parts))
    return begins.astype(np.float64)


def split(
    raw: Path, target: Path, deltas: int, tables: Sequence[str], numbered: Callable[[pa.Table, str], Numbers]
) -> None:
    """Cut tables into a base, file by file, and one file for each delta that has rows of them."""
    for table in tables:
        parts: dict[int, list[pa.Table]] = {number: [] for number in range(deltas + 1)}
        for file in sorted((raw / table).glob("*.parquet")):
            rows = plain_strings(pq.read_table(file))
            number_of = numbered(rows, table)
            for number in parts:
                parts[number].append(rows.filter(pa.array(number_of == number)))
            write(parts[0].pop(), target / "base" / table / file.name)
        for number in range(1, deltas + 1):
            if any(part.num_rows for part in parts[number]):
                write(pa.concat_tables(parts[number]), target / f"delta-{number}" / f"{table}.parquet")


def plain_strings(rows: pa.Table) -> pa.Table:
    """The generator's string views as strings, which Arrow can filter."""
    fields = [f.with_type(pa.string()) if pa.types.is_string_view(f.type) else f for f in rows.schema]
    return rows.cast(pa.schema(fields))


def hashed(rows: pa.Table, key: Sequence[str]) -> npt.NDArray[np.float64]:
    """For each row a number from 0 to 1 that follows from its key."""
    found = np.zeros(rows.num_rows, dtype=np.uint64)
    for column in key:
        found = _mix(found ^ rows[column].to_numpy().astype(np.uint64))
    return found / 2.0**64


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser: the same on every machine and in every version, unlike an engine's hash()."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def write(rows: pa.Table, file: Path) -> None:
    """As Spark would write it: decimals as integers where they fit, snappy."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, file, compression="snappy", store_decimal_as_integer=True)
