"""Amounts of memory as people write them: ``2g``, ``512 MB``. In code they are bytes, and a k is 1,024."""

from __future__ import annotations

import re

from headrace.errors import ConfigError

MemorySize = str | int

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE | re.ASCII)


def in_bytes(size: MemorySize) -> int:
    """The bytes of an amount of memory; none at all is one too."""
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    found = _TEXT.fullmatch(size) if isinstance(size, str) else None
    if found is None:
        raise ConfigError(
            "MEMORY_SIZE",
            f"{size!r} is no amount of memory",
            hint='write a number and a unit, such as "512m" or "2g"; or give bytes; 0 is none',
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])
