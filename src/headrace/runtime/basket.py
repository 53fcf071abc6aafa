"""A place of the net: the rows that came into one source or view and that not all of its readers have read.

Rows come at positions, which grow; a reader has read up to a position. What is unread for it came after that:

    read(v) + unread(v)  =  all that came        for every reader, at every position v

so a row is never counted twice and never lost, whatever the order in which runs and arrivals are told. A run may have
read further than anybody has told of yet: what is told later, at positions that it has reached, is not unread for it.
What every reader has read is dropped (DataCell §2.1).
"""

from __future__ import annotations

from collections.abc import Collection

LIMIT = 1000  # entries that are kept apart; a reader that never reads must not fill the memory


class Basket:
    def __init__(self) -> None:
        self.position = 0
        self._kept: list[tuple[int, int | None]] = []

    def add(self, rows: int | None, position: int | None = None) -> None:
        """Rows came, None when nobody counted them. Without a position they come at the next one; what is told of a
        position that was reached before is known already."""
        if position is None:
            position = self.position + 1
        if position > self.position:
            self.position = position
            if rows != 0:
                self._kept.append((position, rows))

    def unread(self, after: int) -> int:
        return sum(rows or 0 for position, rows in self._kept if position > after)

    def changed(self, after: int) -> bool:
        return bool(self._kept) and self._kept[-1][0] > after

    def settle(self, marks: Collection[int]) -> None:
        """Drop what lies before all marks, the positions that readers have read up to or are reading up to. Where more
        than LIMIT entries remain, those with no mark between them become one. (A run that then says it read up to a
        position inside such a one has its rows counted again: too early is better than lost.)"""
        least = min(marks, default=self.position)
        self._kept = [entry for entry in self._kept if entry[0] > least]
        if len(self._kept) > LIMIT:
            spans: dict[int, tuple[int, int | None]] = {}
            for position, rows in self._kept:
                span = sum(mark < position for mark in marks)
                before = spans[span][1] if span in spans else 0
                spans[span] = (position, (before or 0) + (rows or 0) or None)
            self._kept = list(spans.values())

    def __len__(self) -> int:
        return len(self._kept)
