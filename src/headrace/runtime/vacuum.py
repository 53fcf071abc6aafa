"""What a vacuum found and removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Vacuum:
    """``freed`` are the bytes removed by view. ``forgotten`` are folders of views that are not defined any more, with
    their bytes: removed only where that was asked for. ``dropped`` are the bytes of whole folders that were removed."""

    freed: Mapping[str, int]
    forgotten: Mapping[str, int]
    dropped: int

    @property
    def bytes(self) -> int:
        """All that was freed."""
        return sum(self.freed.values()) + self.dropped
