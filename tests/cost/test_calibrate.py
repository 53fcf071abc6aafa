"""Prices are found again from the steps that they make."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules.examples import J, K, S, T

from headrace.cost.calibrate import NAMES, Sample, better, error, fit, samples, units
from headrace.cost.model import price_plan
from headrace.cost.prices import DEFAULT
from headrace.ir.expr import Equal, ref
from headrace.ir.plan import Keep, Plan, Publish
from headrace.ir.rel import Aggregate, Delta, Join, Snapshot
from headrace.ir.time import NEW, OLD, Situation
from headrace.stats.estimate import Change, Estimate
from headrace.stats.known import Statistics
from headrace.stats.table import ColumnFacts, Moving, TableFacts


def made(seed: int, noise: float, count: int = 300) -> tuple[list[Sample], object]:
    """Steps of a machine whose prices are others, a little disturbed."""
    rng = random.Random(seed)
    true = replace(DEFAULT, **{n: getattr(DEFAULT, n) * rng.uniform(0.3, 4) for n in NAMES})
    found = []
    for _ in range(count):
        chosen = rng.sample(NAMES, 4)
        of = {n: rng.uniform(0.1, 1) / getattr(DEFAULT, n) for n in chosen}
        exact = Sample("s", 0.0, of)
        found.append(replace(exact, seconds=exact.priced(true) * rng.uniform(1 - noise, 1 + noise)))
    return found, true


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_prices_are_found_again(seed: int) -> None:
    measured, true = made(seed, 0.0)
    found = fit(measured, DEFAULT)
    for name in NAMES:
        assert getattr(found, name) == pytest.approx(getattr(true, name), rel=0.2), name


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_a_disturbed_machine_gives_nearly_the_same(seed: int) -> None:
    measured, true = made(seed, 0.15)
    hit = [replace(s, seconds=s.seconds * 20) if i % 10 == 0 else s for i, s in enumerate(measured)]
    found = fit(hit, DEFAULT)
    off = sorted(abs(getattr(found, n) / getattr(true, n) - 1) for n in NAMES)
    assert off[len(off) // 2] < 0.2
    assert error(measured, found) < 1.25 < error(measured, DEFAULT)


def test_prices_that_explain_the_middle_step_worse_are_not_taken() -> None:
    right = Sample("s", 10 * DEFAULT.job, {"job": 10.0})
    disturbed = replace(right, seconds=1.5 * right.seconds)
    measured = [right] * 3 + [disturbed] * 2
    assert error(measured, fit(measured, DEFAULT)) > error(measured, DEFAULT)
    assert better(measured, DEFAULT) == DEFAULT
    assert error([disturbed], better([disturbed], DEFAULT)) < error([disturbed], DEFAULT)


def test_what_no_step_has_stays_as_it_was() -> None:
    found = fit([Sample("s", 1.0, {"job": 10.0})], DEFAULT)
    assert found.job > DEFAULT.job
    assert replace(found, job=DEFAULT.job) == DEFAULT
    assert fit([], DEFAULT) == DEFAULT


def test_prices_are_never_negative() -> None:
    steps = [Sample("a", 1.0, {"job": 1.0}), Sample("b", 0.01, {"job": 1.0, "stage": 1.0})]
    assert all(value > 0 for value in fit(steps * 5, DEFAULT).record().values())


def test_units_of_a_plan_make_its_price() -> None:
    facts = TableFacts(1_000_000, 0, {"k": ColumnFacts(1_000), "j": ColumnFacts(1_000)})
    known = Statistics({"s": Moving(facts, Change(100.0)), "t": Moving(facts)})
    term = Join((Delta(S, OLD, NEW), Snapshot(T, OLD)), (Equal(ref(K), ref(J)),), ())
    steps = (Keep("d1", "x", Aggregate(term, (K,), ()), False), Publish(term, False))
    plan, result = Plan(steps, Situation(frozenset("st")), ()), Estimate(500_000.0)
    found = units(plan, known, DEFAULT.cores, result=result)
    cost = price_plan(plan, known, DEFAULT, result=result)
    for sample in samples(found, {"d1": 1.0, "publish": 2.0}):
        assert sample.priced(DEFAULT) == pytest.approx(cost.steps[sample.step].seconds)
