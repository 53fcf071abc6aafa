"""Lengths of time as people write them: ``10 min``, ``1 h 30 min``, ``0.5 s``. In code they are seconds.

``seconds(show(x)) == x`` for every length that there is.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal

from headrace.errors import ConfigError

Duration = str | float | timedelta

_UNITS: dict[str, tuple[float, tuple[str, ...]]] = {
    "week": (604_800, ("w", "week", "weeks")),
    "day": (86_400, ("d", "day", "days")),
    "h": (3_600, ("h", "hr", "hour", "hours")),
    "min": (60, ("m", "min", "mins", "minute", "minutes")),
    "s": (1, ("s", "sec", "secs", "second", "seconds")),
    "ms": (0.001, ("ms", "millisecond", "milliseconds")),
}
_SIZES = {word: Decimal(str(size)) for size, words in _UNITS.values() for word in words}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE | re.ASCII)
_LONGEST = 1e9  # some thirty years: whatever is longer is a slip, and would leave the calendar


def seconds(length: Duration, *, zero: bool = False) -> float:
    """The seconds of a length of time; one of no length only where ``zero`` allows it."""
    if isinstance(length, str):
        found = _parsed(length)
    elif isinstance(length, timedelta):
        found = length.total_seconds()
    elif isinstance(length, int | float) and not isinstance(length, bool):
        found = float(length)
    else:
        raise _refused(length)
    if not math.isfinite(found) or found < 0 or found > _LONGEST or (found == 0 and not zero):
        raise _refused(length)
    return found


def show(length: float) -> str:
    """In the largest unit of which it is a whole number; else in seconds."""
    for unit in ("day", "h", "min", "s"):
        size = _UNITS[unit][0]
        if length % size == 0 and (length or unit == "s"):
            return f"{int(length // size)} {unit}"
    return f"{Decimal(repr(length)):f} s"


def _parsed(text: str) -> float:
    at, total = 0, Decimal(0)
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or part[2].lower() not in _SIZES:
            raise _refused(text)
        total += Decimal(part[1]) * _SIZES[part[2].lower()]
        at = part.end()
    return float(total)


def _refused(length: object) -> ConfigError:
    return ConfigError(
        "DURATION",
        f"{length!r} is no length of time",
        hint='write a number and a unit, such as "30 s", "10 min", "2 h" or "1 day"; or give seconds or a timedelta',
    )
