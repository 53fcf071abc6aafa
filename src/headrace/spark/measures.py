"""What a run measures, and who is told of it while it goes on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol


@dataclass
class Measures:
    """What a run measured: rows by Tvr, seconds by step, and the steps that each Tvr was part of; how often each state
    was scanned, and the seconds in which some were folded."""

    rows: dict[int, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    step_of: dict[int, str] = field(default_factory=dict)
    published: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    rows_read: int = 0
    how: str = ""
    files_skipped: int = 0
    scans: dict[str, int] = field(default_factory=dict)
    folded: dict[str, float] = field(default_factory=dict)

    def observed(self, text: str) -> dict[str, list[int]]:
        """What was measured while a frame was computed; the counts of Tvrs are noted."""
        found = {
            name: [int(v) for v in values.split(",")] for name, values in re.findall(r"(\w+) -> \[([\d,]+)\]", text)
        }
        for name, values in found.items():
            if name.startswith("tvr"):
                self.rows[int(name[3:])] = values[0]
        return found


class Watch(Protocol):
    """Who is told of each step before and after it is done. A step that folds a state is in no plan."""

    def began(self, step: str) -> None: ...

    def done(self, step: str, rows: int, seconds: float) -> None: ...
