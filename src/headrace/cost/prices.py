"""What one unit of each kind of work costs on this machine: seconds for a row or a byte of one core, and fixed prices.

The defaults are what a small machine measured; ``headrace calibrate`` measures yours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Prices:
    """Seconds of one core, for each row that goes in unless a comment says otherwise; and fixed ones."""

    # reading
    scan_row: float = 0.09e-6  # of Parquet
    scan_byte: float = 0.6e-9
    held_row: float = 0.05e-6  # of what an earlier step holds in memory
    load_row: float = 0.12e-6  # of a state, with its weights
    open_file: float = 0.002
    # row by row
    filter_row: float = 0.03e-6
    project_row: float = 0.03e-6
    python_row: float = 5e-6
    # joining
    build_row: float = 0.25e-6  # into a hash table
    probe_row: float = 0.08e-6  # in a hash table
    joined_row: float = 0.06e-6  # that comes out
    compare_pair: float = 0.01e-6  # where no key finds matches
    # grouping and order
    aggregate_row: float = 0.12e-6  # finding its group, and again for each call
    group_row: float = 0.3e-6  # for each group that comes out
    consolidate_row: float = 0.4e-6
    sort_row: float = 0.35e-6
    # moving
    shuffle_row: float = 0.4e-6
    shuffle_byte: float = 2e-9
    broadcast_byte: float = 8e-9
    # looking up in an index
    lookup_row: float = 1.0e-6
    found_row: float = 0.4e-6  # that comes out
    index_row: float = 0.7e-6  # building it
    insert_row: float = 0.7e-6
    # writing
    save_row: float = 0.9e-6
    save_byte: float = 6e-9
    collect_row: float = 1.5e-6  # through the driver into a file
    rewrite_row: float = 0.6e-6  # of a result, besides reading and saving it
    # fixed
    run: float = 0.03  # a refresh however little it does: looking, committing, cleaning up
    driver_step: float = 0.01
    job: float = 0.06
    stage: float = 0.03
    operator: float = 0.003  # of a job: Spark plans it anew every time
    prepared: float = 0.0005  # of a small step, which is planned once
    commit: float = 0.01  # of a state
    write: float = 0.12  # by Spark: its own job, tasks and committer

    cores: float = 2.0

    def record(self) -> dict[str, float]:
        """As plain data."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @staticmethod
    def of(record: Mapping[str, float]) -> Prices:
        """Prices with those that a record names; what it has besides is from another version."""
        names = {f.name for f in fields(Prices)}
        return Prices(**{n: float(v) for n, v in record.items() if n in names and float(v) >= 0})


DEFAULT = Prices()
