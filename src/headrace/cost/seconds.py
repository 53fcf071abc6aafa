"""Costs in seconds for a search over plans: node by node, before there are steps.

Which step a node will be in is not known yet, so whether that is a large one is told by the node's own rows: rows that
are many anywhere in a step make it large.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headrace.cost.model import SMALL, inserted, price, published, saved
from headrace.cost.operators import RECORD, Pricing
from headrace.cost.prices import DEFAULT, Prices
from headrace.ir.rel import Node
from headrace.stats.cardinality import Estimate, Known, estimate

# Beginning a scan, and handing its rows to others, costs as much as looking so many rows up.
SCAN = 500_000


@dataclass(frozen=True)
class Seconds:
    """What is known in one run, and what work costs on this machine. Rows are looked up in what has room in ``memory``
    bytes, each table by itself: which of them are held at once is chosen later."""

    known: Known
    prices: Prices = DEFAULT
    memory: float = 0.0

    def estimate(self, node: Node, inputs: tuple[Estimate, ...]) -> Estimate:
        return estimate(node, inputs, self.known)

    def price(self, node: Node, inputs: tuple[Estimate, ...], output: Estimate, found: Collection[int] = ()) -> float:
        read = (i for place, i in enumerate(inputs) if place not in found)
        return price(node, inputs, output, self.prices, large=_large(*read, output), found=found).seconds

    def finds(self, asked: Estimate, among: Estimate) -> bool:
        return among.rows * (RECORD + among.width) <= self.memory and asked.rows <= among.rows + SCAN

    def indexed(self, change: Estimate) -> float:
        return inserted(change.rows, change.width, self.prices).seconds

    def scan(self, size: Estimate) -> float:
        """Reading a state, or what an earlier step holds."""
        pricing = Pricing(self.prices, _large(size))
        return (pricing.scanned(size, self.prices.load_row) + pricing.planned()).seconds

    def save(self, size: Estimate) -> float:
        """A step that keeps or holds rows."""
        large = _large(size)
        fixed = self.prices.job if large else self.prices.driver_step
        return fixed + saved(size, self.prices, large=large).seconds

    def idle(self) -> float:
        """Its version is looked up, and its folder looked through."""
        return self.prices.prepared + self.prices.open_file

    def publish(self, size: Estimate, result: Estimate, *, replaces: bool, growing: bool) -> float:
        """A step that makes a result visible: all of it, or its change."""
        large = _large(size, result)
        fixed = self.prices.job if large else self.prices.driver_step
        if replaces:
            return fixed + Pricing(self.prices, large).written(size.rows, size.bytes).seconds
        how = {"large": large, "growing": growing, "clustered": True}
        return fixed + published(size, result, self.prices, **how).seconds


def _large(*sizes: Estimate) -> bool:
    return any(s.rows > SMALL for s in sizes)
