"""What a step adds to a state is the change of what the state holds, however many rows cancel out on the way."""

from __future__ import annotations

from rules.examples import S

from headrace.ir.plan import Keep, Pin
from headrace.ir.rel import Consolidate, Delta, Negate, Ref, Snapshot, union
from headrace.ir.time import NEW, OLD
from headrace.stats.estimate import Change, Estimate
from headrace.stats.known import Statistics
from headrace.stats.steps import Steps
from headrace.stats.table import Moving, TableFacts

GROWING = Moving(TableFacts(1_000.0), Change(10.0))


def touched() -> Consolidate:
    """All of a table given back for all of it taken away."""
    return Consolidate(union(Snapshot(S, NEW), Negate(Snapshot(S, OLD))))


def test_what_is_kept_is_the_change_of_the_state() -> None:
    state = Estimate(500.0, Change(3.0, 2.0))
    steps = Steps(Statistics({S.name: GROWING}, {"state": state}))
    kept = steps.add(Keep("d", "state", touched(), base=False))

    assert steps.of(touched()).rows > 1_000
    assert kept.delta
    assert kept.rows == state.change.rows == 7.0
    assert steps.of(union(Ref("d", S.attrs), Ref("d", S.attrs))).rows == 14.0


def test_what_is_not_kept_or_not_known_is_what_the_tree_gives() -> None:
    steps = Steps(Statistics({S.name: GROWING}))
    assert steps.add(Pin("p", touched())).rows == steps.add(Keep("d", "state", touched(), base=False)).rows > 1_000


def test_no_more_is_kept_than_the_tree_gives() -> None:
    steps = Steps(Statistics({S.name: GROWING}, {"state": Estimate(500.0, Change(300.0))}))
    assert steps.add(Keep("d", "state", Delta(S, OLD, NEW), base=False)).rows == 10.0
