"""What a view has in memory: the states that DISS chooses for the delta that is expected next, and the plan of a run
with probes of them in the place of scans.

The choice is made anew when what is expected differs noticeably from what it was made for. What was chosen and is not
there is built when a run can use it, a large one when it is asked for a second time: building costs about as much as
the scan it saves, so that is never much worse than the better of the two, whatever comes. After a run, what was not
chosen is released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.api.knowledge import Knowledge
from headrace.api.outlook import Outlook
from headrace.api.shares import Shares
from headrace.cost.seconds import SCAN
from headrace.ir.expr import Attr
from headrace.ir.near import Near, Range
from headrace.ir.plan import Plan
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Delta, Load, Rel, Snapshot, Source
from headrace.ir.time import NEW, OLD, Reached, Situation
from headrace.ir.walk import nodes
from headrace.planner.baselines import STRATEGIES
from headrace.planner.diss import choose, front
from headrace.planner.front import Front
from headrace.planner.operators import Candidate
from headrace.planner.probes import candidates, with_probes
from headrace.planner.rates import Rates
from headrace.planner.skip import with_skips
from headrace.planner.view_tree import ViewTree, view_tree
from headrace.spark.engine import Memory, State
from headrace.spark.file_stats import bounds, near, rows_in, spread
from headrace.spark.sources.source import Scan, SourceReader
from headrace.stats.estimate import Change, Estimate
from headrace.stats.known import Known
from headrace.stats.steps import Steps

# Rows that are indexed at once: scanning them costs as much. In a cluster they are scanned.
FEW = 50_000
# What is chosen should fit for so many runs.
_RUNS = 10

_Kind = Situation | None | str
_Chosen = dict[str, Index]
_NEAR = "near"  # the kind of plans that read leaves near ranges, of which only the last is known


@dataclass
class Choosing:
    """How states are chosen; the benches compare with other ways. ``joins`` lets joins be kept, ``at_once`` builds what
    is chosen in the next run however large it is, and ``outlook`` is taken instead of what arrivals let expect."""

    strategy: str = "diss"
    joins: bool = True
    at_once: bool = False
    outlook: Outlook | None = None


class Recall:
    """Chooses among the indexes that the plans of one view could use. It is what the planner knows of sizes."""

    def __init__(
        self,
        view: str,
        memory: Memory,
        sources: Mapping[str, SourceReader],
        states: Mapping[str, State],
        knowledge: Knowledge,
        shares: Shares,
        rates: Rates,
        plan_of: Callable[[Situation], Plan],
    ) -> None:
        self.view = view
        self.memory = memory
        self.knowledge = knowledge
        self.sources = sources
        self.states = states
        self.shares = shares
        self.rates = rates
        self.plan_of = plan_of
        self.choosing = Choosing()
        self._since = self._until = Reached()
        self._near_to: Plan | None = None
        self._scans: dict[tuple[str, int, int], Scan] = {}
        self._plans: dict[tuple[_Kind, frozenset[str], frozenset[str]], Plan] = {}
        self._outlook = Outlook()
        self._made_for: object = None
        self._tree = ViewTree()
        self._front: Front | None = None
        self._steps: Steps | None = None  # what is known of the plan that is looked at
        self.chosen: _Chosen = {}
        self._unforeseen: dict[object, _Chosen] = {}
        self._estimated: dict[str, float] = {}  # rows of indexes
        self._measured: dict[str, int] = {}  # rows of those that were there once

    def near(self, plan: Plan, since: Reached, until: Reached, *, wherever: bool = False) -> Plan:
        """The same plan, with leaves read only near the keys that they are joined with where that is worth it, or
        ``wherever`` a file can be passed over, in a run that looks nothing up."""
        self._since, self._until = since, until
        self._scans.clear()
        return with_skips(plan, self, eager=wherever or self.memory.budget.eager)

    # --- what stays

    def foresee(
        self, plan: Plan, outlook: Outlook, known: Callable[[Mapping[str, Change]], Known] | None = None
    ) -> None:
        """Choose what to hold for the delta that is expected after this run. Where it is expected to be of the kind
        that this run finds, it will be worked in by the same plan. ``known`` tells what is known in a run that finds
        such changes, where it is worth asking."""
        if not self.memory.possible:
            return
        outlook = self.choosing.outlook or outlook
        same = plan.situation is not None and outlook.moving == plan.situation.moved
        key = (outlook.likeness, _near_leaves(plan) if same else None, frozenset(self.memory.too_large))
        if key != self._made_for:
            self._made_for, self._outlook = key, outlook
            leaving = frozenset(n for n, c in outlook.changes.items() if c.left)
            expected = plan if same else self.plan_of(Situation(outlook.moving, leaving))
            self._steps = _steps(expected, known(outlook.changes)) if known is not None else None
            self._tree = view_tree(expected, self, joins=self.choosing.joins)
            self._steps = None
            self._front = front(self._tree.root, self.rates, self.memory.most)
            self.shares.offer(self.view, self._front)
        self.memory.limit = min(self.memory.most, self.shares.of(self.view, self.memory.budget.limit))
        self.chosen = {n: self._tree.indexes[n] for n in self._names(self.memory.limit)}

    def _names(self, limit: int) -> frozenset[str]:
        if self.choosing.strategy != "diss":
            return STRATEGIES[self.choosing.strategy](self._tree.root, self.rates, limit)
        best = self._front.best(limit) if self._front is not None else None
        return frozenset(best.held) if best is not None else frozenset()

    def _for_this_run(self, plan: Plan, changes: Mapping[str, Change]) -> _Chosen:
        """What to build for a delta that was not foreseen, where it pays for that at once."""
        key = (plan.situation, Outlook(changes).likeness)
        if key not in self._unforeseen:
            known, self._outlook = self._outlook, Outlook(changes)
            tree = view_tree(plan, self, joins=False)
            best = choose(tree.root, self.rates, self.memory.free)
            self._unforeseen[key] = {n: tree.indexes[n] for n in best.held}
            self._outlook = known
        return self._unforeseen[key]

    def ran(self) -> None:
        """After a run: an index that is asked for again is worth building, and what was not chosen is released."""
        self.memory.wanted |= self.chosen.keys()
        self._measured |= {name: held.counts[0] for name, held in self.memory.held.items()}
        if not self.memory.budget.eager:
            for name in self.memory.held.keys() - self.chosen.keys():
                self.memory.drop(name)

    # --- the plan of a run

    def plan(self, plan: Plan, since: Reached, until: Reached) -> Plan:
        """The same plan with the indexes that are worth it. Others make room for them."""
        self._since, memory = since, self.memory
        held = frozenset(memory.held)  # the order of probes follows from what is known of them
        once = any(isinstance(n, Near) for step in plan.steps for n in nodes(step.rel))  # ranges are of this run alone
        if once and self._near_to is not plan:
            self._near_to = plan
            self._plans = {k: v for k, v in self._plans.items() if k[0] is not _NEAR}
        usable = self._usable(plan, until)
        needed = sum(memory.size(i, self.records(i)) or 0 for n, i in usable.items() if n not in held)
        if needed > memory.free and not memory.budget.eager:
            for name in held - self.chosen.keys():
                memory.drop(name)
        key = (_NEAR if once else plan.situation, held, frozenset(usable))
        if key not in self._plans:
            self._plans[key] = with_probes(plan, self, list(usable.values()), held) if usable else plan
        return self._plans[key]

    def probing(self, plan: Plan, since: Reached) -> Plan:
        """The same plan with every index that it could use, whether it is there or not."""
        self._since = since
        return with_probes(plan, self, list(candidates(plan, self)), frozenset(self.memory.held))

    def _usable(self, plan: Plan, until: Reached) -> _Chosen:
        memory, since = self.memory, self._since
        held = {name: h.index for name, h in memory.held.items()}
        if memory.budget.eager:
            every = {i.name: i for i in candidates(plan, self)} | view_tree(plan, self).indexes
            return held | {n: i for n, i in every.items() if memory.size(i, 0) is not None}
        moved = plan.situation.moved if plan.situation else frozenset[str]()
        deltas = {n: self.sources[n].delta(since.at(n), until.at(n)) for n in moved}
        chosen = dict(self.chosen)
        if not moved <= self._outlook.moving:
            changes = {n: Change(inserts=d.rows - d.leaving, deletes=d.leaving) for n, d in deltas.items()}
            chosen |= self._for_this_run(plan, changes)
        new = sum(d.rows for d in deltas.values())
        soon = memory.wanted | (chosen.keys() if self.choosing.at_once else set())
        ready = {n: i for n, i in chosen.items() if n in held or n in soon or self.read(i) <= FEW}
        ready = {n: i for n, i in ready.items() if memory.size(i, 0) is not None}
        return {n: i for n, i in (held | ready).items() if new <= self.read(i) + SCAN}

    def small(self, plan: Plan) -> list[Index]:
        """The indexes that a plan uses and that are not there but soon made."""
        return [i for n, i in _used(plan).items() if n not in self.memory.held and self.read(i) <= FEW]

    def large(self, plan: Plan) -> int:
        """How many indexes of many rows a plan uses."""
        return sum(self.read(i) > FEW for i in _used(plan).values())

    # --- what is known of sizes

    def changed(self, source: str) -> Change:
        return self._outlook.changes.get(source, Change())

    def state(self, index: Index, rows: float) -> Candidate | None:
        """An index as a state that may be held. One that is not there is made from all that it reads, and what the
        making costs is shared by the runs for which things are expected to stay as they are. Few rows are not looked up
        in executors: the driver has scanned them before tasks begin."""
        if self.memory.apart and self.read(index) <= FEW and not self.memory.budget.eager:
            return None
        rows = self._measured.get(index.name, rows)
        size = self.memory.size(index, rows)
        self._estimated[index.name] = rows
        if size is None:
            return None
        size = int(size * self._grown(index))
        there = index.name in self.memory.held
        making = sum(self.rates.scan(self.rows(leaf)) for leaf in index.leaves)
        return Candidate(index.name, size, there, making, 1.0 / (1 + self._outlook.runs))

    def _grown(self, index: Index) -> float:
        """How much larger an index will be when some more runs like the next have been done. What just fits now would
        have to give way to others soon, which must be built first."""
        rates = [0.0]
        for leaf in index.leaves:
            if isinstance(leaf, Snapshot) and isinstance(leaf.of, Source):
                rates.append(self.changed(leaf.of.name).net / max(self.rows(leaf), 1))
        return 1 + _RUNS * min(max(rates), 1.0)

    def about(self, rel: Rel) -> Estimate | None:
        return None if self._steps is None else self._steps.of_new(rel)

    def read(self, index: Index) -> int:
        """The rows that making an index reads."""
        return sum(self.rows(leaf) for leaf in index.leaves)

    def records(self, index: Index) -> float:
        """The rows that an index has, or would have."""
        held = self.memory.held.get(index.name)
        guess = self._estimated.get(index.name, self.read(index) * 0.5**index.filters)
        return held.counts[0] if held is not None else guess

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
        held, rows = self.memory.held.get(index.name), self.read(index)
        if held is not None:
            records, keys = held.counts
            if records != keys:
                return records / max(keys, 1)
            return records / max(rows, 1) if index.filters else 1.0
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


def _steps(plan: Plan, known: Known) -> Steps:
    steps = Steps(known)
    for step in plan.steps:
        steps.add(step)
    return steps


def _used(plan: Plan) -> dict[str, Index]:
    return {name: index for step in plan.steps for name, index in indexes(step.rel).items()}


def _near_leaves(plan: Plan) -> frozenset[object]:
    """The leaves that a plan reads near ranges, and by which columns."""
    found = (n for step in plan.steps for n in nodes(step.rel) if isinstance(n, Near))
    return frozenset((n.input, tuple(a for a, _ in n.within)) for n in found)
