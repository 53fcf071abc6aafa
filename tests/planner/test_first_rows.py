"""First rows are maintained from those that were and from what changes: plans are right, judged without Spark."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planner.machine import Machine, rounded
from planner.scenes import BOTTOM, ChanceGraph, Scene, arrivals, by_chance, timeline, total
from rules import examples as e
from rules.meaning import Bag

from headrace.cost.tuples import TupleModel, Tuples
from headrace.ir.expr import Column, Equal, SortKey, ref
from headrace.ir.plan import Plan, Publish
from headrace.ir.probe import Index
from headrace.ir.rel import Aggregate, Fallback, Head, Join, Limit, Load, Node, Project, Ref, Snapshot, prune
from headrace.ir.time import NEW, Situation
from headrace.ir.walk import nodes
from headrace.planner.probes import with_probes
from headrace.planner.realise import realised
from headrace.planner.search import Keeping
from headrace.planner.simple import Planner
from headrace.rules import METHODS


def first(of: Node, count: int) -> Limit:
    return Limit(of, (SortKey(ref(of.attrs[-1]), False, True),), 0, count)


SUMS = Aggregate(e.S, (e.K,), (e.call("sum"),))
DOUBLES = Project(e.S, (Column(e.K, ref(e.K)), Column(e.Z, e.expr("x", "x", lambda r: r["x"], "double"))))
QUERIES: dict[str, Node] = {
    "of a source": first(e.S, 2),
    "of a join": first(prune(e.PAIR, (e.K, e.X, e.Y)), 3),
    "of an outer join": first(BOTTOM["a left outer join"], 2),
    "of sums": first(SUMS, 2),
    "of sums of doubles": first(Aggregate(DOUBLES, (e.K,), (total(e.Z),)), 2),
    "of first rows": first(first(e.S, 3), 2),
    "below a join": Join((first(e.S, 2), e.T), (Equal(ref(e.K), ref(e.J)),), ()),
    "below a sum": Aggregate(first(e.S, 3), (e.K,), (e.call("sum"), e.call("max"))),
    "below a sum of doubles": Aggregate(first(DOUBLES, 3), (e.K,), (total(e.Z),)),
}
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@MANY
@given(
    st.sampled_from(sorted(QUERIES)), arrivals(5), st.sampled_from(["simple", "cost", "chance"]), st.integers(0, 999)
)
def test_refreshes_are_right(name: str, at: list[dict[str, Bag]], way: str, seed: int) -> None:
    scene, chance = Scene(QUERIES[name], at, timeline([True])), random.Random(seed)
    planner, machine = Planner(scene.query, frozenset("str")), Machine()
    if way == "chance":
        space = planner.by_cost.space
        can = [t for t, r in space.tvrs.items() if r.keepable and chance.random() < 0.7]
        planner.adopt([planner.by_cost.state(t) for t in can])
    machine.run(planner.load().steps, {n: Bag() for n in at[0]}, at[1])
    for run in range(1, len(at) - 1):
        data, (model,) = scene.data(run), scene.models([run])
        moved = frozenset(n for n, a in data.items() if a.moves)
        situation = Situation(moved, frozenset(n for n, a in data.items() if a.shrinks))
        if way == "chance":
            graph = ChanceGraph(planner.by_cost.space, situation, model, chance, first=False)
            states = frozenset(planner.states)
            steps = realised(by_chance(graph, Keeping(states, states)), planner.states)
        elif way == "cost":
            plan = planner.refresh_by_cost(situation, model, tuple(METHODS))
            assert plan is not None
            steps = plan.steps
        else:
            steps = planner.refresh(situation).steps
        machine.run(steps, at[run], at[run + 1])
        assert machine.result is not None
        assert rounded(machine.result) == rounded(scene.answer(run))


def planned(name: str, *, shrinking: bool = True) -> Plan:
    moved = frozenset("s")
    return Planner(QUERIES[name], moved).refresh(Situation(moved, moved if shrinking else frozenset()))


@pytest.mark.parametrize("name", ["of a source", "of sums"])
def test_whether_rows_are_missing_is_known_before_any_are_read(name: str) -> None:
    plan = planned(name)
    (fallback,) = [n for s in plan.steps for n in nodes(s.rel) if isinstance(n, Fallback)]
    assert isinstance(fallback.needed, Ref)
    for step in plan.steps:
        outside = [n for n in nodes(step.rel) if n not in set(nodes(fallback))]
        assert not any(isinstance(n, Limit) for n in outside)
        assert not any(isinstance(n, Load | Snapshot) and n.at == NEW for n in outside)


def test_what_tells_of_missing_rows_is_held_where_rows_are_looked_up_too() -> None:
    class Sizes:
        def rows(self, leaf: Snapshot | Load) -> int:
            return 1_000

        def found(self, index: Index) -> float | None:
            return None

    plan = planned("of sums")
    (fallback,) = [n for s in plan.steps for n in nodes(s.rel) if isinstance(n, Fallback)]
    assert isinstance(fallback.needed, Ref)
    assert fallback.needed.step in [s.name for s in with_probes(plan, Sizes(), ()).steps]


def test_without_rows_that_leave_only_changes_are_read() -> None:
    for name in ("of a source", "of a join"):
        plan = planned(name, shrinking=False)
        assert any(isinstance(n, Head) for s in plan.steps for n in nodes(s.rel))
        assert not any(isinstance(n, Fallback | Limit) for s in plan.steps for n in nodes(s.rel))
    assert [k.operator for k in Planner(QUERIES["of a join"], frozenset()).kept] == ["Limit 3 by y#y"]


def test_a_plan_by_cost_takes_it_where_little_changes() -> None:
    """All rows are asked for in some runs only, and cost as much as that."""
    planner = Planner(QUERIES["of sums"], frozenset("s"))
    situation = Situation(frozenset("s"), frozenset("s"))
    for change, method in ((10.0, "top n"), (1e6, "recompute")):
        model = TupleModel({"s": Tuples(1e6, 1e6, change)})
        plan = planner.refresh_by_cost(situation, model, tuple(METHODS))
        assert plan is not None
        assert plan.upkeep[0].method == method
        assert isinstance(plan.steps[-1], Publish)
