"""What later runs of a timeline will find in each source.

By the first of these that says anything:

- what the timeline states of a source, beside what earlier runs have found of it;
- what the same run found when the timeline was last gone through;
- what has come since the first run, which goes on coming as fast;
- in the first run, that sources go on growing as if they had grown evenly up to it. That holds for large ones; small
  ones, less than a tenth of the largest, are thought to rest, as tables of things and places do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.ir.timeline import Run

_LARGE = 0.1  # of the rows of the largest source

Found = Mapping[str, Sequence[int]]  # rows that came and rows that left, by source


def to_come(
    runs: Sequence[Run], run: int, found: Sequence[Found], before: Sequence[Found] = ()
) -> dict[str, list[int]]:
    """What a run will find, where the first runs up to this one have ``found`` some rows, the last time ``before``."""
    now, largest = found[-1], max((sum(rows) for rows in found[-1].values()), default=0)
    made: dict[str, list[int]] = {}
    for name in now:
        stated = [r.part(name) for r in runs]
        if stated[run] is not None:
            made[name] = _as_fast(name, [p or 0.0 for p in stated], run, found)
        elif run < len(before) and name in before[run]:
            made[name] = list(before[run][name])
        elif len(found) > 1:
            made[name] = _as_fast(name, [0.0, *(r.span for r in runs[1:])], run, found)
        elif sum(now[name]) >= _LARGE * largest:
            made[name] = _as_fast(name, [r.span for r in runs], run, found)
        else:
            made[name] = [0, 0]
    return made


def _as_fast(name: str, spans: Sequence[float], run: int, found: Sequence[Found]) -> list[int]:
    """As many rows for a run's span as came for those of earlier runs; one of nothing says nothing."""
    past = [(span, rows.get(name, (0, 0))) for span, rows in zip(spans, found, strict=False) if span > 0]
    total = sum(span for span, _ in past)
    return [round(spans[run] * sum(rows[i] for _, rows in past) / total) if total else 0 for i in (0, 1)]
