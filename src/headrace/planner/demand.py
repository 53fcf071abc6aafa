"""What an operator is asked for: its delta, its full result, or the rows that match some keys."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum

Key = tuple[str, ...]


class Emits(IntEnum):
    NOTHING = 0
    DELTA = 1
    FULL = 2


@dataclass(frozen=True, order=True)
class Lookup:
    """Rows that match ``rows`` values of a key are asked for. ``scans`` counts those who ask and would each read for
    itself what is not held; others who ask read it together."""

    key: Key
    rows: float
    scans: int = 0


@dataclass(frozen=True)
class Demand:
    """What an operator is asked for; lookups in the order of their keys."""

    emits: Emits
    lookups: tuple[Lookup, ...] = ()

    def of(self, moved: bool) -> Demand:
        """The same of an operator that has moved or not: a delta that is empty need not be asked for."""
        empty = self.emits is Emits.DELTA and not moved
        return Demand(Emits.NOTHING, self.lookups) if empty else self

    def __or__(self, other: Demand) -> Demand:
        """Both at once. Numbers of rows are kept to two digits: they are estimates, and demands that hardly differ are
        planned once."""
        rows: dict[Key, float] = defaultdict(float)
        scans: dict[Key, int] = defaultdict(int)
        for one in (*self.lookups, *other.lookups):
            rows[one.key] += one.rows
            scans[one.key] += one.scans
        lookups = tuple(Lookup(k, float(f"{rows[k]:.1e}"), scans[k]) for k in sorted(rows))
        return Demand(max(self.emits, other.emits), lookups)


DELTA = Demand(Emits.DELTA)
FULL = Demand(Emits.FULL)
NOTHING = Demand(Emits.NOTHING)
