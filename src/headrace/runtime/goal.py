"""What a view is refreshed for: here, the least time from a change to the new result, within some memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import ConfigError
from headrace.runtime.memory_size import MemorySize, in_bytes

_TEXT = re.compile(r"\s*least_latency\s*(?:\(\s*(?:memory\s*=\s*['\"]?([^'\"()]*)['\"]?)?\s*\))?\s*")


@dataclass(frozen=True)
class Goal:
    """The shortest refreshes that ``memory`` bytes allow, of those that all views of the warehouse share; None sets no
    limit of its own."""

    memory: int | None = None

    def __str__(self) -> str:
        return "least_latency" if self.memory is None else f"least_latency(memory={self.memory})"


def least_latency(*, memory: MemorySize | None = None) -> Goal:
    """Refresh as fast as possible, with at most so much memory for rows that are looked up ("2g", or bytes)."""
    return Goal(None if memory is None else in_bytes(memory))


def parse_goal(text: str) -> Goal:
    """A goal as a setting has it: ``least_latency``, ``least_latency(memory=2g)``."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ConfigError("GOAL", f"{text!r} is no goal", hint="write least_latency or least_latency(memory=2g)")
    return least_latency(memory=found[1])
