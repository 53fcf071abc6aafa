"""Leaves of small plans whose rows change from run to run, while the plans over them stay.

A refresh builds the very plans that the one before it built; only the rows of their leaves are other ones. A slot is
such a leaf. It belongs to a place: the delta of a source, a state, what a step has computed. Rows are put into it once
in a run, and every step that reads the place has them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from headrace.spark.script import Made, Script


class Slots:
    """The slots of one view."""

    def __init__(self, script: Script, session: Made) -> None:
        script.know("Slot")
        self._script = script
        self._session = session
        self._slots: dict[Hashable, Made] = {}
        self._full: set[Hashable] = set()

    def relation(self, place: Hashable, columns: Sequence[Any], fill: Callable[[Made], object]) -> Any:
        """The rows of a place, as a plan with these attributes. ``fill`` puts them into its slot, once in a run."""
        slot = self._slots.get(place)
        if slot is None:
            slot = self._slots[place] = self._script.new("headrace.Slot", self._session)
        if place not in self._full:
            self._full.add(place)
            fill(slot)
        return slot.relation(self._session, self._script.seq(columns))

    def clear(self) -> None:
        """Forget the rows of a run."""
        last = None
        for place in self._full:
            last = self._slots[place].clear()
        self._full.clear()
        if last is not None:
            self._script.value(last)
