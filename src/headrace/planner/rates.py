"""Seconds a row, as measured on two cores: what the choice of states goes by."""

from __future__ import annotations

from dataclasses import dataclass

_JOB = 0.05  # beginning to read a table and handing its rows on


@dataclass(frozen=True)
class Rates:
    """Prices for each row."""

    def scan(self, rows: float) -> float:
        return _JOB + 2.0e-7 * rows if rows > 0 else 0.0

    def arrive(self, rows: float) -> float:
        return 2.0e-7 * rows

    def replay(self, rows: float) -> float:
        return 1.0e-7 * rows

    def materialise(self, rows: float) -> float:
        return 3.0e-7 * rows

    def build(self, rows: float) -> float:
        return 7.0e-7 * rows

    def insert(self, rows: float) -> float:
        return 7.0e-7 * rows

    def delete(self, rows: float, fanout: float) -> float:
        return (7.0e-7 + 5.0e-8 * fanout) * rows

    def probe(self, rows: float) -> float:
        return 1.0e-6 * rows

    def sort(self, rows: float) -> float:
        return 1.0e-6 * rows

    def merge(self, delta: float, rows: float) -> float:
        return 2.0e-7 * (delta + rows)

    def aggregate(self, rows: float) -> float:
        return 5.0e-7 * rows

    def deliver(self, rows: float) -> float:
        return 2.0e-7 * rows
