"""How a view stands: what it has seen, what waits for it, what it takes on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LastRun:
    """The newest run that was committed. ``code`` and ``reason`` say why from scratch, where it was so."""

    number: int
    started: float
    seconds: float
    method: str
    code: str | None
    reason: str | None


@dataclass(frozen=True)
class Failure:
    """A run that failed after the newest good one."""

    started: float
    error: str


@dataclass(frozen=True)
class ViewStatus:
    """One view at a moment, ``at``, in seconds since 1970.

    ``waiting`` are rows not read yet by source, all of its rows where the view will be computed anew; ``problems`` has
    instead of them what is wrong with a source. ``behind`` names the views below, however far, that do not have all
    their data: what they will publish cannot be counted yet. ``rows`` and ``bytes`` are of the result; ``states`` are
    bytes on disk by state, ``memory`` bytes by index that this process holds to look rows up in. ``expected`` are the
    rows that the next delta of each source has by what earlier runs found; a source of which nothing is known is not in
    it.
    """

    view: str
    policy: str
    at: float
    last: LastRun | None
    failure: Failure | None
    waiting: Mapping[str, int]
    problems: Mapping[str, str]
    behind: tuple[str, ...]
    rows: int
    bytes: int
    states: Mapping[str, int]
    memory: Mapping[str, int]
    expected: Mapping[str, float]

    @property
    def fresh(self) -> bool:
        """Whether the result is what Spark would answer now on all data that is there."""
        return self.last is not None and not self.problems and not self.behind and not any(self.waiting.values())

    @property
    def lag(self) -> float | None:
        """By how many seconds the result may be late: 0 where it is fresh, None where there is none."""
        if self.last is None:
            return None
        return 0.0 if self.fresh else max(self.at - self.last.started, 0.0)

    @property
    def state_bytes(self) -> int:
        """What all states take on disk."""
        return sum(self.states.values())

    @property
    def memory_bytes(self) -> int:
        """What this process holds in memory."""
        return sum(self.memory.values())
