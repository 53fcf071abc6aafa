"""All that a policy may know: what stands waiting before one view at one instant.

Times are seconds since 1970. A clock can be set back; then the last run seems to lie in the future, and nobody
knows how long ago it was. Such a run counts as none: a policy by the clock is due at once, runs, and goes on from
the clock as it now is, instead of waiting until the old time comes round again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Run:
    """A run that did its work; ``expected`` are the seconds that one was thought to take when it began."""

    started: float
    ended: float
    expected: float | None = None


@dataclass(frozen=True)
class Moment:
    """``unread`` are rows that wait, by input; rows that leave count like rows that come. ``changed`` are the inputs
    with anything unread, also where nobody counted its rows, and ``published`` the views among them. ``since`` is
    when the view came to be watched, ``expected`` how many seconds a run would take now, and ``asked`` whether
    somebody wants one."""

    now: float
    last: Run | None = None
    since: float | None = None
    unread: Mapping[str, int] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    published: frozenset[str] = frozenset()
    expected: float | None = None
    asked: bool = False

    @property
    def ran(self) -> float | None:
        """When the last run began, as far as the clock can be believed."""
        return None if self.last is None or self.last.started > self.now else self.last.started

    @property
    def served(self) -> float | None:
        """Hours of the clock up to this one need no run: the last one began then, or the view came only then."""
        reference = self.since if self.last is None else self.last.started
        return None if reference is None or reference > self.now else reference
