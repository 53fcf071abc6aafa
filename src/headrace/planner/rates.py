"""What the choice of states goes by: the seconds of work on rows, from the prices of this machine.

Large relations are read, met and indexed by all cores; a delta is mostly worked in by one thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.cost.prices import DEFAULT, Prices

_WIDTH = 40.0  # bytes of what is read of a row
_FIND = 5.0e-8  # passing over one more row with the key of a row that leaves


@dataclass(frozen=True)
class Rates:
    """Prices for each row, and of beginning to read a table."""

    prices: Prices = DEFAULT

    def scan(self, rows: float) -> float:
        p = self.prices
        return p.job + rows * (p.scan_row + _WIDTH * p.scan_byte + p.filter_row) / p.cores if rows > 0 else 0.0

    def arrive(self, rows: float) -> float:
        return rows * self.prices.scan_row

    def replay(self, rows: float) -> float:
        return rows * self.prices.held_row

    def materialise(self, rows: float) -> float:
        return rows * (self.prices.held_row + self.prices.found_row)

    def build(self, rows: float) -> float:
        return rows * self.prices.index_row / self.prices.cores

    def insert(self, rows: float) -> float:
        return rows * self.prices.insert_row

    def delete(self, rows: float, fanout: float) -> float:
        return rows * (self.prices.insert_row + _FIND * fanout)

    def probe(self, rows: float) -> float:
        return rows * self.prices.lookup_row

    def meet(self, rows: float) -> float:
        return rows * self.prices.probe_row / self.prices.cores

    def sort(self, rows: float) -> float:
        return rows * self.prices.sort_row

    def merge(self, delta: float, rows: float) -> float:
        return (delta + rows) * self.prices.project_row

    def aggregate(self, rows: float) -> float:
        return rows * (self.prices.aggregate_row + self.prices.group_row)

    def deliver(self, rows: float) -> float:
        return rows * self.prices.found_row
