"""Laws of prices, for every kind of node; and the prices of plans."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rules.examples import J, K, S, T
from stats.every_node import KNOWN, cases, estimates

from headrace.cost.model import Cost, built, index_bytes, inserted, price, price_plan, published, saved
from headrace.cost.prices import DEFAULT, Prices
from headrace.cost.seconds import Seconds
from headrace.ir.expr import Equal, ref
from headrace.ir.plan import Keep, Pin, Plan, Publish
from headrace.ir.probe import Index, Probe
from headrace.ir.rel import Aggregate, Delta, Join, Node, Ref, Snapshot, prune
from headrace.ir.time import NEW, OLD, Situation
from headrace.stats.cardinality import Estimate, estimate
from headrace.stats.estimate import Change
from headrace.stats.known import Statistics
from headrace.stats.table import ColumnFacts, Moving, TableFacts

Case = tuple[Node, tuple[Estimate, ...]]
ALL = [f.name for f in fields(Prices) if f.name != "cores"]


def parts(cost: Cost) -> tuple[float, ...]:
    return (cost.cpu, cost.io, cost.network, cost.fixed, cost.memory)


def of(case: Case, prices: Prices = DEFAULT, *, large: bool = True) -> Cost:
    return price(*case, estimate(*case, KNOWN), prices, large=large)


@settings(max_examples=500, deadline=None)
@given(cases(), st.booleans())
def test_every_node_has_a_price(case: Case, large: bool) -> None:
    cost = of(case, large=large)
    assert all(math.isfinite(p) and p >= 0 for p in parts(cost))
    assert cost.seconds >= (DEFAULT.operator if large else DEFAULT.prepared)


@settings(max_examples=500, deadline=None)
@given(cases(), st.integers(0, 2), st.floats(1.0, 100.0))
def test_more_rows_cost_no_less(case: Case, which: int, times: float) -> None:
    """With as many coming out, in a small step. In a large one, a side that is too large to be copied is shuffled,
    which may cost less than copying one that is just small enough."""
    node, inputs = case
    assume(inputs)
    which %= len(inputs)
    output = estimate(node, inputs, KNOWN)
    more = replace(inputs[which], rows=inputs[which].rows * times)
    before = price(node, inputs, output, DEFAULT, large=False)
    after = price(node, (*inputs[:which], more, *inputs[which + 1 :]), output, DEFAULT, large=False)
    assert after.seconds >= before.seconds * (1 - 1e-9)


@settings(max_examples=300, deadline=None)
@given(cases(), st.booleans())
def test_a_price_is_the_sum_of_its_units(case: Case, large: bool) -> None:
    """What calibrating rests on: each price counts for itself."""
    zero = Prices(**dict.fromkeys(ALL, 0.0), cores=DEFAULT.cores)
    units = {name: of(case, replace(zero, **{name: 1.0}), large=large).seconds for name in ALL}
    whole = sum(units[name] * getattr(DEFAULT, name) for name in ALL)
    assert whole == pytest.approx(of(case, large=large).seconds, rel=1e-9)


@settings(deadline=None)
@given(estimates((K,)), st.booleans())
def test_keeping_and_publishing(rows: Estimate, large: bool) -> None:
    result = Estimate(rows.rows * 10, rows.change, width=20.0)
    for growing in (True, False):
        cost = published(rows, result, DEFAULT, large=large, growing=growing, clustered=True)
        assert all(math.isfinite(p) and p >= 0 for p in parts(cost))
    assert saved(rows, DEFAULT, large=large).seconds >= DEFAULT.commit


def test_costs_add_up() -> None:
    one, other = Cost(1, 2, 3, 4, 5), Cost(10, 20, 30, 40, 50)
    assert parts(one + other) == (11, 22, 33, 44, 55)
    assert (one + other).seconds == 110
    assert parts(one * 2) == (2, 4, 6, 8, 5)


# --- plans

BIG = TableFacts(50_000_000, 0, {"k": ColumnFacts(10_000_000), "j": ColumnFacts(10_000_000)})
TERM = Join((Delta(S, OLD, NEW), Snapshot(T, OLD)), (Equal(ref(K), ref(J)),), ())
INDEX = Index(Snapshot(T, OLD), (J,))
PROBED = prune(Probe(Delta(S, OLD, NEW), INDEX, (ref(K),), OLD), TERM.attrs)


def plan(*steps: Pin | Keep | Publish) -> Plan:
    return Plan(steps, Situation(frozenset("st")), ())


def known(delta: float) -> Statistics:
    return Statistics({"s": Moving(BIG, Change(delta)), "t": Moving(BIG)})


def test_looking_few_rows_up_costs_less_than_scanning_and_building_more() -> None:
    scan, probe = plan(Publish(TERM, False, True)), plan(Publish(PROBED, False, True))
    few = known(10_000)
    scanned, looked_up = price_plan(scan, few, DEFAULT), price_plan(probe, few, DEFAULT)
    assert looked_up.seconds < scanned.seconds / 5
    fresh = price_plan(probe, few, DEFAULT, held=())
    assert fresh.seconds > scanned.seconds
    assert fresh.seconds - looked_up.seconds == pytest.approx(fresh.steps[f"index {INDEX}"].seconds)
    assert fresh.total.memory >= index_bytes(BIG.rows, 8.0)


def test_scanning_costs_less_where_all_rows_are_looked_up() -> None:
    scan, probe = plan(Publish(TERM, False, True)), plan(Publish(PROBED, False, True))
    many = known(50_000_000)
    assert price_plan(scan, many, DEFAULT).seconds < price_plan(probe, many, DEFAULT).seconds


def test_a_small_step_has_no_job_and_a_large_one_has() -> None:
    cheap = Prices(job=100.0, stage=100.0)
    small = Statistics({n: Moving(TableFacts(1_000), Change(10.0)) for n in "st"})
    assert price_plan(plan(Publish(TERM, False, True)), small, cheap).seconds < 1
    assert price_plan(plan(Publish(TERM, False, True)), known(10.0), cheap).seconds > 100


def test_what_is_held_is_computed_once_and_read_often() -> None:
    held = Pin("h", TERM)
    groups = Aggregate(Ref("h", TERM.attrs), (K,), ())
    steps = (held, Keep("a", "a", groups, False), Keep("b", "b", groups, False), Publish(groups, True))
    cost = price_plan(plan(*steps), known(100_000), DEFAULT)
    assert list(cost.steps) == ["h", "a", "b", "publish"]
    assert cost.steps["a"] == cost.steps["b"]
    assert cost.steps["h"].seconds > 10 * cost.steps["a"].seconds
    assert cost.seconds == pytest.approx(sum(c.seconds for c in cost.steps.values()) + DEFAULT.run)


def test_a_result_is_appended_to_rewritten_in_part_or_anew() -> None:
    change = Estimate(10.0, Change(5.0, 0.0, 5.0), delta=True)
    result = Estimate(50_000_000.0, width=40.0)
    appended = published(change, result, DEFAULT, large=True, growing=True, clustered=True)
    part = published(change, result, DEFAULT, large=True, growing=False, clustered=True)
    anew = published(change, result, DEFAULT, large=True, growing=False, clustered=False)
    assert appended.seconds < part.seconds < anew.seconds


@settings(deadline=None)
@given(cases())
def test_a_search_asks_for_the_same_prices(case: Case) -> None:
    model = Seconds(KNOWN, DEFAULT)
    made = model.estimate(*case)
    assert made == estimate(*case, KNOWN)
    large = any(e.rows > 150_000 for e in (*case[1], made))
    assert model.price(*case, made) == of(case, large=large).seconds
    assert min(model.scan(made), model.save(made)) > 0
    whole, appended = (model.publish(made, made, replaces=r, growing=True) for r in (True, False))
    assert whole == pytest.approx(appended)


def test_indexes() -> None:
    assert built(1e6, 40, DEFAULT).seconds > inserted(1e3, 40, DEFAULT).seconds
    assert built(1e6, 40, DEFAULT).memory == 38e6


def test_prices_are_plain_data() -> None:
    prices = replace(DEFAULT, scan_row=1.0)
    assert Prices.of({**prices.record(), "of another version": 3.0}) == prices
