"""Refreshes planned by cost: states by cost or by chance, loaded once, and every refresh after that is right."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planner.machine import Machine, rounded
from planner.scenes import BOTTOM, TOP, ChanceGraph, Scene, arrivals, by_chance, queries, timeline
from rules.meaning import Bag, row

from headrace.cost.tuples import TupleModel, Tuples
from headrace.errors import ConfigError
from headrace.ir.rel import Delta, Keys, Negate, Node, PairJoin, Restrict, Snapshot, union
from headrace.ir.time import NEW, OLD, Situation
from headrace.ir.timeline import runs
from headrace.memo.memo import Memo
from headrace.planner.by_cost import Planned
from headrace.planner.explain import explain_timeline, explain_why, timeline_data
from headrace.planner.explore import Engine
from headrace.planner.problem import Arriving, Goal, Problem, refresh
from headrace.planner.realise import realised
from headrace.planner.search import Keeping
from headrace.planner.share import choose
from headrace.planner.simple import Planner
from headrace.planner.space import Space
from headrace.rules import METHODS, RULES, rule

SOME = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def refreshed(scene: Scene, planner: Planner, chance: random.Random | None) -> None:
    """Load, then work in what comes, run by run, by plans for what each finds."""
    machine, nothing = Machine(), {n: Bag() for n in scene.at[0]}
    machine.run(planner.load().steps, nothing, scene.at[1])
    assert machine.result is not None
    assert rounded(machine.result) == rounded(scene.answer(0))
    for run in range(1, len(scene.at) - 1):
        data = scene.data(run)
        moved = frozenset(n for n, a in data.items() if a.moves)
        situation = Situation(moved, frozenset(n for n, a in data.items() if a.shrinks))
        (model,) = scene.models([run])
        if chance is None:
            plan = planner.refresh_by_cost(situation, model, tuple(METHODS))
            if plan is None:  # what was kept for other changes does not suffice
                machine.run(planner.load().steps, nothing, scene.at[run + 1])
                assert rounded(machine.result) == rounded(scene.answer(run))
                continue
            steps = plan.steps
        else:
            graph = ChanceGraph(planner.by_cost.space, situation, model, chance, first=False)
            states = frozenset(planner.states)
            steps = realised(by_chance(graph, Keeping(states, states)), planner.states)
        machine.run(steps, scene.at[run], scene.at[run + 1])
        assert rounded(machine.result) == rounded(scene.answer(run))


@SOME
@given(queries(), arrivals(4))
def test_refreshes_with_states_by_cost_are_right(query: Node, at: list[dict[str, Bag]]) -> None:
    scene = Scene(query, at, timeline([True]))
    planner = Planner(query, frozenset("str"))
    planned = planner.by_cost.plan(refresh(scene.data(1)), scene.models([1]))
    planner.adopt(planned.kept[0])
    refreshed(scene, planner, None)


@settings(SOME, max_examples=100)
@given(queries(), arrivals(4), st.integers(0, 10_000))
def test_refreshes_by_chance_are_right(query: Node, at: list[dict[str, Bag]], seed: int) -> None:
    scene, chance = Scene(query, at, timeline([True])), random.Random(seed)
    planner = Planner(query, frozenset("str"))
    can = [t for t, r in planner.by_cost.space.tvrs.items() if r.keepable and chance.random() < 0.4]
    planner.adopt([planner.by_cost.state(t) for t in can])
    refreshed(scene, planner, chance)


@SOME
@given(queries(), arrivals(4))
def test_refreshes_by_cost_with_the_states_of_the_simple_planner_are_right(
    query: Node, at: list[dict[str, Bag]]
) -> None:
    scene = Scene(query, at, timeline([True]))
    planner = Planner(query, frozenset("str"))
    before = planner.fingerprint, {k.name for k in planner.kept}
    refreshed(scene, planner, None)
    again = Planner(query, frozenset("str"))
    assert (again.fingerprint, {k.name for k in again.kept}) == before


@rule("delta", "wrong", PairJoin)
def lose_by_key(join: PairJoin, memo: Memo) -> Iterator[Node]:
    """As ``lose_matched``, but a NULL key is lost as any other, and nothing comes back when a match leaves."""
    if join.kind == "left anti" and join.keys:
        touched = Keys((Delta(join.right, OLD, NEW),), (join.right_keys,))
        came = join.with_inputs((Delta(join.left, OLD, NEW), Snapshot(join.right, NEW)))
        yield union(came, Negate(Restrict(Snapshot(memo.find(join), OLD), join.left_keys, touched)))


def test_chance_finds_a_wrong_rule() -> None:
    """Plans by chance are worth something only if they would show a rule that is not right."""
    rules = (*RULES, lose_by_key)
    sold, back = row({"k": None, "x": 1}), row({"j": None, "y": 1})
    at = [{"s": Bag(), "t": Bag(), "r": Bag()}]
    at += [{"s": Bag([sold]), "t": Bag([back] * late), "r": Bag()} for late in (0, 1)]
    scene = Scene(BOTTOM["a left anti join"], at, timeline([False, True]))
    for seed in range(50):
        scene.check(scene.chance(seed))
    scene.memo = Memo()
    root = scene.memo.add(scene.query)
    Engine(scene.memo, rules).explore(root)
    scene.space = Space(scene.memo, root, rules)
    found = 0
    for seed in range(50):
        try:
            scene.check(scene.chance(seed))
        except AssertionError:
            found += 1
    assert found, "no plan that was taken by chance is wrong"


# --- limits


def scene_of(bottom: str, top: str) -> Scene:
    return Scene(TOP[top](BOTTOM[bottom]), [{n: Bag() for n in "str"}] * 3, timeline([False, True]))


def problem(goal: Goal | None = None) -> Problem:
    data = tuple({n: Arriving(before, 1000.0) for n in "str"} for before in (0.0, 1000.0))
    return Problem(runs([1, 2], weights=[0.3, 1.0]), data, goal or Goal())


def models(of: Problem) -> list[TupleModel]:
    return [TupleModel({n: Tuples(a.after, a.before, a.inserts) for n, a in data.items()}) for data in of.data]


def test_when_time_is_up_the_best_so_far_is_taken() -> None:
    scene, of = scene_of("a full outer join", "a sum and a maximum"), problem()
    hurried = choose(scene.space, of, models(of), seconds=0.0)
    patient = choose(scene.space, of, models(of))
    assert patient.complete
    assert not hurried.complete
    assert patient.best.total <= hurried.best.total  # type: ignore[operator]


def test_a_goal_that_no_plan_meets() -> None:
    scene = scene_of("a join", "a sum and a maximum")
    with pytest.raises(ConfigError) as raised:
        choose(scene.space, problem(Goal(last=0.001)), models(problem()))
    assert raised.value.code == "GOAL"
    best = choose(scene.space, problem(), models(problem())).best
    share = best.costs[-1] / choose(scene.space, problem(), models(problem()), methods=["recompute"]).best.costs[-1]
    of = problem(Goal(last=share * 1.01))
    assert choose(scene.space, of, models(of)).best.costs[-1] <= best.costs[-1] * 1.01


def test_the_last_run_may_count_before_all_others() -> None:
    scene = scene_of("a join of three", "a sum and a maximum")
    weighted = choose(scene.space, problem(), models(problem())).best
    of = problem(Goal(latest_first=True))
    late = choose(scene.space, of, models(of)).best
    assert late.costs[-1] <= weighted.costs[-1]


def test_exploring_does_not_grow_with_runs() -> None:
    """What is explored has no runs in it: the same space serves any number of them."""
    scene = scene_of("a join of three", "a sum and a maximum")
    before = scene.memo.dump()
    for count in (1, 3, 9):
        data = tuple({n: Arriving(100.0 * i, 100.0) for n in "str"} for i in range(count))
        of = Problem(runs(list(range(count))), data)
        choose(scene.space, of, models(of))
    assert scene.memo.dump() == before


def test_pruning_leaves_out_what_hardly_ever_pays() -> None:
    sizes = {}
    for pruning in (True, False):
        memo = Memo()
        root = memo.add(TOP["a filter"](BOTTOM["a join"]))
        engine = Engine(memo, RULES, pruning=pruning)
        engine.explore(root)
        sizes[pruning] = len(list(memo.groups()))
        assert {f.rule for f in engine.trace} >= {"pass_delta", "telescope_join", "merge_delta"}
    assert sizes[True] < sizes[False]


def test_methods_are_families_of_rules() -> None:
    families = frozenset().union(*METHODS.values())
    assert all(r.families & families for r in RULES), "a rule that no method has"


def test_why_an_operator_is_maintained_as_it_is() -> None:
    planner = Planner(TOP["a sum and a maximum"](BOTTOM["a left outer join"]), frozenset("str"))
    of = problem()
    planned = planner.by_cost.plan(of, models(of))
    for run in planned.choice.best.runs:
        for operator in planner.by_cost.why(run, "left outer join"):
            costs = [w["cost"] for w in operator["ways"] if w["cost"] is not None]
            assert costs == sorted(costs)
            assert len(operator["ways"]) > 1
            taken = [w["cost"] for w in operator["ways"] if w["taken"]]
            assert taken in ([], costs[:1]), "what is taken is the cheapest"
    text = explain_why([("24:00", planner.by_cost.why(planned.choice.best.runs[-1], "aggregate"))])
    assert "partial_states" in text
    assert not planner.by_cost.why(planned.choice.best.runs[-1], "no such operator")


def waiting(planner: Planner, of: Problem) -> Planned:
    def plan(some: Problem, seconds: float) -> Planned:
        sizes = ({n: Tuples(a.after, a.before, a.inserts + a.deletes) for n, a in d.items()} for d in some.data)
        return planner.by_cost.plan(some, [TupleModel(s) for s in sizes], seconds=seconds)

    return planner.by_cost.plan_or_wait(of, plan)


@SOME
@given(queries(), arrivals(3), st.lists(st.sampled_from([0.02, 1.0, 9.0]), min_size=3, max_size=3), st.booleans())
def test_runs_that_may_wait_are_right(query: Node, at: list[dict[str, Bag]], weights: list[float], all_: bool) -> None:
    scene = Scene(query, at, runs([1, 2, 3], weights=weights, deliver="every" if all_ else "last"))
    planned = waiting(Planner(query, frozenset("str")), scene.problem())
    machine, before = Machine(), 0
    for run, plan in enumerate(planned.plans):
        if run in planned.waiting:
            assert not scene.timeline.runs[run].delivers
            assert (plan.steps, planned.costs[run], planned.kept[run]) == ((), 0.0, planned.kept[run - 1])
            continue
        machine.run(plan.steps, at[before], at[run + 1])
        before = run + 1
        if scene.timeline.runs[run].delivers:
            assert machine.result is not None
            assert rounded(machine.result) == rounded(scene.answer(run))


def test_a_dear_run_between_two_others_waits() -> None:
    planner = Planner(TOP["a sum and a maximum"](BOTTOM["a join of three"]), frozenset("str"))
    much, few = {n: Arriving(0.0, 10_000.0) for n in "str"}, {n: Arriving(10_000.0, 100.0) for n in "str"}
    last = {n: Arriving(10_100.0, 100.0) for n in "str"}
    of = Problem(runs([1, 2, 3], weights=[0.02, 9, 1]), (much, few, last))
    planned = waiting(planner, of)
    assert planned.waiting == {1}
    assert planned.kept[0]
    assert planned.kept[1] == planned.kept[0]
    assert planned.choice.best.total < planner.by_cost.plan(of, models(of)).choice.best.total  # type: ignore[operator]
    text = explain_timeline(timeline_data("v", of.timeline, planned))
    assert "run 2: does nothing, its data is left to the next, weight 9" in text


def test_a_timeline_in_words() -> None:
    planner = Planner(TOP["a sum and a maximum"](BOTTOM["a left outer join"]), frozenset("str"))
    of = problem()
    data = timeline_data("v", of.timeline, planner.by_cost.plan(of, models(of), compare=True))
    assert [r["delivers"] for r in data["timeline"]] == [False, True]
    assert data["methods"].keys() == METHODS.keys()
    assert all(data["total"] <= cost for cost in data["methods"].values())
    text = explain_timeline(data)
    assert "run 2: delivers the result, weight 1" in text
    assert "IM-2 alone" in text
