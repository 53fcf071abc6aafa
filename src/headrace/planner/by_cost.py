"""Plans of one query by cost: the states to keep, and the steps of each run of a timeline.

It searches the memo that the simple planner has, with the rules of all methods. A state's name follows from what it
computes, so that a later process, and a plan that is made again, finds what is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from headrace.ir.plan import Kept, Plan, Upkeep
from headrace.ir.rel import Node, Rel, Source
from headrace.ir.show import describe
from headrace.ir.time import Situation
from headrace.ir.walk import nodes
from headrace.memo.memo import Memo
from headrace.planner.common import with_common
from headrace.planner.explore import Engine
from headrace.planner.graph import Graph, Way
from headrace.planner.problem import AnyModel, Problem
from headrace.planner.realise import realised
from headrace.planner.search import Keeping, Valuation
from headrace.planner.share import Choice, Sharing, choose
from headrace.planner.space import CHANGE, OPERATOR, Point, Space, families_of
from headrace.planner.states import Names
from headrace.rules import METHODS, all_rules
from headrace.rules.rule import Rule


@dataclass(frozen=True)
class Planned:
    """The runs of a problem: the plan of each, the states that each leaves behind, and what each is expected to cost;
    and how they were chosen. Some may wait: they do nothing, and leave their data to the next."""

    plans: tuple[Plan, ...]
    kept: tuple[tuple[Kept, ...], ...]
    costs: tuple[float, ...]
    choice: Choice
    waiting: frozenset[int] = frozenset()

    def among(self, runs: Sequence[int], have: tuple[Kept, ...]) -> Planned:
        """The same as some of several runs, of which the others wait with the states that they find."""
        nothing = Plan((), Situation(frozenset(), frozenset()), ())
        plans: list[Plan] = []
        kept: list[tuple[Kept, ...]] = []
        costs: list[float] = []
        for run in range(runs[-1] + 1):
            place = runs.index(run) if run in runs else None
            plans.append(nothing if place is None else self.plans[place])
            kept.append((kept[-1] if kept else have) if place is None else self.kept[place])
            costs.append(0.0 if place is None else self.costs[place])
        waiting = frozenset(range(runs[-1] + 1)) - {*runs}
        return Planned(tuple(plans), tuple(kept), tuple(costs), self.choice, waiting)


class ByCost:
    """Plans of a query whose operators are in a memo. ``groups`` are those of the query's own operators by ``id``."""

    def __init__(self, memo: Memo, query: Node, groups: Mapping[int, Rel], rules: Sequence[Rule] | None = None) -> None:
        started = time.perf_counter()
        rules = all_rules() if rules is None else rules
        self.memo = memo
        self.query = query
        self.groups = groups
        Engine(memo, rules).explore(groups[id(query)])
        self.space = Space(memo, groups[id(query)], tuple(rules))
        self.explored = time.perf_counter() - started
        self.names = Names(memo)

    @cached_property
    def by_name(self) -> dict[str, int]:
        """The Tvr of every state that there could be, by its name."""
        return {self.state(t).name: t for t, r in self.space.tvrs.items() if r.keepable}

    def state(self, tvr: int) -> Kept:
        return self.names.kept(self.space.tvrs[tvr].group)

    def plan(
        self,
        problem: Problem,
        models: Sequence[AnyModel],
        *,
        have: Sequence[str] = (),
        known: Sequence[Sequence[str]] = (),
        methods: Sequence[str] = tuple(METHODS),
        compare: bool = False,
        seconds: float = inf,
    ) -> Planned:
        """Plan the runs of a problem. ``have`` names states that are there, ``known`` sets of states to begin with."""
        there, *good = (frozenset(self.by_name[n] for n in names if n in self.by_name) for names in (have, *known))
        choice = choose(
            *(self.space, problem, models),
            methods=methods,
            have=there,
            known=good,
            compare=compare,
            seconds=seconds,
        )
        choice = replace(choice, times=replace(choice.times, explore=self.explored))
        states = {t: self.state(t) for t in {*choice.best.kept, *there}}
        counted = frozenset(self.memo.find(g).id for g in self.groups.values())
        plans, kept = [], []
        for i, run in enumerate(choice.best.runs):
            situation = None if run.graph.first else problem.situation(i)
            plans.append(Plan(realised(run, states, counted), situation, self._upkeep(run, states)))
            kept.append(tuple(states[t] for t in sorted(run.keeping.keep)))
        return Planned(tuple(plans), tuple(kept), choice.best.costs, choice)

    def plan_or_wait(
        self,
        problem: Problem,
        plan: Callable[[Problem, float], Planned],
        have: Sequence[str] = (),
        seconds: float = inf,
    ) -> Planned:
        """A plan in which runs that need not deliver may wait: tried for one after the other, the last first, by a
        planner of problems that is told how many seconds are left. A first run that has no states does nothing anyway
        where that is best."""
        until = time.perf_counter() + seconds
        best, left = plan(problem, seconds), list(range(len(problem.timeline)))
        for run in reversed(range(len(left) - 1)):
            remaining = until - time.perf_counter()
            if not problem.timeline.runs[run].delivers and (run or have) and remaining > 0:
                without = problem.without(run)
                other = plan(without, remaining)
                if other.choice.best.total < best.choice.best.total:  # type: ignore[operator]
                    best, problem = other, without
                    left.remove(run)
        return best.among(left, tuple(self.state(self.by_name[n]) for n in have))

    def why(self, run: Valuation, operator: str) -> list[dict[str, Any]]:
        """For each operator of the query whose text has some words in it: every way to its change, or to its rows where
        the run computes those, with what it would cost, the cheapest first; None is a way that cannot be taken."""
        chosen = _chosen(run)
        found: dict[int, dict[str, Any]] = {}
        for node in nodes(self.query):
            tvr = self.memo.find(self.groups[id(node)]).id
            if operator.lower() not in describe(node).lower() or tvr in found or isinstance(node, Source):
                continue
            taken = chosen.get(tvr, {})
            kind = CHANGE if CHANGE in taken else OPERATOR
            point = run.graph.change(tvr) if kind == CHANGE else run.graph.operator(tvr)
            ways = [self._way(run, w, taken.get(kind)) for w in run.graph.ways(point)] if point else []
            ways.sort(key=lambda w: inf if w["cost"] is None else w["cost"])
            found[tvr] = {
                "operator": describe(node),
                "of": "its change" if kind == CHANGE else "its rows",
                "ways": ways,
            }
        return list(found.values())

    def _way(self, run: Valuation, way: Way, taken: Way | None) -> dict[str, Any]:
        cost = run.cost(way)
        rules = " > ".join(step[0].rstrip("/") for step in way.rules)
        return {"rules": rules, "cost": round(cost, 3) if cost < inf else None, "taken": way is taken}

    def judged(
        self,
        problem: Problem,
        models: Sequence[AnyModel],
        have: Sequence[str],
        methods: Sequence[str] = tuple(METHODS),
    ) -> Valuation:
        """The first run of a problem where just these states are kept."""
        there = {self.by_name[n]: 0 for n in have}
        sharing = Sharing(self.space, problem, models, frozenset(there))
        return sharing.judged(there, families_of(*methods)).runs[0]

    def refresh(
        self,
        situation: Situation,
        states: Mapping[int, Kept],
        model: AnyModel,
        methods: Sequence[str] = tuple(METHODS),
    ) -> Plan | None:
        """The plan of one refresh that works changes in, with the states that a view has; None where they do not
        suffice. Each gets its change; to compute one anew is a matter of computing everything anew."""
        run = self.valued(situation, states, model, methods)
        if run.total == inf:
            return None
        counted = frozenset(self.memo.find(g).id for g in self.groups.values())
        return Plan(with_common(realised(run, states, counted)), situation, self._upkeep(run, states))

    def valued(
        self,
        situation: Situation,
        states: Mapping[int, Kept],
        model: AnyModel,
        methods: Sequence[str] = tuple(METHODS),
    ) -> Valuation:
        """The least costs of one refresh with the states that a view has."""
        keeping = Keeping(frozenset(states), frozenset(states), rebuilds=False)
        families = None if set(methods) == METHODS.keys() else families_of(*methods)
        run = Valuation(Graph(self.space, situation, model), keeping, families)
        held = run.changed(replace(keeping, pins=run.shared()))
        return held if held.total < run.total else run

    def _upkeep(self, run: Valuation, states: Mapping[int, Kept]) -> tuple[Upkeep, ...]:
        """A line for each operator of the query, top down: how it is computed or maintained in the run."""
        chosen = _chosen(run)
        lines: list[Upkeep] = []
        seen: set[int] = set()

        def visit(node: Rel, depth: int) -> None:
            if not isinstance(node, Node):
                return
            tvr = self.memo.find(self.groups[id(node)]).id
            again = tvr in seen
            seen.add(tvr)
            method = "see above" if again else self._method(tvr, node, chosen)
            kept = states.get(tvr) if tvr in run.keeping.keep and not again else None
            name = kept.name if kept else None
            lines.append(Upkeep(tvr, type(node).__name__, describe(node), method, None, name, depth))
            for i in () if again else node.inputs:
                visit(i, depth + 1)

        visit(self.query, 0)
        return tuple(lines)

    def _method(self, tvr: int, node: Node, chosen: Mapping[int, Mapping[str, Way]]) -> str:
        ways = chosen.get(tvr, {})
        if isinstance(node, Source):
            return "read" if ways else "not read"
        if CHANGE in ways and ways[CHANGE].rules:
            origins, (rule,) = ways[CHANGE].rules
            origin = origins[0].rstrip("/")
            special = origin != "query" and not origins[0].endswith("/")
            return self.space.methods[origin if special else rule]
        return "computed" if ways else "with others"


def _chosen(run: Valuation) -> dict[int, dict[str, Way]]:
    """The ways that were taken, by Tvr and kind of point."""
    found: dict[int, dict[str, Way]] = {}
    seen: set[Point] = set()
    waiting = [(w.point, w.way) for w in run.work() if w.point is not None]
    waiting += [(p, run.computed(p)[1]) for p in run.keeping.pins]
    while waiting:
        point, way = waiting.pop()
        if point not in seen:
            seen.add(point)
            found.setdefault(point.tvr, {})[point.kind] = way
            waiting += [(r, run.value(r)[1]) for r, _ in way.reads if run.reading(r) is None]
    return found
