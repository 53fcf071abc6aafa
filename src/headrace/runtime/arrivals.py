"""How a source has moved, and what its next delta may look like (the delta predictor of DISS §6).

Every run leaves one Arrival for each source: when it looked, and how many rows had come and gone since the run before.
One that found nothing counts: it tells that a source rests. The next delta is predicted from nothing but these, as an
empirical distribution; a source that knows better states it instead.

Let the arrivals be at t₁ < … < tₙ, and the rows of arrival i spread evenly over its span (tᵢ₋₁, tᵢ].

- With a horizon of h seconds the sample has the rows of each window (tᵢ, tᵢ + h] that lies within the history: those of
  every span times the part of it that the window covers. A history shorter than h is one window, scaled to h.
- Without a horizon the next run is taken to be like the last ones: the sample is the arrivals as they are.
- mean = Σ x / k, and quantile q is the least x of the sample such that at least q·k of its k values are ≤ x.
- A window moves for certain if it covers the span of an arrival with rows; one that covers a part p of it meets the
  rows with chance p: chance = 1 − Π (1 − p). With m the sum over the windows, moves = (m + ½) / (k + 1)
  (Krichevsky and Trofimov), for what has never happened may yet happen: with no history at all it is ½.
- A source is complete when it says so, or, likely, when it has not moved in its last ``QUIET`` runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from headrace.errors import ConfigError, InternalError

KEPT = 100  # arrivals remembered for each source; older ones say little about the next
QUIET = 20  # runs without a change after which a source is thought complete
ALIKE = 3  # runs that found about the same: such changes are usual
_LIKE = 4.0  # times as many rows are still about the same


@dataclass(frozen=True)
class Arrival:
    """What one run found new in a source: rows that came and rows that went, at a time."""

    at: float
    inserted: int
    deleted: int = 0

    @property
    def moved(self) -> bool:
        return self.inserted > 0 or self.deleted > 0

    def like(self, other: Arrival) -> bool:
        """Whether both brought and took about as many rows."""
        pairs = ((self.inserted, other.inserted), (self.deleted, other.deleted))
        return all((a > 0) == (b > 0) and a <= _LIKE * b and b <= _LIKE * a for a, b in pairs)


@dataclass(frozen=True)
class Distribution:
    """An empirical distribution: its sample, in order. One that is empty says nothing and counts as 0."""

    sample: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sample", tuple(sorted(self.sample)))

    @property
    def mean(self) -> float:
        return math.fsum(self.sample) / len(self.sample) if self.sample else 0.0

    def quantile(self, q: float) -> float:
        if not self.sample:
            return 0.0
        return self.sample[max(0, min(len(self.sample), math.ceil(q * len(self.sample))) - 1)]


@dataclass(frozen=True)
class Stated:
    """What a source says of itself, each part if it knows it: the rows of its next delta, and whether any will come."""

    inserted: int | None = None
    deleted: int | None = None
    complete: bool | None = None


@dataclass(frozen=True)
class Prediction:
    """The next delta of a source: its rows, the chance that there are any, and whether no more are expected."""

    inserted: Distribution
    deleted: Distribution
    moves: float
    complete: bool


@dataclass(frozen=True)
class History:
    """The last arrivals of one source, each later than the one before, and what the source states."""

    arrivals: tuple[Arrival, ...] = ()
    stated: Stated = Stated()

    def __post_init__(self) -> None:
        if any(b.at <= a.at for a, b in pairwise(self.arrivals)):
            raise InternalError("ARRIVALS", "arrivals are not in the order of time", hint="build them up with add()")

    def add(self, arrival: Arrival) -> History:
        """One more. If it is not later than the last, the clock was set back: the earlier ones are moved back with it,
        and the last gap is taken to have come again."""
        known = self.arrivals
        if known and arrival.at <= known[-1].at:
            gap = known[-1].at - known[-2].at if len(known) > 1 else 1.0
            back = known[-1].at + gap - arrival.at
            known = tuple(replace(a, at=a.at - back) for a in known)
        return History((*known, arrival)[-KEPT:], self.stated)

    def predict(self, horizon: float | None = None) -> Prediction:
        """The delta that a run ``horizon`` seconds after the last one would find."""
        if horizon is not None and not (math.isfinite(horizon) and horizon > 0):
            raise ConfigError("HORIZON", f"{horizon} s is no time ahead", hint="give a number of seconds above 0")
        windows = list(self._windows(horizon))
        quiet = len(self.arrivals) >= QUIET and not any(a.moved for a in self.arrivals[-QUIET:])
        complete = quiet if self.stated.complete is None else self.stated.complete
        chances = math.fsum(_chance(w) for w in windows)
        return Prediction(
            self._rows(self.stated.inserted, [math.fsum(a.inserted * p for a, p in w) for w in windows]),
            self._rows(self.stated.deleted, [math.fsum(a.deleted * p for a, p in w) for w in windows]),
            self._moves((chances + 0.5) / (len(windows) + 1)),
            complete,
        )

    def _rows(self, stated: int | None, sample: list[float]) -> Distribution:
        if self.stated.complete:
            return Distribution((0.0,))
        return Distribution(tuple(sample) if stated is None else (float(stated),))

    def _moves(self, empirical: float) -> float:
        if self.stated.complete:
            return 0.0
        if self.stated.inserted is not None or self.stated.deleted is not None:
            return 1.0 if (self.stated.inserted or 0) + (self.stated.deleted or 0) > 0 else 0.0
        return empirical

    def _windows(self, horizon: float | None) -> Iterator[list[tuple[Arrival, float]]]:
        """For each window the arrivals it meets, each with the part of its span that is covered."""
        known = self.arrivals
        if horizon is None or len(known) < 2:
            yield from ([(a, 1.0)] for a in known)
            return
        length = known[-1].at - known[0].at
        if horizon > length:
            yield [(a, horizon / length) for a in known[1:]]
            return
        spans = list(pairwise(known))
        for first, begin in enumerate(a.at for a in known):
            end = begin + horizon
            if end > known[-1].at:
                break
            yield [(b, (min(end, b.at) - a.at) / (b.at - a.at)) for a, b in spans[first:] if a.at < end]

    def record(self) -> dict[str, Any]:
        """In plain data, as JSON has it; ``restore`` reads it."""
        return {"arrivals": [[a.at, a.inserted, a.deleted] for a in self.arrivals], "stated": asdict(self.stated)}

    @staticmethod
    def restore(record: Mapping[str, Any]) -> History:
        return History(tuple(Arrival(*a) for a in record["arrivals"])[-KEPT:], Stated(**record["stated"]))


def predict(histories: Mapping[str, History], horizon: float | None = None) -> dict[str, Prediction]:
    """The next delta of every source."""
    return {name: history.predict(horizon) for name, history in histories.items()}


def alike(histories: Mapping[str, History]) -> int:
    """How many of the last runs found about what the very last did, in every source."""
    every = [h.arrivals for h in histories.values()]
    runs = min(map(len, every), default=0)
    differ = (n for n in range(runs) if not all(a[-1].like(a[-1 - n]) for a in every))
    return next(differ, runs)


def usual(histories: Mapping[str, History]) -> Mapping[str, History]:
    """The arrivals that tell of the next: of the last runs that found about the same; what came once or twice after
    them is no habit yet. All where no such runs were alike: what was long ago would blur what is usual now, and what is
    usual now says nothing where everything varies."""
    for past in range(ALIKE):
        before = {n: replace(h, arrivals=h.arrivals[: len(h.arrivals) - past]) for n, h in histories.items()}
        runs = alike(before)
        if runs >= ALIKE:
            return {n: replace(h, arrivals=h.arrivals[-runs:]) for n, h in before.items()}
    return histories


def _chance(window: list[tuple[Arrival, float]]) -> float:
    return 1.0 - math.prod(1.0 - min(1.0, part) for a, part in window if a.moved)
