"""Timelines as settings have them: ``14:00 x0.25, 19:00 x0.3, 24:00``, and when a service does their runs.

Each run is a time, behind an x what a second of it costs beside one of the others where that is not 1, and the word
``deliver`` where the result must be up to date after it; after the last it always must. Nothing is evaluated.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_

from headrace.errors import ConfigError
from headrace.ir.timeline import Timeline, runs
from headrace.runtime.by_clock import cron
from headrace.runtime.policy import Policy

_RUN = re.compile(r"(?P<time>\S.*?)(?:\s+x\s*(?P<weight>\S+?))?(?P<deliver>\s+deliver)?", re.IGNORECASE)
_CLOCK = re.compile(r"(\d+):(\d\d)")


def parse_timeline(text: str) -> Timeline:
    """A timeline as a setting has it."""
    found = [_RUN.fullmatch(part.strip()) for part in text.split(",")]
    times = [run["time"] for run in found if run is not None]
    if len(times) < len(found):
        raise ConfigError("TIMELINE", f"{text!r} is no timeline", hint="write 14:00 x0.25, 19:00 x0.3, 24:00")
    weights = [_weight(run["weight"]) for run in found if run is not None]
    delivering = [run["time"] for run in found if run is not None and run["deliver"]]
    return runs(times, weights=weights, deliver=[*delivering, times[-1]])


def _weight(text: str | None) -> float:
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        raise ConfigError("WEIGHTS", f"{text!r} is no weight", hint="a weight is a number above 0") from None


def at_its_times(timeline: Timeline) -> Policy | None:
    """Every day at the times of a timeline; None where its runs are not told by times of a day."""
    times = [_CLOCK.fullmatch(run.name.strip()) for run in timeline.runs]
    if not all(times):
        return None
    return reduce(or_, (cron(f"{int(t[2])} {int(t[1]) % 24} * * *") for t in times if t is not None))
