"""Parts of joins that a run needs twice are found once, and the answers stay the same: judged without Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planner.machine import Machine, rounded
from planner.scenes import Scene, arrivals, timeline
from rules import examples as e
from rules.meaning import Bag

from headrace.ir.expr import Column, Equal, ref
from headrace.ir.plan import Pin
from headrace.ir.rel import Aggregate, Consolidate, Join, Node, PairJoin, Project, Snapshot, prune
from headrace.ir.time import Situation
from headrace.ir.walk import nodes
from headrace.planner.simple import Planner

MOST = e.call("max", e.U)
LEAST = Project(Aggregate(e.R, (), (MOST,)), (Column(e.Z, ref(MOST.attr)),))
ABOVE = Join((e.S, LEAST), (), (e.compared("x", ">", "z"),))
LINKED = Join((e.S, e.R), (Equal(ref(e.K), ref(e.U)),), (e.compared("x", ">", "v"),))


def matched(left: Node, kind: str) -> Node:
    return PairJoin(left, e.T, kind, ((e.K, e.J),), True, e.compared("k", "=", "j"), None)


QUERIES = {
    f"{kind}, {what}": matched(left, kind)
    for kind in ("left anti", "left semi", "left outer")
    for what, left in {
        "a threshold": prune(ABOVE, (e.K, e.X)),
        "a threshold that is seen": ABOVE,
        "a join": prune(LINKED, (e.K, e.X)),
    }.items()
}


@given(st.sampled_from(sorted(QUERIES)), arrivals(4))
def test_the_answers_stay_the_same(name: str, at: list[dict[str, Bag]]) -> None:
    scene = Scene(QUERIES[name], at, timeline([True]))
    planner, machine = Planner(scene.query, frozenset("str")), Machine()
    machine.run(planner.load().steps, {n: Bag() for n in at[0]}, at[1])
    for run in range(1, len(at) - 1):
        data = scene.data(run)
        moved = frozenset(n for n, a in data.items() if a.moves)
        plan = planner.refresh(Situation(moved, frozenset(n for n, a in data.items() if a.shrinks)))
        machine.run(plan.steps, at[run], at[run + 1])
        assert machine.result is not None
        assert rounded(machine.result) == rounded(scene.answer(run))


@pytest.mark.parametrize("seen", [False, True])
def test_rows_that_meet_a_threshold_are_read_once_and_pairs_are_added_up(seen: bool) -> None:
    query = QUERIES["left anti, a threshold that is seen" if seen else "left anti, a threshold"]
    plan = Planner(query, frozenset()).refresh(Situation(frozenset("str"), frozenset()))
    reads = [n for s in plan.steps for n in nodes(s.rel) if isinstance(n, Snapshot) and n.of == e.S]
    (held,) = [s for s in plan.steps if isinstance(s, Pin) and s.name.startswith("p")]
    assert isinstance(held.rel, Consolidate) is not seen, "with the threshold in it no row is like another"
    among = [n for n in nodes(held.rel) if n in reads]
    assert among
    assert len(reads) <= len(among) + 1, "once for the threshold, once for what T brings"
