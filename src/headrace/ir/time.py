"""Time is a vector with one entry for each input.

Inside the memo a version is symbolic: the set of inputs that have moved from the last run's position
to this run's. ``OLD`` is the version in which none has moved, ``NEW`` the one in which all have; what
lies between are versions in which some inputs have moved and others have not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Version:
    """A symbolic version: the inputs that have moved. ``everything`` stands for all inputs there are."""

    moved: frozenset[str] = frozenset()
    everything: bool = False

    def __str__(self) -> str:
        if self.everything:
            return "new"
        return "old" if not self.moved else "{" + ", ".join(sorted(self.moved)) + "}"

    def __le__(self, other: Version) -> bool:
        return other.everything or (not self.everything and self.moved <= other.moved)


OLD = Version()
NEW = Version(everything=True)


@dataclass(frozen=True)
class Situation:
    """What one run finds: which sources have changes, and which of these lose rows.

    Facts about deltas follow from it: a delta over sources that have not moved is empty, and one over
    sources that only grow holds inserts alone wherever the operators between are monotone.
    """

    moved: frozenset[str]
    shrinking: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shrinking", self.shrinking & self.moved)


@dataclass(frozen=True)
class Reached:
    """A concrete version: the position reached in each source by name."""

    positions: Mapping[str, int] = field(default_factory=dict)

    def at(self, source: str) -> int:
        return self.positions.get(source, 0)
