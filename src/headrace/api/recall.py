"""What a refresh looks up in memory: the plan of a run with probes in the place of scans, where they pay."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ir.plan import Plan
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Load, Snapshot, Source
from headrace.ir.time import Reached, Situation
from headrace.planner.probes import FEW, Option, candidates, choose, with_probes
from headrace.spark.engine import Memory, State
from headrace.spark.file_stats import spread
from headrace.spark.sources.source import SourceReader

_Key = tuple[Situation | None, frozenset[str], frozenset[str]]


class Recall:
    """Chooses among the indexes that the plans of one view could use. It is what the planner knows of sizes."""

    def __init__(self, memory: Memory, sources: Mapping[str, SourceReader], states: Mapping[str, State]) -> None:
        self.memory = memory
        self.sources = sources
        self.states = states
        self._since = Reached()
        self._known: dict[tuple[Situation | None, frozenset[str]], dict[Index, int]] = {}
        self._plans: dict[_Key, Plan] = {}

    def plan(self, plan: Plan, since: Reached, until: Reached) -> Plan:
        """The same plan with the indexes that are worth it. Others make room for them."""
        self._since, memory = since, self.memory
        held = frozenset(memory.held)  # the order of probes follows from what is known of them
        if (plan.situation, held) not in self._known:
            self._known[plan.situation, held] = candidates(plan, self)
        options = []
        for index, uses in self._known[plan.situation, held].items():
            rows, size = self.rows(index.leaf), memory.size(index, self.rows(index.leaf))
            if size is not None:
                wanted = index.name in memory.wanted
                options.append(Option(index, rows, size, uses, index.name in held, wanted))
        moved = plan.situation.moved if plan.situation else ()
        new = sum(self.sources[n].delta(since.at(n), until.at(n)).rows for n in moved)
        chosen = choose(options, new, memory.room, eager=memory.budget.eager)
        needed = sum(o.bytes for o in options if o.index.name in chosen and not o.there)
        if needed > memory.budget.free:
            for name in held - chosen:
                memory.drop(name)
        key = (plan.situation, held, chosen)
        if key not in self._plans:
            self._plans[key] = with_probes(plan, self, chosen) if chosen else plan
        return self._plans[key]

    def small(self, plan: Plan) -> list[Index]:
        """The indexes that a plan uses and that are not there but soon made."""
        return [i for n, i in _used(plan).items() if n not in self.memory.held and self.rows(i.leaf) <= FEW]

    def large(self, plan: Plan) -> int:
        """How many indexes of many rows a plan uses."""
        return sum(self.rows(i.leaf) > FEW for i in _used(plan).values())

    def ran(self, plan: Plan) -> None:
        """Remember what a run could have used: an index that is asked for again is worth building."""
        for (situation, _), found in self._known.items():
            if situation == plan.situation:
                self.memory.wanted.update(i.name for i in found)

    def rows(self, leaf: Snapshot | Load) -> int:
        if isinstance(leaf, Load):
            return self.states[leaf.state].table.rows()
        assert isinstance(leaf.of, Source)
        return self.sources[leaf.of.name].snapshot(self._since.at(leaf.of.name)).rows

    def found(self, index: Index) -> float | None:
        """Of a unique key the share of rows that a filter leaves, else the mean of what a key has. Where an index is
        not there, the range of a source's column says how many different keys there can be."""
        held, rows = self.memory.held.get(index.name), self.rows(index.leaf)
        if held is not None:
            records, keys = held.counts
            return records / max(rows, 1) if records == keys else records / max(keys, 1)
        if index.source is None:
            return None
        source, most = self.sources[index.source.name], 1
        for attr in index.keys:
            field = index.field(attr)
            width = field and spread(source.snapshot(self._since.at(index.source.name)).files, field)
            if not width:
                return None
            most *= width
        return max(rows / most, 1.0) * 0.5**index.filters


def _used(plan: Plan) -> dict[str, Index]:
    return {name: index for step in plan.steps for name, index in indexes(step.rel).items()}
