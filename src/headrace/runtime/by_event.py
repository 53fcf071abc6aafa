"""Policies that an event makes due: rows that came, a view that published, somebody who asked.

The clock alone never makes one due: ``next`` is the present moment, or None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.errors import ConfigError
from headrace.runtime.moment import Moment
from headrace.runtime.policy import Policy

_PLAIN = re.compile(r"[^\W\d]\w*", re.ASCII)


@dataclass(frozen=True, repr=False)
class OnDemand(Policy):
    """Due when somebody asks, and only then."""

    def next(self, moment: Moment) -> float | None:
        return moment.now if moment.asked else None

    def why(self, moment: Moment) -> str:
        return "asked for" if moment.asked else "nobody has asked for it"

    def __str__(self) -> str:
        return "on_demand"

    def __repr__(self) -> str:
        return "on_demand()"


@dataclass(frozen=True, repr=False)
class AfterRows(Policy):
    """Due when so many rows wait: in one input, or in all of them together."""

    rows: int
    source: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise ConfigError(
                "ROWS", f"after_rows({self.rows!r}) is no number of rows", hint="give a whole number of at least 1"
            )

    def waiting(self, moment: Moment) -> int:
        return sum(moment.unread.values()) if self.source is None else moment.unread.get(self.source, 0)

    def next(self, moment: Moment) -> float | None:
        return moment.now if self.waiting(moment) >= self.rows else None

    def why(self, moment: Moment) -> str:
        place = "" if self.source is None else f" in {self.source}"
        return f"{self.waiting(moment):,} rows wait{place} (after {self.rows:,})"

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset() if self.source is None else frozenset({self.source})

    def __str__(self) -> str:
        return f"after_rows {self.rows}" + ("" if self.source is None else f" of {quoted(self.source)}")

    def __repr__(self) -> str:
        return f"after_rows({self.rows}" + ("" if self.source is None else f", source={self.source!r}") + ")"


@dataclass(frozen=True, repr=False)
class OnChange(Policy):
    """Due when any input has something unread."""

    def next(self, moment: Moment) -> float | None:
        return moment.now if moment.changed else None

    def why(self, moment: Moment) -> str:
        return f"{_listed(moment.changed)} changed" if moment.changed else "nothing has changed"

    def __str__(self) -> str:
        return "on_change"

    def __repr__(self) -> str:
        return "on_change()"


@dataclass(frozen=True, repr=False)
class DownstreamOf(Policy):
    """Due when one of these views published something that this one has not read; without names, any view it reads."""

    names: tuple[str, ...] = ()

    def fresh(self, moment: Moment) -> frozenset[str]:
        return moment.published & frozenset(self.names) if self.names else moment.published

    def next(self, moment: Moment) -> float | None:
        return moment.now if self.fresh(moment) else None

    def why(self, moment: Moment) -> str:
        fresh = self.fresh(moment)
        return f"{_listed(fresh)} published" if fresh else f"nothing new from {_listed(self.names) or 'any view'}"

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset(self.names)

    def __str__(self) -> str:
        return " ".join(("downstream_of", ", ".join(quoted(n) for n in self.names))).rstrip()

    def __repr__(self) -> str:
        return f"downstream_of({', '.join(repr(n) for n in self.names)})"


def quoted(name: str) -> str:
    """A name as settings have it: plain words as they are, all others in double quotes, which are doubled inside."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def on_demand() -> Policy:
    """Refresh only when asked."""
    return OnDemand()


def after_rows(rows: int, source: str | None = None) -> Policy:
    """Refresh when so many rows wait, in all inputs together or in one."""
    return AfterRows(rows, source)


def on_change() -> Policy:
    """Refresh when anything has changed."""
    return OnChange()


def downstream_of(*views: str) -> Policy:
    """Refresh when these views published something new; without names, any view that the query reads."""
    return DownstreamOf(tuple(dict.fromkeys(views)))
