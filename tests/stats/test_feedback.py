"""What runs count makes the next estimate right."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules.examples import J, K, S, T, X, Y, compared

from headrace.ir.expr import Equal, ref
from headrace.ir.rel import Aggregate, Delta, Filter, Join, Node, Partials, Project, Snapshot
from headrace.ir.time import NEW, OLD
from headrace.stats import feedback
from headrace.stats.cardinality import Estimate, Learned, estimate_tree
from headrace.stats.estimate import Change
from headrace.stats.feedback import Counted
from headrace.stats.known import Statistics
from headrace.stats.operator_key import operator_key
from headrace.stats.table import ColumnFacts, Moving, TableFacts

JOIN = Join((S, T), (Equal(ref(K), ref(J)),), ())
FILTER = Filter(JOIN, (compared("x", ">", "y"),))
GROUPS = Aggregate(FILTER, (K, X), ())
FACTS = {
    "s": Moving(TableFacts(100_000, 0, {"k": ColumnFacts(1_000), "x": ColumnFacts(50)}), Change(1_000.0)),
    "t": Moving(TableFacts(5_000, 0, {"j": ColumnFacts(800), "y": ColumnFacts(30)}), Change(50.0, 0.0, 10.0)),
}


def expected(lessons: Mapping[str, Learned]) -> dict[int, Estimate]:
    seen: dict[int, Estimate] = {}
    estimate_tree(GROUPS, Statistics(FACTS, lessons=lessons), {}, seen)
    return seen


@settings(deadline=None)
@given(st.floats(0.02, 10), st.floats(0.2, 2), st.floats(0.3, 0.9))
def test_the_truth_is_learned_in_a_few_runs(join: float, kept: float, groups: float) -> None:
    """Each operator by itself: what is wrong below it is not laid to it."""
    plain = expected({})
    joined = join * plain[id(JOIN)].change.rows
    filtered = joined * min(kept * plain[id(FILTER)].change.rows / plain[id(JOIN)].change.rows, 1.0)
    grouped = groups * filtered
    truth = {
        id(JOIN): Counted(None, joined),
        id(FILTER): Counted(None, filtered),
        id(GROUPS): Counted(2_000.0, grouped),
    }
    lessons: dict[str, Learned] = {}
    for _ in range(12):
        lessons = feedback.after(lessons, GROUPS, Statistics(FACTS), truth)
    seen = expected(lessons)
    assert lessons.get(operator_key(JOIN), Learned()).change == pytest.approx(join, rel=0.02)
    assert seen[id(JOIN)].change.rows == pytest.approx(joined, rel=0.05)
    assert seen[id(FILTER)].change.rows == pytest.approx(filtered, rel=0.1)


def test_a_term_of_a_joins_delta_learns_from_the_join() -> None:
    lessons = {operator_key(JOIN): Learned(change=0.25)}
    term = Join((Delta(S, OLD, NEW), Snapshot(T, OLD)), JOIN.equals, ())
    rows = [estimate_tree(term, Statistics(FACTS, lessons=known), {}, {}).rows for known in ({}, lessons)]
    assert rows[1] == pytest.approx(rows[0] / 4)


def test_an_old_lesson_fades() -> None:
    lessons = {operator_key(JOIN): Learned(change=1_000.0)}
    for _ in range(12):
        truth = {id(JOIN): Counted(None, expected({})[id(JOIN)].change.rows)}
        lessons = feedback.after(lessons, GROUPS, Statistics(FACTS), truth)
    assert lessons.get(operator_key(JOIN), Learned()).change == pytest.approx(1, rel=0.01)


def test_what_the_query_has_not_any_more_is_forgotten() -> None:
    old = {operator_key(JOIN): Learned(2.0, 3.0), "gone": Learned(5.0, 5.0)}
    assert feedback.after(old, GROUPS, Statistics(FACTS), {}) == {operator_key(JOIN): Learned(2.0, 3.0)}


def test_a_few_rows_teach_nothing() -> None:
    still = Statistics({n: Moving(m.table, Change(0.01)) for n, m in FACTS.items()})
    assert feedback.after({}, GROUPS, still, {id(JOIN): Counted(None, 3.0)}) == {}


def test_a_key_is_of_what_an_operator_does() -> None:
    def renamed(node: Node) -> Node:
        return Project(node, ())

    assert operator_key(JOIN) == operator_key(Join((T, S), JOIN.equals, ()))
    assert operator_key(JOIN) != operator_key(Join((S, T), (Equal(ref(X), ref(Y)),), ()))
    assert operator_key(GROUPS) == operator_key(Partials(S, (K, X), ()))
    assert operator_key(renamed(S)) == operator_key(renamed(T))


def test_lessons_are_plain_data() -> None:
    lessons = {"a": Learned(0.5, 2.0), "b": Learned()}
    assert feedback.recall(json.loads(json.dumps(feedback.record(lessons)))) == lessons
