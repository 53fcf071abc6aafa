"""How long runs take: what earlier ones let expect of the next, by method and by step.

A view's commit holds it as plain data. Each run counts as much as all before it together, so that what is expected
follows the data as it grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Steps = Mapping[str, float]


@dataclass(frozen=True)
class Pace:
    """Seconds of whole runs by method, and of their steps by method and name."""

    runs: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, Steps] = field(default_factory=dict)

    def after(self, method: str, seconds: float, steps: Steps) -> Pace:
        """The pace once a run is done. Steps that it did not have are forgotten: another plan may give their names to
        other work."""
        before = self.steps.get(method, {})
        told = {name: _mean(before.get(name), taken) for name, taken in steps.items()}
        runs = {**self.runs, method: _mean(self.runs.get(method), seconds)}
        return Pace(runs, {**self.steps, method: told})


def _mean(expected: float | None, taken: float) -> float:
    return taken if expected is None else (expected + taken) / 2
