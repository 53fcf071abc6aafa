"""The runs of a view: when each happens, what an hour of it costs beside the others, and whether it delivers.

A timeline is T and Q of a planning problem (Tempura §2.1). Two kinds are in use. A *refresh* has one run that is like
all others after it: its states are there before it, and must be there after it. A *progressive* timeline begins with
nothing and ends with its last run; runs before the last may work ahead at a lower price and deliver nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from math import isfinite

from headrace.errors import ConfigError

When = str | int | float | datetime


@dataclass(frozen=True)
class Run:
    """One run: its name for people, the price of its seconds beside those of other runs, and whether the result must
    be up to date after it. ``span`` is how long data has come for it beside the others, and ``parts`` tells for sources
    of which it is known what part of their rows that is."""

    name: str
    weight: float = 1.0
    delivers: bool = True
    span: float = 1.0
    parts: tuple[tuple[str, float], ...] = ()

    def part(self, source: str) -> float | None:
        """What comes of a source, beside other runs; None where nobody said so."""
        return dict(self.parts).get(source)

    def and_then(self, other: Run) -> Run:
        """Another run that finds what has come for this one too."""
        later = dict(other.parts)
        parts = tuple((source, part + later[source]) for source, part in self.parts)
        return replace(other, span=self.span + other.span, parts=parts)


@dataclass(frozen=True)
class Timeline:
    """Runs in the order of time. ``steady`` says that the one run comes again and again."""

    runs: tuple[Run, ...]
    steady: bool = False

    def __post_init__(self) -> None:
        if not self.runs:
            raise ConfigError("TIMELINE", "a timeline has no run", hint="give at least one time")
        if self.steady and len(self.runs) != 1:
            raise ConfigError("TIMELINE", "a run that comes again and again is one run", hint="use runs([...])")
        if not self.runs[-1].delivers:
            raise ConfigError(
                "TIMELINE", "the last run of a timeline delivers nothing", hint="leave it out, or let it deliver"
            )

    def __len__(self) -> int:
        return len(self.runs)

    def rest(self, done: int) -> Timeline:
        """The runs after the first ``done``, which is what is planned again when arrivals were not as expected."""
        return Timeline(self.runs[done:], self.steady)

    def without(self, run: int) -> Timeline:
        """The same with one run before the last left out."""
        one, other = self.runs[run : run + 2]
        return Timeline((*self.runs[:run], one.and_then(other), *self.runs[run + 2 :]), self.steady)

    def __str__(self) -> str:
        shown = (f"{r.name} (weight {r.weight:g}{', delivers' if r.delivers else ''})" for r in self.runs)
        return ", ".join(shown)


REFRESH = Timeline((Run("refresh"),), steady=True)


def runs(
    times: Sequence[When],
    *,
    weights: Sequence[float] | None = None,
    deliver: str | Sequence[When] = "last",
    arrivals: Mapping[str, Sequence[float]] | None = None,
) -> Timeline:
    """A progressive timeline: ``runs(["14:00", "19:00", "24:00"], weights=[0.25, 0.3, 1], deliver="last")``.

    ``times`` rise: clock times of a day, dates with times, or numbers. A weight is what a second of a run costs beside
    a second of another; without weights all cost the same. ``deliver`` says after which runs the result must be up to
    date: after the "last", after "every" run, or after some of the times. ``arrivals`` says for sources in what parts
    their rows come: {"sales": [14, 5, 5], "items": [1, 0, 0]}. Of others it is learned, and at first supposed that the
    large ones grow evenly with time and the small ones rest.
    """
    if isinstance(times, str) or not times:
        raise ConfigError("TIMELINE", f"{times!r} is no list of times", hint='write runs(["14:00", "24:00"])')
    order = [_moment(t) for t in times]
    for (before, a), (after, b) in pairwise(zip(order, times, strict=True)):
        if before[0] != after[0]:
            raise ConfigError("TIMELINE", f"{a!r} and {b!r} are not times of one kind", hint="write all in one form")
        if after[1] <= before[1]:
            raise ConfigError("TIMELINE", f"a run at {b!r} cannot come after one at {a!r}", hint="let times rise")
    facts = zip(times, _weights(weights, times), _delivering(deliver, times), strict=True)
    come = zip(_spans(order), _parts(arrivals or {}, times), strict=True)
    return Timeline(tuple(Run(str(t), w, d, *c) for (t, w, d), c in zip(facts, come, strict=True)))


def _spans(order: Sequence[tuple[str, float]]) -> list[float]:
    """How long data comes for each run: for the first since midnight or zero, or else as long as for the others."""
    between = [after - before for (_, before), (_, after) in pairwise(order)]
    usual = sum(between) / len(between) if between else 1.0
    kind, first = order[0]
    return [first if kind in ("clock", "number") and first > 0 else usual, *between]


def _parts(arrivals: Mapping[str, Sequence[float]], times: Sequence[When]) -> list[tuple[tuple[str, float], ...]]:
    for source, parts in arrivals.items():
        numbers = all(isinstance(p, int | float) and isfinite(p) and p >= 0 for p in parts)
        if isinstance(parts, str) or len(parts) != len(times) or not numbers or not sum(parts) > 0:
            raise ConfigError(
                "ARRIVALS",
                f'"{source}" comes in parts {parts!r}, for {len(times)} runs',
                hint='give a number from 0 on for each run, as in {"sales": [14, 5, 5]}',
            )
    return [tuple((source, float(parts[n])) for source, parts in arrivals.items()) for n in range(len(times))]


def _weights(weights: Sequence[float] | None, times: Sequence[When]) -> list[float]:
    if weights is None:
        return [1.0] * len(times)
    if len(weights) != len(times):
        raise ConfigError("WEIGHTS", f"{len(weights)} weights for {len(times)} runs", hint="give one for each run")
    found = []
    for weight in weights:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(weight) or weight <= 0:
            raise ConfigError("WEIGHTS", f"{weight!r} is no weight", hint="a weight is a number above 0")
        found.append(float(weight))
    return found


def _delivering(deliver: str | Sequence[When], times: Sequence[When]) -> list[bool]:
    if deliver == "last":
        return [False] * (len(times) - 1) + [True]
    if deliver == "every":
        return [True] * len(times)
    unknown = [deliver] if isinstance(deliver, str) else [t for t in deliver if t not in times]
    if unknown:
        raise ConfigError(
            "DELIVER", f"there is no run {unknown[0]!r}", hint='write deliver="last", "every", or some of the times'
        )
    found = [t in deliver for t in times]
    if not found[-1]:
        raise ConfigError("DELIVER", f"the last run, {times[-1]!r}, delivers nothing", hint="add it, or leave it out")
    return found


def _moment(time: When) -> tuple[str, float]:
    """What kind of time it is, and a number that rises with it."""
    match time:
        case bool():
            pass
        case int() | float() if isfinite(time):
            return "number", float(time)
        case datetime():
            return ("instant" if time.tzinfo else "date"), time.timestamp()
        case str():
            hour, colon, minute = time.strip().partition(":")
            if (
                colon
                and hour.isdigit()
                and minute.isdigit()
                and int(minute) < 60
                and int(hour) * 60 + int(minute) <= 1440
            ):
                return "clock", int(hour) * 60.0 + int(minute)
            try:
                return _moment(datetime.fromisoformat(time.strip()))
            except ValueError:
                pass
    raise ConfigError("TIMELINE", f"{time!r} is no time", hint='write "14:00", "2025-01-31 14:00" or a number')
