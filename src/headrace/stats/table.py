"""What is known of a table: its rows and bytes, and of its columns the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headrace.ir.rel import Source
from headrace.stats.estimate import NOTHING, Change, Estimate, Span, delta_of, population, width_of


@dataclass(frozen=True)
class ColumnFacts:
    """The values of a column: how many different ones, from where to where as numbers, the share of rows that have
    none, and the bytes that one takes. What is None is not known. One that is ``rising`` has in new rows values above
    those of the rows before."""

    distinct: float | None = None
    low: float | None = None
    high: float | None = None
    nulls: float = 0.0
    width: float | None = None
    rising: bool = False

    def grown(self, times: float) -> ColumnFacts:
        """The same in a table of so many times the rows: where it rises, its values go on as they came."""
        if not self.rising or self.low is None or self.high is None:
            return self
        return replace(self, high=self.low + (self.high - self.low) * times)


@dataclass(frozen=True)
class TableFacts:
    """A table at one position; ``columns`` by name."""

    rows: float
    bytes: float = 0.0
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)

    def estimate(self, source: Source, change: Change = NOTHING) -> Estimate:
        """A source that is this table once a run is done."""
        distinct: dict[str, float] = {}
        spans: dict[str, Span] = {}
        width = 0.0
        for attr, name in zip(source.columns, source.fields, strict=True):
            facts = self.columns.get(name, ColumnFacts())
            width += width_of(attr.type) if facts.width is None else facts.width
            if facts.distinct is not None:
                distinct[attr.id] = min(facts.distinct, self.rows)
            if facts.low is not None and facts.high is not None:
                since = facts.grown(max(1 - change.net / self.rows, 0.0)).high if _rises(facts, change) else None
                nulls = min(max(facts.nulls, 0.0), 1.0)
                spans[attr.id] = Span(facts.low, facts.high, nulls, since, facts.rising)
        made = Estimate(self.rows, change, distinct, max(width, 1.0), False, spans)
        key = max(distinct, key=lambda a: distinct[a], default="")
        determined = {a.id: key for a in source.columns if a.id != key} if made.unique(key) else {}
        domains = {a: population(d, self.rows) for a, d in distinct.items()}
        return replace(made, determined=determined, domains=domains)

    def of_rows(self, rows: float) -> TableFacts:
        """The same table when it has or had another number of rows."""
        times = rows / self.rows if self.rows > 0 else 1.0
        return replace(self, rows=rows, columns={n: c.grown(times) for n, c in self.columns.items()})


def _rises(facts: ColumnFacts, change: Change) -> bool:
    return facts.rising and change.inserts > 0 and not change.left


@dataclass(frozen=True)
class Moving:
    """A source in a run: as it is once the run is done, what the run finds changed, and what is known of the rows of
    the change by themselves."""

    table: TableFacts
    change: Change = NOTHING
    delta: TableFacts | None = None

    @property
    def still(self) -> Moving:
        """As it was before, with nothing changed."""
        return Moving(self.table.of_rows(max(self.table.rows - self.change.net, 0.0)))

    def changes(self, source: Source) -> Estimate | None:
        """The rows of the change by themselves."""
        if self.delta is None:
            return None
        made = delta_of(self.change, self.table.estimate(source))
        own = self.delta.estimate(source)
        scale = made.rows / own.rows if own.rows > 0 else 0.0
        distinct = {**made.distinct, **{a: min(d * max(scale, 1.0), made.rows) for a, d in own.distinct.items()}}
        return replace(made, distinct=distinct, spans={**made.spans, **own.spans}, width=own.width)
