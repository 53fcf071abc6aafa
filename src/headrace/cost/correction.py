"""How long work really takes, as many times as its price: by kind of run, with how much that varies.

The prices are of a machine that nobody has seen; the runs of a view are on this one. Each new run counts as much as all
before it together. What was never tried may be off by a lot, so that a small difference says nothing about it; and
what was done once was done when its code was new, which takes up to four times as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

_PRIOR = 1.0  # of a kind that was never tried: up to 2.7 times as long, or as short
_ONCE = 0.3  # of one that was tried once
_LEAST = 0.12  # as much as runs of the same work differ on a busy machine
_MOST = 50.0


@dataclass(frozen=True)
class Correction:
    """By kind of run, the logarithms of how many times as long it takes as priced, and of how much that varies; and how
    many runs there were."""

    factors: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)

    def after(self, kind: str, seconds: float, priced: float) -> Correction:
        """What is known once a run that was priced so took so long."""
        if seconds <= 0 or priced <= 0:
            return self
        new = math.log(min(max(seconds / priced, 1 / _MOST), _MOST))
        old = self.factors.get(kind)
        runs = {**self.runs, kind: self.runs.get(kind, 0) + 1}
        if old is None:
            return Correction({**self.factors, kind: new}, {**self.spreads, kind: _ONCE}, runs)
        spread = (self.spreads.get(kind, _PRIOR) + abs(new - old)) / 2
        return Correction({**self.factors, kind: (old + new) / 2}, {**self.spreads, kind: spread}, runs)

    def tried(self, kind: str) -> bool:
        return kind in self.factors

    def expected(self, kind: str, priced: float) -> float:
        """The seconds that a run is expected to take. Of a kind that was never tried, by the others, for the machine is
        the same; of one that was done once, by both, but no longer than it took."""
        return priced * math.exp(self._factor(kind))

    def at_least(self, kind: str, priced: float, like: str | None = None) -> float:
        """The least that it may be expected to take; one that was never tried, with a price as sure as that of runs of
        another kind that it is ``like``."""
        return self.expected(kind, priced) * math.exp(-self._spread(like if like and not self.tried(kind) else kind))

    def at_most(self, kind: str, priced: float) -> float:
        """The most that it may be expected to take; what was done once took as long as it ever will."""
        once = self.runs.get(kind, 0) == 1
        return self.expected(kind, priced) * (1.0 if once else math.exp(self._spread(kind)))

    def _factor(self, kind: str) -> float:
        own, others = self.factors.get(kind), [f for k, f in self.factors.items() if k != kind]
        if not others:
            return own or 0.0
        machine = sum(others) / len(others)
        if own is None:
            return machine
        return min(own, (own + machine) / 2) if self.runs.get(kind, 0) <= 1 else own

    def _spread(self, kind: str) -> float:
        return max(self.spreads.get(kind, _PRIOR), _LEAST)

    def record(self) -> dict[str, Mapping[str, float]]:
        """As plain data."""
        return {"factors": dict(self.factors), "spreads": dict(self.spreads), "runs": dict(self.runs)}
