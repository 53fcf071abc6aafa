"""Policies that the clock makes due: so long after the last run, at hours of the calendar, in time for one.

Hours are those of a time zone by its IANA name, UTC unless told otherwise: never the zone that the machine happens to
be in. An hour that has come is served by a run that begins then or later; until there is one, the view stays due. So
hours that passed while nothing could run lead to one run, not to many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from headrace.errors import ConfigError
from headrace.runtime.duration import Duration, seconds, show
from headrace.runtime.moment import Moment
from headrace.runtime.policy import Policy

MARGIN = 300.0  # a run may take longer than the last ones did, and wait for another to end
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True, repr=False)
class Every(Policy):
    """Due ``length`` seconds after the last run began, and at once where there was none. It stays due until the view
    runs, and a run that took longer than the length is followed by the next."""

    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", seconds(self.length))

    def next(self, moment: Moment) -> float | None:
        return moment.now if moment.ran is None else max(moment.now, moment.ran + self.length)

    def why(self, moment: Moment) -> str:
        if moment.last is None:
            return "there was no run yet"
        if moment.ran is None:
            return "the clock was set back since the last run"
        return f"{_about(moment.now - moment.ran)} since the last run (every {show(self.length)})"

    def __str__(self) -> str:
        return f"every {show(self.length)}"

    def __repr__(self) -> str:
        return f"every({show(self.length)!r})"


@dataclass(frozen=True, repr=False)
class Cron(Policy):
    """Due when an hour of the expression has come since the last run began, or since the view came to be watched.

    Five fields, or six with seconds before them, as Debian's cron reads them. Where clocks change, an hour that is
    left out comes at the end of the gap, and one that comes twice counts the first time.
    """

    text: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", " ".join(self.text.split()))
        _zone(self.zone)
        try:
            found = _hour_after(self.text, self.zone, 0.0)
        except CronSimError as problem:
            raise self._refused(str(problem).lower()) from None
        if found is None:
            raise self._refused("such an hour never comes")

    def next(self, moment: Moment) -> float | None:
        if moment.served is None:
            return moment.now
        hour = _hour_after(self.text, self.zone, moment.served)
        return None if hour is None else max(moment.now, hour)

    def why(self, moment: Moment) -> str:
        hour = None if moment.served is None else _hour_after(self.text, self.zone, moment.served)
        if hour is None:
            return f"no run is known (cron {self.text})"
        return f"{'it was' if hour <= moment.now else 'next at'} {_clock(hour, self.zone)} (cron {self.text})"

    def _refused(self, problem: str) -> ConfigError:
        return ConfigError(
            "CRON",
            f"{self.text!r} is no cron expression: {problem}",
            hint='give minute, hour, day of month, month and day of week, such as "*/5 * * * *" or "0 6 * * MON-FRI"',
        )

    def __str__(self) -> str:
        return f"cron {self.text}" + ("" if self.zone == "UTC" else f" in {self.zone}")

    def __repr__(self) -> str:
        return f"cron({self.text!r}" + ("" if self.zone == "UTC" else f", zone={self.zone!r}") + ")"


@dataclass(frozen=True, repr=False)
class Deadline(Policy):
    """Due each day so early that a run is done by ``hour``: by the seconds it is expected to take, and ``margin``.

    A run that began then or later serves the day. Earlier ones are allowed, and make the last one small, but they
    cannot hold what came after them. What a run takes is estimated anew after each: a day that the last run served by
    the estimate it began with stays served by a shorter one.
    """

    hour: time
    zone: str = "UTC"
    margin: float = MARGIN

    def __post_init__(self) -> None:
        _zone(self.zone)
        object.__setattr__(self, "margin", seconds(self.margin, zero=True))

    def next(self, moment: Moment) -> float | None:
        if moment.served is None:
            return moment.now
        return max(moment.now, self._missed(moment, moment.served) - self._lead(moment.expected))

    def why(self, moment: Moment) -> str:
        lead = show(round(self._lead(moment.expected)))
        return f"{self.hour:%H:%M} ({self.zone}) needs a run {lead} before"

    def _lead(self, expected: float | None) -> float:
        return (expected or 0.0) + self.margin

    def _missed(self, moment: Moment, served: float) -> float:
        """The first deadline that no run is in time for."""
        lead = self._lead(moment.expected)
        if moment.last is not None:
            lead = max(lead, self._lead(moment.last.expected))
        day = datetime.fromtimestamp(served + lead, _zone(self.zone)).date() - timedelta(days=1)
        while self._at(day) - lead <= served:
            day += timedelta(days=1)
        return self._at(day)

    def _at(self, day: date) -> float:
        """Where clocks change the hour may come twice or not at all; the earlier reading is the safe one."""
        zone = _zone(self.zone)
        return min(datetime.combine(day, self.hour.replace(fold=f), zone).timestamp() for f in (0, 1))

    def __str__(self) -> str:
        zone = "" if self.zone == "UTC" else f" in {self.zone}"
        return f"deadline {self.hour:%H:%M}{zone}" + ("" if self.margin == MARGIN else f" margin {show(self.margin)}")

    def __repr__(self) -> str:
        zone = "" if self.zone == "UTC" else f", zone={self.zone!r}"
        margin = "" if self.margin == MARGIN else f", margin={show(self.margin)!r}"
        return f"deadline('{self.hour:%H:%M}'{zone}{margin})"


@lru_cache(maxsize=1024)
def _hour_after(text: str, zone: str, at: float) -> float | None:
    """The first hour of a cron expression strictly after ``at``. In the hour that comes twice CronSim begins with the
    first time, which may lie before ``at``: a view would be due without end."""
    for hour in CronSim(text, datetime.fromtimestamp(at, _zone(zone))):
        if hour.timestamp() > at:
            return hour.timestamp()
    return None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            "ZONE", f"there is no time zone {name!r}", hint='give its IANA name, such as "Europe/Berlin" or "UTC"'
        ) from None


def _clock(at: float, zone: str) -> str:
    return f"{datetime.fromtimestamp(at, _zone(zone)):%Y-%m-%d %H:%M} {zone}"


def _about(length: float) -> str:
    """A length of time in the unit that people would use: the reader wants no fractions of a minute."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if length >= 2 * size or (length >= size and length % size == 0):
            return f"{length / size:.3g} {unit}"
    return f"{length:.3g} s"


def every(length: Duration) -> Policy:
    """Refresh so often: ``every("10 min")``, seconds, or a timedelta; from the beginning of one run to the next."""
    return Every(seconds(length))


def cron(text: str, *, zone: str = "UTC") -> Policy:
    """Refresh at hours of the calendar: ``cron("*/5 * * * *")``, in a time zone by its IANA name."""
    return Cron(text, zone)


def deadline(hour: str, *, zone: str = "UTC", margin: Duration = MARGIN) -> Policy:
    """Have the result there each day by an hour, ``deadline("08:00", zone="Europe/Berlin")``: a run begins as early as
    runs take, and ``margin`` earlier."""
    found = _HOUR.fullmatch(hour)
    if found is None:
        raise ConfigError("HOUR", f"{hour!r} is no time of day", hint='write hours and minutes, such as "08:00"')
    return Deadline(time(int(found[1]), int(found[2])), zone, seconds(margin, zero=True))
