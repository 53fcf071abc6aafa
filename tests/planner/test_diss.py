"""The choice of states, against trying all of them, and against the paper's own formulas."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from planner.trees import Rates, chain, keepable, rates, trees

from headrace.planner.actions import actions
from headrace.planner.baselines import STRATEGIES, at_rest, keep_all, recycler
from headrace.planner.demand import DELTA, FULL, Demand, Emits
from headrace.planner.diss import Diss, choose, front, priced
from headrace.planner.front import Front, Point
from headrace.planner.operators import (
    Aggregate,
    Candidate,
    HashJoin,
    Materialize,
    Operator,
    Scan,
    Sort,
    candidates,
)
from headrace.stats.estimate import Change

MANY = 1 << 40
slow = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


def assignments(op: Operator, demand: Demand, prices: Rates) -> Iterator[Point]:
    """Every assignment of actions to the operators of a tree, none left out."""
    demand = demand.of(bool(op.change))
    if demand.emits is Emits.NOTHING and not demand.lookups:
        yield Point(0, 0.0)
        return
    for a in actions(op, demand, prices):
        own = Point(a.bytes, a.seconds, tuple(c.name for c in a.holds))
        below = [list(assignments(i, d, prices)) for i, d in zip(op.inputs, a.asks, strict=True)]
        for parts in product(*below):
            yield sum(parts, own)


def count(op: Operator, demand: Demand, prices: Rates) -> int:
    """How many assignments there are."""
    demand = demand.of(bool(op.change))
    if demand.emits is Emits.NOTHING and not demand.lookups:
        return 1
    found = 0
    for a in actions(op, demand, prices):
        ways = 1
        for i, d in zip(op.inputs, a.asks, strict=True):
            ways *= count(i, d, prices)
        found += ways
    return found


def few(op: Operator, prices: Rates) -> None:
    assume(sum(count(op, d, prices) for d in (DELTA, FULL)) <= 20_000)


@slow
@given(trees(joins=2), rates, st.integers(0, 400))
def test_the_cost_is_that_of_the_best_of_all_assignments(tree: Operator, prices: Rates, budget: int) -> None:
    few(tree, prices)
    every = [p for d in (DELTA, FULL) for p in assignments(tree, d, prices) if p.bytes <= budget]
    best = choose(tree, prices, budget)

    assert best.seconds == min(p.seconds for p in every)
    assert best.bytes <= budget
    states = candidates(tree)
    assert best.bytes == sum(states[name].bytes for name in best.held)


@slow
@given(trees(joins=3), rates, st.integers(0, 500), st.integers(0, 500))
def test_a_larger_budget_is_never_worse(tree: Operator, prices: Rates, one: int, other: int) -> None:
    small, large = sorted((one, other))

    assert choose(tree, prices, small).seconds >= choose(tree, prices, large).seconds


@slow
@given(trees(joins=3), rates, st.integers(0, 500))
def test_one_front_has_the_answer_for_every_budget(tree: Operator, prices: Rates, budget: int) -> None:
    point = front(tree, prices, MANY).best(budget)

    assert point is not None
    assert point.seconds == choose(tree, prices, budget).seconds


@slow
@given(trees(joins=3), rates, st.integers(0, 300))
def test_searching_over_budgets_agrees_with_trying_all_pairs(tree: Operator, prices: Rates, limit: int) -> None:
    tried = Diss(tree, prices, limit).front()
    searched = Diss(tree, prices, limit, split=Front.bisected).front()

    assert [(p.bytes, p.seconds) for p in searched] == [(p.bytes, p.seconds) for p in tried]


@slow
@given(trees(joins=3), rates)
def test_without_memory_it_is_rebatch(tree: Operator, prices: Rates) -> None:
    best = choose(tree, prices, 0)
    taken = {c.name for c in candidates(tree).values() if c.bytes}

    assert not taken & set(best.held)
    assert best.seconds <= priced(tree, prices, frozenset()).seconds
    if not best.held:  # a state of no bytes is no state
        assert best.seconds == priced(tree, prices, frozenset()).seconds


@slow
@given(trees(joins=2), rates)
def test_with_all_memory_what_is_useful_is_kept(tree: Operator, prices: Rates) -> None:
    """Without any one state of the choice, or with any other besides, the delta costs at least as much."""
    there = all_there(tree)
    best = choose(there, prices, MANY)
    held = frozenset(best.held)
    assert priced(there, prices, held).seconds == best.seconds
    for name in candidates(there):
        assert priced(there, prices, held - {name}).seconds >= best.seconds
        assert priced(there, prices, held | {name}).seconds >= best.seconds


@slow
@given(trees(joins=2), rates, st.integers(0, 400))
def test_no_other_strategy_is_better(tree: Operator, prices: Rates, budget: int) -> None:
    there = all_there(tree)
    best = choose(there, prices, budget).seconds
    for strategy in STRATEGIES.values():
        other = priced(there, prices, strategy(there, prices, budget))
        assert other.bytes <= budget
        assert other.seconds >= best


def all_there(op: Operator) -> Operator:
    """The same tree with every state there, so that none must be made."""

    def there(c: Candidate) -> Candidate:
        return replace(c, there=True)

    match op:
        case HashJoin(left=left, right=right):
            return replace(op, left=all_there(left), right=all_there(right))
        case Materialize(input=below, as_rows=rows, tables=tables):
            made = tuple(replace(t, candidate=there(t.candidate)) for t in tables)
            return replace(op, input=all_there(below), as_rows=rows and there(rows), tables=made)
        case Sort(input=below, state=state) | Aggregate(input=below, state=state):
            return replace(op, input=all_there(below), state=there(state))
    return op


# --- the paper's formulas

P = Rates()


def scan(name: str, rows: int, change: Change) -> Scan:
    return Scan(float(rows), change, {f"{name}.k": float(rows)}, float(rows), name, float(rows), change.rows)


def join(left: Change, right: Change, *, there: bool = True) -> HashJoin:
    """100 rows with 1,000, one match for each of the second; one row of output for each row of a delta."""
    few, many = scan("r", 100, right), scan("l", 1000, left)
    out = Change(left.inserts + right.inserts, left.updates + right.updates, left.deletes + right.deletes)
    sides: dict[str, Any] = {
        "left": keepable(many, "left", [("l.k",)], rows=False, there=there),
        "right": keepable(few, "right", [("r.k",)], rows=False, there=there),
    }
    distinct = {**many.distinct, **few.distinct}
    return HashJoin(1000.0, out, distinct, 1000.0, **sides, left_key=("l.k",), right_key=("r.k",))


LEFT, RIGHT, BOTH = frozenset({"left by l.k"}), frozenset({"right by r.k"}), frozenset({"left by l.k", "right by r.k"})
SOME, NONE = Change(inserts=10.0), Change()


def cost(tree: Operator, held: frozenset[str], demand: Demand, prices: Rates = P) -> float:
    best = Diss(tree, prices, 0, given=held)._front(tree, demand).best(0)
    assert best is not None
    return best.seconds


def scanned(rows: int) -> float:
    return P.scan(rows) + P.deliver(rows)


def test_the_right_table_only() -> None:
    """Action 6: ℱˡ + 𝒟ʳ + C_B(ΔR) + the left delta in the table + the left rows against ΔR."""
    tree = join(SOME, SOME)
    pulled = scanned(1010) + scanned(10)
    left_delta = P.probe(10) + P.deliver(10)
    right_delta = P.build(10) + P.probe(1010)

    assert cost(tree, RIGHT, DELTA) == pulled + P.insert(10) + left_delta + right_delta + P.deliver(20)
    full = pulled + P.insert(10) + P.probe(1010) + P.deliver(1010) + P.deliver(1020)
    counted = P.probe(10) + P.deliver(10)  # rows that are looked up count to two digits
    assert cost(tree, RIGHT, FULL) <= full
    assert cost(tree, RIGHT, FULL, Rates(replays=1000)) == pytest.approx(full, abs=counted)


def test_both_tables() -> None:
    tree = join(SOME, SOME)
    kept = 2 * scanned(10) + 2 * P.insert(10)

    assert cost(tree, BOTH, DELTA) == kept + 2 * (P.probe(10) + P.deliver(10)) + P.deliver(20)


def test_only_one_side_has_a_delta() -> None:
    only_left, only_right = join(SOME, NONE), join(NONE, SOME)
    looked_up = scanned(10) + P.probe(10) + P.deliver(10) + P.deliver(10)

    assert cost(only_left, RIGHT, DELTA) == looked_up, "of the right side nothing is asked"
    assert cost(only_right, LEFT, DELTA) == looked_up
    scanned_right = scanned(100) + scanned(10) + P.build(10) + P.probe(100) + P.deliver(10)
    assert cost(only_left, frozenset(), DELTA) == scanned_right
    assert cost(only_left, LEFT, DELTA) == scanned_right + P.insert(10), "the left table is of no use, and kept up"


def test_without_tables_the_full_join_is_computed() -> None:
    tree = join(SOME, SOME)

    pulled = scanned(1010) + scanned(110)
    assert cost(tree, frozenset(), FULL) == pulled + P.build(110) + P.probe(1010) + P.deliver(1020)


def test_a_table_that_no_batch_builds_is_paid_for() -> None:
    there, not_there = join(SOME, NONE), join(SOME, NONE, there=False)
    dear = Rates(builds=20)

    assert choose(there, dear, MANY).held == choose(not_there, P, MANY).held == ("right by r.k",)
    assert choose(not_there, P, MANY).seconds == choose(there, P, MANY).seconds + P.build(100)
    assert choose(not_there, dear, MANY).held == (), "reading a hundred rows once costs less than a table of them"


def test_deletes_cost_what_finding_them_costs() -> None:
    """§5: a row that leaves is looked for among all that have its key."""
    came, left = join(Change(inserts=10.0), NONE), join(Change(deletes=10.0), NONE)
    many = replace(left, left=replace(left.left, distinct={"l.k": 10.0}, base=1000.0))  # type: ignore[call-arg]
    inserted, deleted, far = (cost(t, LEFT, DELTA) for t in (came, left, many))

    assert deleted - inserted == P.delete(10, 1) - P.insert(10)
    assert far - deleted == P.delete(10, 100) - P.delete(10, 1)
    assert cost(join(Change(updates=10.0), NONE), LEFT, DELTA) - cost(came, LEFT, DELTA) >= P.delete(10, 1)


def test_rows_that_are_kept_are_not_computed_again() -> None:
    """Action 2: ℱ = C_mat(ΔR) + 𝒟ᶜ + C_scan(R)."""
    below = scan("t", 1000, SOME)
    kept = keepable(below, "t", [], there=True)
    held = frozenset({"t rows"})

    assert cost(kept, frozenset(), FULL) == cost(below, frozenset(), FULL)
    assert cost(kept, held, FULL) == P.materialise(10) + scanned(10) + P.replay(1000)
    assert cost(kept, held, DELTA) == P.materialise(10) + scanned(10)


def test_sorted_rows_are_merged() -> None:
    """Action 3."""
    below = scan("t", 1000, SOME)
    tree = Sort(1000.0, SOME, input=below, state=Candidate("sorted", 100, True))
    held = frozenset({"sorted"})

    assert cost(tree, frozenset(), FULL) == scanned(1010) + P.sort(1010)
    assert cost(tree, held, FULL) == scanned(10) + P.sort(10) + P.merge(10, 1000)
    assert cost(tree, held, DELTA) == cost(tree, frozenset(), DELTA)


def test_groups_that_are_kept_need_the_delta_only() -> None:
    """Actions 4 and 5."""
    below = scan("t", 1000, SOME)
    changed = Change(updates=5.0)
    tree = Aggregate(50.0, changed, input=below, state=Candidate("groups", 100, True))
    held = frozenset({"groups"})

    assert cost(tree, frozenset(), DELTA) == scanned(1010) + P.aggregate(1010) + P.deliver(10)
    kept = scanned(10) + P.aggregate(10) + P.probe(10) + P.insert(5) + P.delete(5, 1)
    assert cost(tree, held, DELTA) == kept + P.deliver(10)
    assert cost(tree, held, FULL) == kept + P.deliver(50) + P.replay(50)


def test_a_maximum_is_not_kept_where_rows_leave() -> None:
    from headrace.ir.aggregate import Merging

    def grouped(change: Change) -> Aggregate:
        state = Candidate("groups", 100, True)
        return Aggregate(50.0, Change(5.0), input=scan("t", 1000, change), state=state, merging=Merging.GROWING)

    assert choose(grouped(Change(inserts=10.0)), P, MANY).held == ("groups",)
    assert choose(grouped(Change(deletes=10.0)), P, MANY).held == ()


def test_a_lookup_passes_through_a_join() -> None:
    """Few new customers find their orders and these their lines by tables of relations, without the join of both."""
    lines = Scan(10_000.0, NONE, {"l.k": 1000.0}, 10_000.0, "l", 10_000.0, 0.0)
    orders = Scan(1_000.0, NONE, {"o.k": 1000.0, "o.c": 100.0}, 1000.0, "o", 1000.0, 0.0)
    new = scan("c", 100, Change(inserts=1.0))
    both = HashJoin(
        *(10_000.0, NONE, {**lines.distinct, **orders.distinct}, 10_000.0),
        left=keepable(lines, "l", [("l.k",)], rows=False, there=True),
        right=keepable(orders, "o", [("o.k",), ("o.c",)], rows=False, there=True),
        left_key=("l.k",),
        right_key=("o.k",),
    )
    root = HashJoin(
        *(10_000.0, Change(inserts=100.0), {**both.distinct, **new.distinct}, 10_000.0),
        left=keepable(both, "lo", [("o.c",)], rows=False, there=True),
        right=new,
        left_key=("o.c",),
        right_key=("c.k",),
    )
    joined, leaves = 30_000, 3_000 + 30_000

    assert set(choose(root, P, MANY).held) == {"lo by o.c"}
    assert set(choose(root, P, joined - 1).held) == {"o by o.c"}, "then the lines are read once, against ten orders"
    assert leaves > joined
    assert choose(root, P, 2_999).held == ()


def test_each_term_reads_for_itself_what_is_not_held() -> None:
    """Of three relations that move, each is met by the deltas of the other two; in one pass it would be read once."""
    sides = [keepable(scan(n, 1000, SOME), n, [(f"{n}.k",)], rows=False, there=True) for n in "abc"]

    def joined(left: Operator, right: Operator, name: str, *, by_terms: bool) -> HashJoin:
        both = {**left.distinct, **right.distinct}
        keys = {"left_key": ("a.k",), "right_key": (f"{name}.k",)}
        return HashJoin(1000.0, SOME, both, 1000.0, left=left, right=right, **keys, by_terms=by_terms)

    def tree(*, by_terms: bool) -> HashJoin:
        return joined(joined(sides[0], sides[1], "b", by_terms=by_terms), sides[2], "c", by_terms=by_terms)

    held = frozenset({"a by a.k", "b by b.k"})
    looked_up = cost(tree(by_terms=True), held | {"c by c.k"}, DELTA)
    two_read = 2 * P.scan(1000) + 2 * P.meet(1010) + P.deliver(1010) - P.deliver(10) + P.build(10)
    kept_up = P.insert(10) + P.probe(10)
    assert cost(tree(by_terms=True), held, DELTA) == looked_up + two_read - kept_up
    assert cost(tree(by_terms=False), held, DELTA) < looked_up + two_read - kept_up


# --- baselines


def test_keep_all_keeps_all_or_nothing() -> None:
    tree = join(SOME, SOME)
    size = sum(c.bytes for c in candidates(tree).values())

    assert keep_all(tree, P, size) == BOTH
    assert keep_all(tree, P, size - 1) == frozenset()


def test_recycler_does_not_see_the_next_delta() -> None:
    """It keeps the same whatever comes; DISS keeps the table that the delta is looked up in."""
    size = 3_100
    kept = {recycler(join(*deltas), P, size) for deltas in ((SOME, NONE), (NONE, SOME), (SOME, SOME))}

    assert len(kept) == 1
    assert choose(join(SOME, NONE), P, size).held == ("right by r.k",)
    assert choose(join(NONE, SOME), P, size).held == ("left by l.k",)


def test_recycler_evicts_what_has_less_benefit() -> None:
    tree = join(SOME, SOME)

    assert recycler(tree, P, 3_299) in (LEFT, RIGHT)
    assert recycler(tree, P, 3_000, uses={"left by l.k": 100}) == LEFT
    assert recycler(tree, P, 3_000, uses={"right by r.k": 100}) == RIGHT
    assert recycler(tree, P, 299) == frozenset()


def test_at_rest_nothing_changes() -> None:
    assert not any(o.change for o in [at_rest(chain(5, 1000.0, 0.1))])


# --- time


@pytest.mark.parametrize(
    ("members", "stars", "within"), [(3, 0, 0.1), (6, 3, 0.1), (8, 3, 0.2), (10, 6, 1.0), (12, 9, 1.0)]
)
def test_planning_takes_no_time(members: int, stars: int, within: float) -> None:
    """As large as TPC-H's (8 relations) and TPC-DS's largest joins; the machine may have other work."""
    tree = chain(members, 6e6, 0.01, stars=stars)
    started = time.thread_time()
    choose(tree, P, 2 << 30)

    assert time.thread_time() - started < 3 * within
