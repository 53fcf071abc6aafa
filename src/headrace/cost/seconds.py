"""Costs in seconds for a search over plans: node by node, before there are steps.

Which step a node will be in is not known yet, so whether that is a large one is told by the node's own rows: rows that
are many anywhere in a step make it large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from headrace.cost.model import SMALL, index_bytes, inserted, price, published, saved
from headrace.cost.operators import Pricing
from headrace.cost.prices import DEFAULT, Prices
from headrace.ir.rel import Node
from headrace.stats.cardinality import Estimate, Known, estimate

# Beginning a scan, and handing its rows to others, costs as much as looking so many rows up.
SCAN = 500_000
# The part of a relation that a range leaves of it where reading that is worth more than looking rows up, and where
# nothing is looked up.
NEAR, _NEARER = 0.2, 0.8
_SOME = 1e-3  # of a relation is read in any case where nothing is looked up
NOWHERE: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True)
class Seconds:
    """What is known in one run, and what work costs on this machine. Rows are looked up in what has room in ``memory``
    bytes, each table by itself: which of them are held at once is chosen later."""

    known: Known
    prices: Prices = DEFAULT
    memory: float = 0.0

    def estimate(self, node: Node, inputs: tuple[Estimate, ...]) -> Estimate:
        return estimate(node, inputs, self.known)

    def price(
        self, node: Node, inputs: tuple[Estimate, ...], output: Estimate, found: Mapping[int, float] = NOWHERE
    ) -> float:
        read_of = ((place, inputs[place], part) for place, part in found.items() if part)
        near = {place: of.thinned(of.rows * part, of.change) for place, of, part in read_of}
        looked_up = found.keys() - near.keys()
        read = (near.get(place, i) for place, i in enumerate(inputs) if place not in looked_up)
        large = _large(*read, output)
        met = tuple(near.get(place, i) for place, i in enumerate(inputs))
        cost = price(node, met, output, self.prices, large=large, found=looked_up)
        scans = (Pricing(self.prices, large).scanned(part, self.prices.scan_row) for part in near.values())
        return sum(scans, cost).seconds

    def finds(self, asked: Estimate, among: Estimate, links: Sequence[tuple[str, str]] = ()) -> float | None:
        """In memory where there is room; else of what rises with what asks for it, files are passed over."""
        if index_bytes(among.rows, among.width) <= self.memory and asked.rows <= among.rows + SCAN:
            return 0.0
        pairs = [(among.spans.get(own), asked.spans.get(other)) for own, other in links]
        least = min((there.share(asks) for there, asks in pairs if there and asks and there.rising), default=1.0)
        return max(least, _SOME) if least <= (NEAR if self.memory else _NEARER) else None

    def indexed(self, change: Estimate) -> float:
        return inserted(change.rows, change.width, self.prices).seconds if self.memory else 0.0

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
