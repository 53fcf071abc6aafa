"""What the next delta of a view will be like: what the states in memory are chosen for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.runtime.arrivals import History, Prediction, usual
from headrace.stats.estimate import Change

_LIKELY = 0.25  # a source that moves in fewer runs than this part of them is not reckoned with


@dataclass(frozen=True)
class Outlook:
    """The change that is expected of each source that will move, and for how many runs more that may hold."""

    changes: Mapping[str, Change] = field(default_factory=dict)
    runs: int = 1

    @property
    def moving(self) -> frozenset[str]:
        return frozenset(self.changes)

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for outlooks that differ little: the same sources move, by rows that differ by less than four times,
        and those rows leave or none do."""
        rows = ((n, round(math.log(c.rows + 1, 4)), c.left > 0) for n, c in sorted(self.changes.items()))
        return (*rows, round(math.log(self.runs, 4)))


def outlook(histories: Mapping[str, History]) -> Outlook:
    """By what runs have found up to now: the mean of what each source did when things were last as usual, where it is
    likely to move at all. A state of things is expected to last as long as it has lasted."""
    found: dict[str, Change] = {}
    lately = usual(histories)
    for name, history in histories.items():
        ever = history.predict()
        usually = next((c for c in map(_change, (lately[name].predict(), ever)) if c), Change())
        if ever.moves >= _LIKELY and not ever.complete and usually:
            found[name] = usually
    return Outlook(found, max((len(h.arrivals) for h in lately.values()), default=1) or 1)


def _change(prediction: Prediction) -> Change:
    return Change(inserts=prediction.inserted.mean, deletes=prediction.deleted.mean)
