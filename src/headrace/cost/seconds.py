"""Costs in seconds for a search over plans: node by node, before there are steps.

Which step a node will be in is not known yet, so whether that is a large one is told by the node's own rows: rows that
are many anywhere in a step make it large.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.cost.model import SMALL, price, published, saved
from headrace.cost.operators import Pricing
from headrace.cost.prices import DEFAULT, Prices
from headrace.ir.rel import Node
from headrace.stats.cardinality import Estimate, Known, estimate


@dataclass(frozen=True)
class Seconds:
    """What is known in one run, and what work costs on this machine."""

    known: Known
    prices: Prices = DEFAULT

    def estimate(self, node: Node, inputs: tuple[Estimate, ...]) -> Estimate:
        return estimate(node, inputs, self.known)

    def price(self, node: Node, inputs: tuple[Estimate, ...], output: Estimate) -> float:
        return price(node, inputs, output, self.prices, large=_large(*inputs, output)).seconds

    def scan(self, size: Estimate) -> float:
        """Reading a state, or what an earlier step holds."""
        return Pricing(self.prices, _large(size)).scanned(size, self.prices.load_row).seconds

    def save(self, size: Estimate) -> float:
        """A step that keeps or holds rows."""
        large = _large(size)
        fixed = self.prices.job if large else self.prices.driver_step
        return fixed + saved(size, self.prices, large=large).seconds

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
