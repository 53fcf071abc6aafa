"""How long work really takes, as many times as its price: by kind of run, with how much that varies.

The prices are of a machine that nobody has seen; the runs of a view are on this one. Each new run counts as much as all
before it together. The first runs of a kind are done while their code is new, and count as what they would have taken
without that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

_PRIOR = 1.0  # of a kind that was never tried: up to 2.7 times as long, or as short
# How many times as long the first runs of a kind take. Over TPC-H at scale 1, as medians: computing anew 1.5, working
# changes in 2.2, then 1.3.
_NEW = (1.8, 1.25)
_ONCE = 0.3  # of one that was tried once
_ALIKE = math.log(2.5)  # work of a price within this of what was done is work that is known
_LEAST = 0.12  # as much as runs of the same work differ on a busy machine
_CHANCE = 0.3  # of how much runs vary: what the next may be off by chance, where two ways are compared
_MOST = 50.0


@dataclass(frozen=True)
class Correction:
    """By kind of run, the logarithms of how many times as long it takes as priced, and of how much that varies; how
    many runs there were, and the logarithm of what they were priced."""

    factors: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)

    def after(self, kind: str, seconds: float, priced: float) -> Correction:
        """What is known once a run that was priced so took so long."""
        if seconds <= 0 or priced <= 0:
            return self
        number = self.runs.get(kind, 0)
        warm = seconds / (_NEW[number] if number < len(_NEW) else 1.0)
        new = math.log(min(max(warm / priced, 1 / _MOST), _MOST))
        old = self.factors.get(kind)
        runs = {**self.runs, kind: number + 1}
        usual = self.prices.get(kind, math.log(priced))
        prices = {**self.prices, kind: (usual + math.log(priced)) / 2}
        if old is None:
            return Correction({**self.factors, kind: new}, {**self.spreads, kind: _ONCE}, runs, prices)
        spread = (self.spreads.get(kind, _PRIOR) + abs(new - old)) / 2
        return Correction({**self.factors, kind: (old + new) / 2}, {**self.spreads, kind: spread}, runs, prices)

    def tried(self, kind: str) -> bool:
        return kind in self.factors

    def compared(self, kind: str, priced: float) -> int:
        """Whether what is priced so is far less (-1) or far more (1) than what runs of a kind did: what ten rows took
        says little of a million."""
        far = math.log(max(priced, 1e-9)) - self.prices.get(kind, math.log(max(priced, 1e-9)))
        return 0 if abs(far) <= _ALIKE else 1 if far > 0 else -1

    def expected(self, kind: str, priced: float) -> float:
        """The seconds that a run is expected to take. Of a kind that was never tried, by the others, for the machine is
        the same; of one that is new, by both, but no longer than it took."""
        return priced * math.exp(self._factor(kind))

    def at_least(self, kind: str, priced: float) -> float:
        """The least that it may be expected to take."""
        return self.expected(kind, priced) * math.exp(-_CHANCE * self._spread(kind))

    def at_most(self, kind: str, priced: float) -> float:
        """The most that it may be expected to take; what is new took as long as it ever will."""
        new = 0 < self.runs.get(kind, 0) <= len(_NEW)
        return self.expected(kind, priced) * (1.0 if new else math.exp(_CHANCE * self._spread(kind)))

    def _factor(self, kind: str) -> float:
        own, others = self.factors.get(kind), [f for k, f in self.factors.items() if k != kind]
        if not others:
            return own or 0.0
        machine = sum(others) / len(others)
        if own is None:
            return machine
        return min(own, (own + machine) / 2) if self.runs.get(kind, 0) <= len(_NEW) else own

    def _spread(self, kind: str) -> float:
        return max(self.spreads.get(kind, _PRIOR), _LEAST)

    def record(self) -> dict[str, Mapping[str, float]]:
        """As plain data."""
        each = {"factors": self.factors, "spreads": self.spreads, "runs": self.runs, "prices": self.prices}
        return {name: dict(values) for name, values in each.items()}
