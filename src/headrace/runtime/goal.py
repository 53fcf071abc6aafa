"""What a view is refreshed for: the least time from a change to the new result, or the least work, within some memory.

For the least time a view keeps all that lets rows be looked up; for the least work it keeps what pays for its upkeep,
by cost, and nothing where computing anew is cheaper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.errors import ConfigError
from headrace.rules import METHODS
from headrace.runtime.memory_size import MemorySize, in_bytes

_TEXT = re.compile(r"\s*(least_latency|least_cost)\s*(?:\(([^()]*)\))?\s*")
_GIVEN = re.compile(r"\s*(memory|methods)\s*=\s*['\"]?([^'\"=]*?)['\"]?\s*")


@dataclass(frozen=True)
class Goal:
    """The shortest refreshes that ``memory`` bytes allow, of those that all views of the warehouse share; None sets no
    limit of its own. ``by_cost`` asks for the least work instead: what is kept and how changes are worked in is chosen
    by what it is expected to cost, among the ``methods`` that are allowed."""

    memory: int | None = None
    by_cost: bool = False
    methods: tuple[str, ...] = tuple(METHODS)

    def __str__(self) -> str:
        name = "least_cost" if self.by_cost else "least_latency"
        given = [] if self.memory is None else [f"memory={self.memory}"]
        given += [] if self.methods == tuple(METHODS) else [f"methods={'+'.join(self.methods)}"]
        return f"{name}({', '.join(given)})" if given else name


def least_latency(*, memory: MemorySize | None = None) -> Goal:
    """Refresh as fast as possible, with at most so much memory for rows that are looked up ("2g", or bytes)."""
    return Goal(None if memory is None else in_bytes(memory))


def least_cost(*, memory: MemorySize | None = None, methods: Sequence[str] | None = None) -> Goal:
    """Refresh with as little work as possible: keep only what pays for its upkeep, by predicted changes. With
    ``methods`` only by rules of some: IM-1, IM-2, OJV, HOV; recompute is to keep nothing and compute all anew."""
    if methods is not None and (isinstance(methods, str) or not methods or not set(methods) <= METHODS.keys()):
        raise ConfigError("GOAL", f"{methods!r} are not methods", hint=f"name some of {', '.join(METHODS)}")
    allowed = tuple(m for m in METHODS if methods is None or m in methods)
    return Goal(None if memory is None else in_bytes(memory), by_cost=True, methods=allowed)


def parse_goal(text: str) -> Goal:
    """A goal as a setting has it: ``least_latency``, ``least_cost``, ``least_latency(memory=2g)``,
    ``least_cost(methods=IM-1+HOV)``."""
    found = _TEXT.fullmatch(text)
    parts = [_GIVEN.fullmatch(p) for p in found[2].split(",") if p.strip()] if found and found[2] else []
    given = {p[1]: p[2] for p in parts if p}
    wrong = found is None or len(given) < len(parts)
    if found is None or wrong or (found[1] == "least_latency" and "methods" in given):
        hint = "write least_latency, least_latency(memory=2g), least_cost or least_cost(methods=IM-1+HOV)"
        raise ConfigError("GOAL", f"{text!r} is no goal", hint=hint)
    if found[1] == "least_latency":
        return least_latency(memory=given.get("memory"))
    methods = [m.strip() for m in given["methods"].split("+")] if "methods" in given else None
    return least_cost(memory=given.get("memory"), methods=methods)
