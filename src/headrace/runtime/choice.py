"""Working changes in, or computing everything anew: what earlier runs of each kind took, and how many rows they had.

Incremental runs cost what their changes cost, a full one what all the data costs. A kind that was never tried is
expected to pay, so each is tried before it is judged; a difference that may be chance decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FULL = "full"
FEW = 100_000  # rows of which neither takes long: there, seconds tell of the machine
LEAST = 2.0  # seconds that must be won
FACTOR = 1.3  # how many times as long the other must take
FIXED = 0.05  # the part of a run's seconds that it has however few its rows are
SCANNED = "scanned"
SHARE = 0.5  # of all rows: changes beyond it are expected to cost more than everything


def incremental(looked_up: int) -> str:
    """The kind of incremental runs that look rows up in so many large tables, and scan the others."""
    return f"looked up in {looked_up}" if looked_up else SCANNED


@dataclass(frozen=True)
class Experience:
    """Seconds and rows by kind of run, each new one counting as much as all before it together. There is one kind of
    full runs; incremental ones are of a kind where they look up in as many large tables."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)

    def after(self, kind: str, seconds: float, rows: int) -> Experience:
        mean = {k: {**old, kind: (old.get(kind, new) + new) / 2} for k, old, new in self._both(seconds, float(rows))}
        return Experience(mean["seconds"], mean["rows"])

    def _both(self, seconds: float, rows: float) -> list[tuple[str, Mapping[str, float], float]]:
        return [("seconds", self.seconds, seconds), ("rows", self.rows, rows)]

    def expected(self, kind: str, rows: int) -> float | None:
        """What a run is expected to take, in proportion to its rows; but a part of its price it has without any."""
        if kind not in self.seconds:
            return None
        return self.seconds[kind] * max(rows / max(self.rows[kind], 1.0), FIXED)

    def alternatives(self, changed: int | None, everything: int) -> list[dict[str, Any]]:
        """What each kind of run that was ever done is expected to take, the cheapest first: in words, with the rows
        that it works through. ``changed`` is None where it is not known; the last runs' changes then stand for it."""
        found = []
        for kind in self.seconds:
            rows = everything if kind == FULL else round(self.rows[kind]) if changed is None else changed
            words = "from scratch" if kind == FULL else f"changes worked in, {_words(kind)}"
            seconds = round(self.expected(kind, rows) or 0.0, 3)
            found.append({"plan": words, "rows": rows, "seconds": seconds})
        return sorted(found, key=lambda cost: float(cost["seconds"]))

    def better_anew(self, kind: str, changed: int, everything: int) -> str | None:
        """Why to compute everything anew instead of an incremental run of a kind; None where that is not known to be
        better."""
        anew = self.expected(FULL, everything)
        if anew is None or everything < FEW:
            return None
        changes = self.expected(kind, changed)
        if changes is None:
            if changed > SHARE * everything:
                return f"{changed:,} of {everything:,} rows are changes"
            return None
        if changes < FACTOR * anew or changes - anew < LEAST:
            return None
        return f"about {anew:.1f} s, by earlier runs, against {changes:.1f} s"


def _words(kind: str) -> str:
    """A kind of incremental runs in words."""
    return "tables scanned" if kind == SCANNED else f"rows {kind} large tables"
