"""When to fold a state's Segments into one: as soon as reading them has cost what folding costs.

Segments that are read beside the base are rent, folding them is buying. Whoever buys when the rent that was paid
reaches the price never pays more than twice the least possible, however often the state is read afterwards. A state
whose rows are looked up in memory pays no rent; it is folded when its disk holds mostly rows that cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Seconds on a small machine; measured folds correct them.
READ_ROW = 0.4e-6
OPEN_SEGMENT = 0.004
FOLD = 0.1
FOLD_ROW = 1.5e-6

_FEW_ROWS = 1_000  # of which no disk is full
_MOST_SEGMENTS = 64  # each is a file or more in the table's log
_LEAST, _MOST = 0.1, 20.0  # times as long as expected: beyond, it was the machine


@dataclass(frozen=True)
class Segments:
    """The rows of a state's base, and the rows and number of its later Segments."""

    base: int
    later: int
    count: int

    @property
    def rent(self) -> float:
        """The seconds that reading the later ones adds to reading the base."""
        return self.later * READ_ROW + self.count * OPEN_SEGMENT

    @property
    def price(self) -> float:
        """The seconds that folding them is expected to take."""
        return FOLD + (self.base + self.later) * FOLD_ROW

    @property
    def too_many(self) -> bool:
        """Whether they must be folded even if nobody reads them."""
        return self.later > 2 * max(self.base, _FEW_ROWS // 2) or self.count > _MOST_SEGMENTS


@dataclass(frozen=True)
class Folding:
    """The rent paid for each state since it was last folded, and how many times as long as expected folding takes.
    A view's commit holds it as plain data."""

    paid: Mapping[str, float] = field(default_factory=dict)
    factor: float = 1.0

    def due(self, state: str, segments: Segments) -> bool:
        if segments.count == 0:
            return False
        return segments.too_many or self.paid.get(state, 0.0) >= self.factor * segments.price

    def after(self, states: Mapping[str, Segments], read: Mapping[str, int], folded: Mapping[str, float]) -> Folding:
        """What is known once a run has read each state, as its Segments were then, so many times, and has folded some
        in so many seconds."""
        paid, factor = {}, self.factor
        for name, segments in states.items():
            if name not in folded:
                paid[name] = self.paid.get(name, 0.0) + read.get(name, 0) * segments.rent
            elif segments.count:
                ratio = min(max(folded[name] / segments.price, _LEAST), _MOST)
                factor = (factor + ratio) / 2
        return Folding(paid, factor)
