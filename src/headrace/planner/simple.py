"""The simple planner: a query to the plan of a run, by fixed preference.

A view's query is explored once. Its states are chosen for the worst situation; each run's plan follows
from the situation it finds, and is remembered by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from headrace.ir.plan import Keep, Kept, Plan, Publish, Step, Upkeep
from headrace.ir.rel import Aggregate, Group, Limit, Load, Node, PairJoin, Rel, Source, Window
from headrace.ir.show import describe
from headrace.ir.time import NEW, Situation
from headrace.ir.walk import nodes
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.planner.by_cost import ByCost
from headrace.planner.common import with_common
from headrace.planner.explore import explore
from headrace.planner.extract import Extraction, written
from headrace.planner.problem import AnyModel
from headrace.planner.states import Names, choose_states
from headrace.planner.steps import Parts, cluster, steps
from headrace.rules import DELTA, RELATIONAL

_METHODS = {r.name: r.method for r in (*RELATIONAL, *DELTA)}


class Planner:
    """Plans for one query. ``can_shrink`` names the sources that may lose rows."""

    def __init__(self, query: Node, can_shrink: frozenset[str], *, keep_states: bool = True) -> None:
        self.query = query
        self.memo = Memo()
        self._groups: dict[int, Group] = {}
        self.root = self._intern(query)
        explore(self.memo, self.root)
        self.root = self.memo.find(self.root)
        self.sources = Facts(self.memo).sources(self.root)
        worst = Situation(self.sources, can_shrink & self.sources)
        self.states: dict[int, Kept] = choose_states(self.memo, self.root, worst) if keep_states else {}
        self.preferred = tuple(self.states.values())
        self.worst = worst
        self._plans: dict[Situation, Plan] = {}

    @cached_property
    def by_cost(self) -> ByCost:
        """Plans by cost, over the same memo. What more is explored must not change how the query is known."""
        assert self.fingerprint
        found = ByCost(self.memo, self.query, self._groups)
        self.root = self.memo.find(self.root)
        self.states = {self.memo.find(k.rel).id: k for k in self.states.values()}
        return found

    @cached_property
    def fingerprint(self) -> str:
        return Names(self.memo).fingerprint(self.root)

    @property
    def kept(self) -> tuple[Kept, ...]:
        return tuple(self.states.values())

    @property
    def states_are_preferred(self) -> bool:
        """Whether what is kept is what the fixed preference needs."""
        return {k.name for k in self.kept} == {k.name for k in self.preferred}

    def group(self, node: Node) -> Group:
        """The Tvr of an operator of the query."""
        return self.memo.find(self._groups[id(node)])

    def adopt(self, states: Iterable[Kept]) -> None:
        """Keep these states from now on."""
        self.states = {self.memo.find(k.rel).id: k for k in states}
        self._plans.clear()

    def load(self, have: frozenset[str] = frozenset()) -> Plan:
        """The plan that computes the result and every state but those that are there, from the sources as they are."""
        extraction = Extraction(self.memo, Situation(self.sources), self.states, frozenset(), loading=True)
        made: list[Step] = []
        done: set[str] = set(have)

        def keep(kept: Kept) -> None:
            if kept.name in done:
                return
            done.add(kept.name)
            node = written(self.memo, kept.rel)
            rel = node.with_inputs(tuple(extraction.snapshot(i, NEW, wanted=False) for i in node.inputs))
            require(rel)
            made.append(Keep(f"s-{kept.name}", kept.name, rel, base=True))

        def require(rel: Rel) -> None:
            for n in nodes(rel):
                if isinstance(n, Load):
                    keep(by_name[n.state])

        by_name = {k.name: k for k in self.kept}
        for kept in self.kept:
            keep(kept)
        result = extraction.snapshot(self.root, NEW, wanted=False)
        require(result)
        made.append(Publish(result, replace=True, cluster=cluster(extraction.facts, self.root)))
        return Plan(tuple(made), None, self._upkeep(None))

    def refresh(self, situation: Situation) -> Plan:
        """The plan of a run that finds ``situation``, with every relation scanned, by fixed preference."""
        situation = Situation(situation.moved & self.sources, situation.shrinking)
        if situation not in self._plans:
            self._plans[situation] = self._plan(situation)
        return self._plans[situation]

    def refresh_by_cost(self, situation: Situation, model: AnyModel, methods: Sequence[str]) -> Plan | None:
        """The same by cost, by some methods; None where the states do not suffice for it."""
        situation = Situation(situation.moved & self.sources, situation.shrinking)
        return self.by_cost.refresh(situation, self.states, model, methods)

    def _plan(self, situation: Situation) -> Plan:
        counted = frozenset(self.memo.find(g).id for g in self._groups.values())
        extraction = Extraction(self.memo, situation, self.states, counted)
        result = extraction.delta(self.root)
        for group in [self.memo.find(k.rel) for k in self.kept]:
            extraction.delta(group)
        facts, root = extraction.facts, self.memo.find(self.root)
        parts = Parts(
            trees={f"d{i}": tree for i, tree in extraction.deltas.items()},
            kept={f"d{i}": kept for i, kept in self.states.items() if i in extraction.deltas},
            result=result,
            growing=facts.growing(root),
            cluster=cluster(facts, root),
        )
        return Plan(with_common(steps(parts)), situation, self._upkeep(extraction))

    def _intern(self, query: Node) -> Group:
        for node in nodes(query):
            inputs = tuple(self._groups[id(i)] for i in node.inputs)
            self._groups[id(node)] = self.memo.add(node.with_inputs(inputs))
        return self._groups[id(query)]

    def _upkeep(self, extraction: Extraction | None) -> tuple[Upkeep, ...]:
        """A line for each operator of the query, top down."""
        lines: list[Upkeep] = []
        seen: set[int] = set()

        def visit(node: Rel, depth: int) -> None:
            if not isinstance(node, Node):
                return
            group = self.group(node)
            again = group.id in seen
            seen.add(group.id)
            method, reason = ("see above", None) if again else self._method(group, node, extraction)
            kept = self.states.get(group.id) or self.states.get(partial_group(self.memo, group))
            state = kept.name if kept else None
            kind = type(node).__name__
            lines.append(Upkeep(group.id, kind, describe(node), method, reason, None if again else state, depth))
            if not again:
                for i in node.inputs:
                    visit(i, depth + 1)

        visit(self.query, 0)
        return tuple(lines)

    def _method(self, group: Group, node: Node, extraction: Extraction | None) -> tuple[str, str | None]:
        if extraction is None:
            return "computed", None
        if isinstance(node, Source):
            return ("unchanged" if extraction.facts.empty_delta(group) else "read"), None
        if extraction.facts.empty_delta(group):
            return "unchanged", None
        partial = partial_group(self.memo, group)
        origin, rule = extraction.chosen.get(group.id, ("partial_states", ""))
        if origin == "partial_states" and partial in extraction.chosen:
            rule = extraction.chosen[partial][1]
        elif origin != "query" and rule:
            return _METHODS[origin], None
        if not rule:
            return "with the one above", None
        method = _METHODS[rule]
        return method, _reason(node) if method == "recompute" else None


def partial_group(memo: Memo, group: Group) -> int:
    """The group of the partial state through which an aggregate is computed; -1 where it is not."""
    for made in memo.made(group):
        if made.rule == "partial_states":
            return memo.find(made.node.inputs[0]).id
    return -1


def _reason(node: Node) -> str:
    match node:
        case Limit():
            return "a LIMIT with OFFSET, or to very many rows, has no key: which rows it keeps depends on all rows"
        case Window():
            return "a window without PARTITION BY looks at all rows"
        case Aggregate(calls=calls) if any(c.function == "any_value" and c.handle is None for c in calls):
            return "a scalar subquery must give one row, which only all its rows tell"
        case Aggregate(calls=calls):
            hard = ", ".join(str(c) for c in calls if c.merging < 2)
            return f"{hard} over all rows neither merges nor has a key"
        case PairJoin():
            return "a full outer join without an equality has no key"
    return "Headrace does not know this operator and runs it whole"
