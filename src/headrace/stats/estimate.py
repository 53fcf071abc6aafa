"""What is expected of one relation in one run: its rows, how the run changes it, and the values of its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

# Bytes of a value; of one whose length varies, what names and codes have.
_WIDTHS = {
    "boolean": 1.0,
    "tinyint": 1.0,
    "smallint": 2.0,
    "int": 4.0,
    "float": 4.0,
    "date": 4.0,
    "bigint": 8.0,
    "double": 8.0,
    "timestamp": 8.0,
    "timestamp_ntz": 8.0,
}
_TEXT, _DECIMAL = 20.0, 8.0
# Of a column of which nothing is known: between a category, of which there are few, and a key.
_UNKNOWN = 0.75
# A column with a value of its own in nearly every row is taken for a key. Counts of values are estimates.
KEY = 0.95


@dataclass(frozen=True)
class Change:
    """How many rows come, are replaced and leave. An update is −1 of the old row and +1 of the new one."""

    inserts: float = 0.0
    updates: float = 0.0
    deletes: float = 0.0

    @property
    def came(self) -> float:
        return self.inserts + self.updates

    @property
    def left(self) -> float:
        return self.deletes + self.updates

    @property
    def rows(self) -> float:
        """The rows of the Delta, whatever their sign."""
        return self.came + self.left

    @property
    def net(self) -> float:
        """By how much the relation grows."""
        return self.inserts - self.deletes

    @property
    def negated(self) -> Change:
        return Change(self.deletes, self.updates, self.inserts)

    def __add__(self, other: Change) -> Change:
        return Change(
            self.inserts + other.inserts,
            self.updates + other.updates,
            self.deletes + other.deletes,
        )

    def __mul__(self, factor: float) -> Change:
        return Change(self.inserts * factor, self.updates * factor, self.deletes * factor)

    def __bool__(self) -> bool:
        return self.rows > 0


NOTHING = Change()


@dataclass(frozen=True)
class Span:
    """Where the values of a column lie, as numbers (a date as days from the first of year 1), and the share of rows in
    which it is NULL. A column that is ``rising`` has greater values in newer rows, so that they lie in the order of
    files; where such come in the run, they are those from ``since`` on."""

    low: float
    high: float
    nulls: float = 0.0
    since: float | None = None
    rising: bool = False

    @property
    def width(self) -> float:
        return max(self.high - self.low, 0.0)

    @property
    def before(self) -> Span:
        """Where those lie that were there before the run."""
        if self.since is None:
            return self
        return replace(self, high=max(min(self.high, self.since), self.low), since=None)

    @property
    def came(self) -> Span:
        """Where those lie that come in the run."""
        if self.since is None:
            return self
        return replace(self, low=min(max(self.low, self.since), self.high), since=None)

    def share(self, other: Span) -> float:
        """Of where its values lie, the share in which those of another lie too."""
        common = min(self.high, other.high) - max(self.low, other.low)
        return min(max(common + 1, 0.0) / (self.width + 1), 1.0)


@dataclass(frozen=True)
class Estimate:
    """What is expected of a relation in a run.

    ``rows`` are the rows that it holds once the run is done, and ``change`` is what the run changes in it; of a Delta
    (``delta``) ``change`` is its own composition and ``rows`` are its rows of any sign. ``distinct`` counts the values
    of columns by attribute id, ``spans`` says where they lie, and ``width`` is the bytes of a row. ``determined`` maps
    a column to another one of which it is a function: the key of the table that both come from, or what it was joined
    with. ``domains`` counts the values that a column has where it comes from: a filter on other columns leaves fewer
    values of it, but a row of another table still finds one of them no more often than one in so many times.
    """

    rows: float
    change: Change = NOTHING
    distinct: Mapping[str, float] = field(default_factory=dict)
    width: float = 8.0
    delta: bool = False
    spans: Mapping[str, Span] = field(default_factory=dict)
    determined: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, float] = field(default_factory=dict)

    @property
    def before(self) -> float:
        """The rows that it held before the run."""
        return 0.0 if self.delta else max(self.rows - self.change.net, 0.0)

    @property
    def bytes(self) -> float:
        return self.rows * self.width

    def values(self, attr: str) -> float:
        """How many different values a column has; a guess where nothing is known of it."""
        known = self.distinct.get(attr)
        return max(min(self.rows**_UNKNOWN if known is None else known, self.rows), min(self.rows, 1.0))

    def unique(self, attr: str) -> bool:
        """Whether a column seems to have a value of its own in every row."""
        return self.distinct.get(attr, 0.0) >= KEY * self.rows > 0

    def domain(self, attr: str) -> float:
        """From how many values those of a column are."""
        return max(self.domains.get(attr, 0.0), self.values(attr))

    def nulls(self, attr: str) -> float:
        span = self.spans.get(attr)
        return span.nulls if span else 0.0

    def within(self, spans: Mapping[str, Span]) -> Estimate:
        """The same with the values of some columns in smaller spans, from which as many fewer values are drawn."""
        if not spans:
            return self
        parts = {a: self.spans[a].share(s) for a, s in spans.items()}
        domains = {a: d * parts.get(a, 1.0) for a, d in self.domains.items()}
        return replace(self, spans={**self.spans, **spans}, domains=domains)

    def thinned(self, rows: float, change: Change) -> Estimate:
        """So many of its rows, taken at random."""
        if rows >= self.rows:
            return replace(self, rows=rows, change=change)
        kept = {a: remaining(d, self.rows, rows) for a, d in self.distinct.items()}
        return replace(self, rows=rows, change=change, distinct=kept)


def delta_of(change: Change, like: Estimate) -> Estimate:
    """A Delta of so many rows, with columns like those of a relation. The two rows of an update are mostly alike."""
    rows, places = change.rows, change.inserts + change.updates + change.deletes
    kept = {a: remaining(d, max(like.rows, places), places) for a, d in like.distinct.items()}
    made = replace(like, rows=rows, change=change, distinct=kept, delta=True)
    return made.within({a: s.came for a, s in like.spans.items() if s.since is not None})


def drawn(values: float, times: float) -> float:
    """How many different values to expect when one of so many is drawn so many times (Cardenas)."""
    if values <= 1:
        return max(min(values, times), 0.0)
    found = -values * math.expm1(times * math.log1p(-1 / values))
    return max(min(found, times, values), 0.0)


def population(values: float, rows: float) -> float:
    """From how many values those are drawn of which some rows have so many: the inverse of ``drawn``. Where each row
    has its own, they are taken for a key, which has them all; and a count that is a little wrong makes it three times
    as many at most."""
    seen = values / rows if rows > 0 else 1.0
    if seen >= KEY or seen < 0.2:
        return values
    low, high = 0.0, 1 / seen  # draws for each value
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-middle) > seen * middle else (low, middle)
    return min(rows / high, 3 * values)


def remaining(values: float, rows: float, kept: float) -> float:
    """How many of the values that a column has in some rows it still has in those of them that are kept at random,
    where each value has as many rows (Yao)."""
    if kept >= rows:
        return min(values, rows)
    if kept <= 0 or values <= 0:
        return 0.0
    values = min(values, rows)
    found = -values * math.expm1(rows / values * math.log1p(-kept / rows))
    return max(min(found, kept), 0.0)


def width_of(type_: str) -> float:
    """The bytes that a value of a type takes, before anything is known of its values."""
    return _DECIMAL if type_.startswith("decimal") else _WIDTHS.get(type_, _TEXT)
