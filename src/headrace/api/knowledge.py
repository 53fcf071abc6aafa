"""What is known of a view's data in a run: its sources and how they change, its states, and what earlier runs counted.

Nothing of it needs a job. Tables are looked at once in a process, when a view is first computed or priced; how many
rows they have now, their logs tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from headrace.cost.model import SMALL
from headrace.ir.expr import Attr
from headrace.ir.near import Near, Range
from headrace.ir.plan import Keep, Plan
from headrace.ir.probe import Index
from headrace.ir.rel import Aggregate, Filter, Join, Load, Node, PairJoin, Rel, Snapshot, Source, Window
from headrace.ir.time import Reached
from headrace.ir.walk import nodes
from headrace.planner.problem import Arriving
from headrace.planner.simple import Planner, partial_group
from headrace.spark.engine import State
from headrace.spark.sources.source import Scan, SourceReader
from headrace.spark.table_stats import grown, in_order, table_facts
from headrace.stats.cardinality import Learned, estimate_tree
from headrace.stats.estimate import Change, Estimate
from headrace.stats.feedback import Counted
from headrace.stats.known import Statistics
from headrace.stats.operator_key import OperatorKeys
from headrace.stats.table import Moving, TableFacts


class Leaves(Protocol):
    """What can be told of leaves in a run beyond their size."""

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int: ...

    def found(self, index: Index) -> float | None: ...


@dataclass(frozen=True)
class RunStatistics(Statistics):
    """What is known in one run, with what files and indexes tell when they are asked."""

    leaves: Leaves | None = None

    def near(self, near: Near) -> float | None:
        if self.leaves is None or not isinstance(near.input, Snapshot | Load):
            return None
        return float(self.leaves.part(near.input, near.within))

    def found(self, index: Index) -> float | None:
        return None if self.leaves is None else self.leaves.found(index)


class Knowledge:
    """What is known of the tables of one view."""

    def __init__(self, planner: Planner, sources: Mapping[str, SourceReader], states: Mapping[str, State]) -> None:
        self.planner = planner
        self.sources = sources
        self.states = states
        self._columns = _telling(planner.query)
        self._facts: dict[str, TableFacts] = {}
        self._keys = OperatorKeys()
        self._about: tuple[int, float] | None = None

    @cached_property
    def load(self) -> Plan:
        """The plan that computes everything."""
        return self.planner.load()

    def everything(self, until: Reached) -> int:
        """The rows of all sources."""
        return sum(s.snapshot(until.at(n)).rows for n, s in self.sources.items())

    def about(self, until: Reached, price: Callable[[], float]) -> float:
        """What computing everything costs, asked again when there is a twentieth more or less of it."""
        rows = self.everything(until)
        if self._about is None or abs(rows - self._about[0]) > rows / 20:
            self._about = (rows, price())
        return self._about[1]

    def run(
        self,
        since: Reached,
        until: Reached,
        lessons: Mapping[str, Learned],
        leaves: Leaves | None = None,
        *,
        states: bool = True,
    ) -> RunStatistics:
        """What is known in a run between two versions. What states hold, the plan that computes everything says; and
        their tables how many rows, where ``states`` are there."""
        moving = {name: self._moving(name, since.at(name), until.at(name)) for name in self.sources}
        known = RunStatistics(moving, lessons=lessons, keys=self._keys, leaves=leaves)
        return self._with_states(known, states)

    def moved(self, known: RunStatistics, changes: Mapping[str, Change], *, states: bool) -> RunStatistics:
        """The same where sources change otherwise after this version."""
        moving = {}
        for name, one in known.sources.items():
            change = changes.get(name, Change())
            rows = max(one.table.rows + change.net, 0.0)
            moving[name] = Moving(one.table.of_rows(rows), change)
        return self._with_states(replace(known, sources=moving, states={}), states)

    def arriving(
        self, data: Mapping[str, Arriving], at: Reached, lessons: Mapping[str, Learned] | None = None
    ) -> Statistics:
        """What is known of tables as they are at a version, in a run that finds them of other sizes."""
        moving = {}
        for name, found in data.items():
            table = self._table(name, self.sources[name].snapshot(at.at(name)))
            change = Change(found.inserts, found.updates, found.deletes)
            moving[name] = Moving(table.of_rows(found.after), change)
        return Statistics(moving, lessons=lessons or {}, keys=self._keys)

    def _with_states(self, known: RunStatistics, there: bool) -> RunStatistics:
        for step in self.load.steps:
            if isinstance(step, Keep):
                made = estimate_tree(step.rel, known, {}, {})
                if there:
                    made = _with_rows(made, self.states[step.state].table.rows())
                known = replace(known, states={**known.states, step.state: made})
        return known

    def found(self, index: Index, at: Reached) -> float | None:
        """How many rows an index of a source would give for a key; None where too little is known. A small table is not
        looked at for it."""
        source = index.source
        if source is None:
            return None
        scan = self.sources[source.name].snapshot(at.at(source.name))
        if scan.rows <= SMALL:
            return None
        table = self._table(source.name, scan)
        made = estimate_tree(index.rel, Statistics({source.name: Moving(table)}), {}, {})
        if not all(k.id in made.distinct for k in index.keys):
            return None
        keys = min(math.prod(made.domain(k.id) for k in index.keys), table.rows)
        return made.rows / max(keys, 1.0)

    def counted(self, rows: Mapping[int, int]) -> dict[int, Counted]:
        """What a run counted, by the nodes of the query: the rows of changes by Tvr, and those of states, of which an
        aggregate has as many groups."""
        memo, held = self.planner.memo, {g: self.states[k.name].table.rows() for g, k in self.planner.states.items()}
        found = {}
        for node in nodes(self.planner.query):
            group = self.planner.group(node)
            kept = held.get(group.id, held.get(partial_group(memo, group)))
            found[id(node)] = Counted(None if kept is None else float(kept), rows.get(group.id))
        return found

    def _moving(self, name: str, since: int, until: int) -> Moving:
        source = self.sources[name]
        delta = source.delta(since, until)
        change = Change(float(delta.rows - delta.leaving), 0.0, float(delta.leaving))
        return Moving(self._table(name, source.snapshot(until)), change)

    def _table(self, name: str, scan: Scan) -> TableFacts:
        """A table as it is now; it is looked at once, and again when it has become twice as large."""
        rows = scan.rows - 2 * scan.leaving  # those that leave are there, and take others back
        known = self._facts.get(name)
        if known is None or rows > 2 * known.rows:
            known = table_facts(scan.files, rows, scan.bytes, self._columns.get(name, ()))
            self._facts[name] = known
        return in_order(grown(known, rows, scan.bytes), scan.files)


def _with_rows(state: Estimate, before: int) -> Estimate:
    """A state that had so many rows before the run."""
    rows = max(before + state.change.net, 0.0)
    if rows <= state.rows or state.rows <= 0:
        return state.thinned(rows, state.change)
    times = rows / state.rows
    distinct = {a: d * times if d >= 0.9 * state.rows else d for a, d in state.distinct.items()}
    return replace(state, rows=rows, distinct=distinct)


def _telling(query: Node) -> dict[str, tuple[str, ...]]:
    """The columns of each source whose values tell how many rows operators have: those that joins, groups and filters
    look at, under whatever name."""
    asked: set[str] = set()
    for node in nodes(query):
        match node:
            case Filter(conjuncts=conjuncts):
                asked |= {r for c in conjuncts for r in c.refs}
            case Join(equals=equals, residual=residual):
                asked |= {r for e in equals for r in e.refs} | {r for e in residual for r in e.refs}
            case PairJoin(keys=keys, condition=condition):
                asked |= {a.id for pair in keys for a in pair} | (set(condition.refs) if condition else set())
            case Aggregate(keys=by) | Window(partition=by):
                asked |= {a.id for a in by}
    found: dict[str, set[str]] = {}
    for attr in asked:
        for source, name in _origins(query, attr):
            found.setdefault(source, set()).add(name)
    return {source: tuple(sorted(names)) for source, names in found.items()}


def _origins(rel: Rel, attr: str) -> set[tuple[str, str]]:
    """The columns of sources that a column is made from."""
    wanted = {attr}
    found: set[tuple[str, str]] = set()
    for node in reversed(list(nodes(rel))):
        for column in getattr(node, "columns", ()):
            expr = getattr(column, "expr", None)
            if expr is not None and column.attr.id in wanted:
                wanted |= expr.refs
        for order in getattr(node, "orders", ()):
            wanted |= {a.id for a, c in zip(order, getattr(node, "columns", ()), strict=False) if c.id in wanted}
        if isinstance(node, Source):
            found |= {(node.name, f) for a, f in zip(node.columns, node.fields, strict=True) if a.id in wanted}
    return found
