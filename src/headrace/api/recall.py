"""What a refresh looks up in memory: the plan of a run with probes in the place of scans, where they pay."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.api.knowledge import Knowledge
from headrace.ir.expr import Attr
from headrace.ir.near import Near, Range
from headrace.ir.plan import Plan
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Delta, Load, Snapshot, Source
from headrace.ir.time import NEW, OLD, Reached, Situation
from headrace.ir.walk import nodes
from headrace.planner.probes import FEW, Option, candidates, choose, with_probes
from headrace.planner.skip import with_skips
from headrace.spark.engine import Memory, State
from headrace.spark.file_stats import bounds, near, rows_in, spread
from headrace.spark.sources.source import Scan, SourceReader

_Kind = Situation | None | str
_Key = tuple[_Kind, frozenset[str], frozenset[str]]
_NEAR = "near"  # the kind of plans that read leaves near ranges, of which only the last is known


class Recall:
    """Chooses among the indexes that the plans of one view could use. It is what the planner knows of sizes."""

    def __init__(
        self,
        memory: Memory,
        sources: Mapping[str, SourceReader],
        states: Mapping[str, State],
        knowledge: Knowledge,
    ) -> None:
        self.memory = memory
        self.knowledge = knowledge
        self.sources = sources
        self.states = states
        self._since = self._until = Reached()
        self._known: dict[tuple[_Kind, frozenset[str]], dict[Index, int]] = {}
        self._near_to: Plan | None = None
        self._scans: dict[tuple[str, int, int], Scan] = {}
        self._plans: dict[_Key, Plan] = {}
        self._asked: dict[Situation | None, set[str]] = {}  # indexes that the last run of each kind could have used

    def near(self, plan: Plan, since: Reached, until: Reached) -> Plan:
        """The same plan, with leaves read only near the keys that they are joined with where that is worth it."""
        self._since, self._until = since, until
        self._scans.clear()
        return with_skips(plan, self, eager=self.memory.budget.eager)

    def plan(self, plan: Plan, since: Reached, until: Reached) -> Plan:
        """The same plan with the indexes that are worth it. Others make room for them."""
        self._since, memory = since, self.memory
        held = frozenset(memory.held)  # the order of probes follows from what is known of them
        once = any(isinstance(n, Near) for step in plan.steps for n in nodes(step.rel))  # ranges are of this run alone
        if once and self._near_to is not plan:
            self._near_to = plan
            self._forget_near()
        kind = _NEAR if once else plan.situation
        if (kind, held) not in self._known:
            self._known[kind, held] = candidates(plan, self)
        options = []
        for index, uses in self._known[kind, held].items():
            rows, size = self.rows(index.leaf), memory.size(index, self.rows(index.leaf))
            if size is not None:
                wanted = index.name in memory.wanted
                options.append(Option(index, rows, size, uses, index.name in held, wanted))
        moved = plan.situation.moved if plan.situation else ()
        new = sum(self.sources[n].delta(since.at(n), until.at(n)).rows for n in moved)
        chosen = choose(options, new, memory.room, eager=memory.budget.eager)
        needed = sum(o.bytes for o in options if o.index.name in chosen and not o.there)
        if needed > memory.free:
            for name in held - chosen:
                memory.drop(name)
        self._asked[plan.situation] = {i.name for i in self._known[kind, held]}
        key = (kind, held, chosen)
        if key not in self._plans:
            self._plans[key] = with_probes(plan, self, chosen) if chosen else plan
        return self._plans[key]

    def probing(self, plan: Plan, since: Reached) -> Plan:
        """The same plan with every index that it could use, whether it is there or not."""
        self._since = since
        return with_probes(plan, self, {i.name for i in candidates(plan, self)})

    def _forget_near(self) -> None:
        """What is known of a plan that was read near ranges says nothing of the next one."""
        self._known = {k: v for k, v in self._known.items() if k[0] is not _NEAR}
        self._plans = {k: v for k, v in self._plans.items() if k[0] is not _NEAR}

    def small(self, plan: Plan) -> list[Index]:
        """The indexes that a plan uses and that are not there but soon made."""
        return [i for n, i in _used(plan).items() if n not in self.memory.held and self.rows(i.leaf) <= FEW]

    def large(self, plan: Plan) -> int:
        """How many indexes of many rows a plan uses."""
        return sum(self.rows(i.leaf) > FEW for i in _used(plan).values())

    def ran(self, plan: Plan) -> None:
        """Remember what a run could have used: an index that is asked for again is worth building."""
        self.memory.wanted |= self._asked.get(plan.situation, set())

    def rows(self, leaf: Snapshot | Load) -> int:
        if isinstance(leaf, Load):
            return self.states[leaf.state].table.rows()
        assert isinstance(leaf.of, Source)
        return self.sources[leaf.of.name].snapshot(self._since.at(leaf.of.name)).rows

    def range(self, leaf: Snapshot | Delta | Load, attr: Attr) -> Range | None:
        if isinstance(leaf, Load):
            return self.states[leaf.state].bounds(attr) if leaf.at == OLD else None
        assert isinstance(leaf.of, Source)
        scan = self._scan(leaf)
        return bounds(scan.files, _field(leaf.of, attr)) if scan.among is not None else None

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        if isinstance(leaf, Load):
            return rows_in(self.states[leaf.state].near(dict(within)))
        assert isinstance(leaf.of, Source)
        scan, source = self._scan(leaf), leaf.of
        if scan.among is None:
            return scan.rows
        return scan.among(near(scan.files, {_field(source, a): r for a, r in within})).rows

    def _scan(self, leaf: Snapshot | Delta) -> Scan:
        assert isinstance(leaf.of, Source)
        name, start = leaf.of.name, self._since.at(leaf.of.name) if isinstance(leaf, Delta) else 0
        until = isinstance(leaf, Delta) or leaf.at == NEW
        key = (name, start, (self._until if until else self._since).at(name))
        if key not in self._scans:
            source = self.sources[name]
            self._scans[key] = source.delta(*key[1:]) if isinstance(leaf, Delta) else source.snapshot(key[2])
        return self._scans[key]

    def found(self, index: Index) -> float | None:
        """Of a unique key the share of rows that a filter leaves, else the mean of what a key has. Where an index is
        not there, what is known of its table says how many different keys it has, or else the range of a column how
        many there can be."""
        held, rows = self.memory.held.get(index.name), self.rows(index.leaf)
        if held is not None:
            records, keys = held.counts
            return records / max(rows, 1) if records == keys else records / max(keys, 1)
        if index.source is None:
            return None
        guess = self.knowledge.found(index, self._since)
        if guess is not None:
            return guess
        source, most = self.sources[index.source.name], 1
        for attr in index.keys:
            field = index.field(attr)
            width = field and spread(source.snapshot(self._since.at(index.source.name)).files, field)
            if not width:
                return None
            most *= width
        return max(rows / most, 1.0) * 0.5**index.filters


def _field(source: Source, attr: Attr) -> str:
    """The column of a source that an attribute is."""
    return next(f for a, f in zip(source.columns, source.fields, strict=True) if a.id == attr.id)


def _used(plan: Plan) -> dict[str, Index]:
    return {name: index for step in plan.steps for name, index in indexes(step.rel).items()}
