"""What a view is refreshed for: the least time from a change to the new result, or the least work, within some memory.

For the least time a view keeps all that lets rows be looked up; for the least work it keeps what pays for its upkeep,
by cost, and nothing where computing anew is cheaper.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import ConfigError
from headrace.runtime.memory_size import MemorySize, in_bytes

_TEXT = re.compile(r"\s*(least_latency|least_cost)\s*(?:\(\s*(?:memory\s*=\s*['\"]?([^'\"()]*)['\"]?)?\s*\))?\s*")


@dataclass(frozen=True)
class Goal:
    """The shortest refreshes that ``memory`` bytes allow, of those that all views of the warehouse share; None sets no
    limit of its own. ``by_cost`` asks for the least work instead: what is kept and how changes are worked in is chosen
    by what it is expected to cost."""

    memory: int | None = None
    by_cost: bool = False

    def __str__(self) -> str:
        name = "least_cost" if self.by_cost else "least_latency"
        return name if self.memory is None else f"{name}(memory={self.memory})"


def least_latency(*, memory: MemorySize | None = None) -> Goal:
    """Refresh as fast as possible, with at most so much memory for rows that are looked up ("2g", or bytes)."""
    return Goal(None if memory is None else in_bytes(memory))


def least_cost(*, memory: MemorySize | None = None) -> Goal:
    """Refresh with as little work as possible: keep only what pays for its upkeep, by predicted changes."""
    return Goal(None if memory is None else in_bytes(memory), by_cost=True)


def parse_goal(text: str) -> Goal:
    """A goal as a setting has it: ``least_latency``, ``least_cost``, ``least_latency(memory=2g)``."""
    found = _TEXT.fullmatch(text)
    if found is None:
        hint = "write least_latency, least_cost or least_latency(memory=2g)"
        raise ConfigError("GOAL", f"{text!r} is no goal", hint=hint)
    return (least_cost if found[1] == "least_cost" else least_latency)(memory=found[2])
