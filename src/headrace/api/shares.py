"""One budget for all views of a warehouse, divided by what memory saves each of them."""

from __future__ import annotations

from threading import Lock

from headrace.planner.front import NOTHING, Front


class Shares:
    """What memory would buy each view. Of all ways to divide the budget that one is taken in which the next deltas of
    all views together cost least; what is left over goes to whoever asks."""

    def __init__(self) -> None:
        self._offers: dict[str, Front] = {}
        self._lock = Lock()

    def offer(self, view: str, front: Front) -> None:
        with self._lock:
            self._offers[view] = front

    def withdraw(self, view: str) -> None:
        with self._lock:
            self._offers.pop(view, None)

    def of(self, view: str, budget: int) -> int:
        """The bytes that a view may take: all that the others do not need."""
        with self._lock:
            own, rest = self._offers.get(view, NOTHING), [f for n, f in self._offers.items() if n != view]
        others = NOTHING
        for front in rest:
            others = others.added(front, budget).thinned()
        together = [(p.seconds + o.seconds, o.bytes) for p in own if (o := others.best(budget - p.bytes)) is not None]
        return budget - min(together)[1] if together else budget
