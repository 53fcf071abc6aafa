"""Which tables were at a path, one after another.

A Delta table can be dropped and another made in its place, whose versions start at 0 again. Each table has an id.
So a position has two parts, and all positions in a later table are after those in an earlier one:

    position = 2⁴⁰ · place of the table + version + 1
"""

from __future__ import annotations

import json
from pathlib import Path

from headrace.spark.sources.lock import locked

_SPAN = 2**40  # a commit a second for 30,000 years


class TableIds:
    """The ids of the tables that were seen, in a file that processes share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place: dict[str, int] = {}

    def position(self, table: str, version: int) -> int:
        """The position of a version of the table that is there now."""
        if table not in self._place:
            with locked(self.path):
                known = json.loads(self.path.read_text())["tables"] if self.path.exists() else []
                if not known or known[-1] != table:
                    known.append(table)
                    scratch = self.path.with_suffix(".new")
                    scratch.write_text(json.dumps({"tables": known}))
                    scratch.replace(self.path)
            self._place = {table: len(known) - 1}
        return self._place[table] * _SPAN + version + 1

    def version(self, table: str, position: int) -> int | None:
        """The version that a position stands for; None where it was reached in another table."""
        return position % _SPAN - 1 if position // _SPAN == self._place.get(table) else None
