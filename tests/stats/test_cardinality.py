"""Laws of estimates, for every kind of node and whatever its inputs are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headrace.ir import near, probe, rel
from headrace.ir.rel import Constant, Load, Node, PairJoin, Project, Source, Union
from headrace.ir.time import NEW, OLD
from headrace.stats.cardinality import Change, Estimate, estimate
from headrace.stats.estimate import NOTHING
from stats.every_node import KNOWN, NODES, cases, estimates

Case = tuple[Node, tuple[Estimate, ...]]
CLOSE = 1 + 1e-6


def finite(e: Estimate) -> bool:
    parts = (e.rows, e.change.inserts, e.change.updates, e.change.deletes, e.width, *e.distinct.values())
    return all(math.isfinite(p) and p >= 0 for p in parts)


def test_every_kind_of_node_is_tried() -> None:
    kinds = {
        c for module in (rel, near, probe) for c in vars(module).values() if isinstance(c, type) and issubclass(c, Node)
    }
    assert {type(n) for n in NODES.values()} == kinds - {Node}


@settings(max_examples=1_000, deadline=None)
@given(cases())
def test_never_negative_and_no_more_values_than_rows(case: Case) -> None:
    made = estimate(*case, KNOWN)
    assert finite(made)
    assert all(d <= made.rows * CLOSE for d in made.distinct.values())
    if made.delta:
        assert made.rows == pytest.approx(made.change.rows, rel=1e-6, abs=1e-9)


@settings(max_examples=1_000, deadline=None)
@given(cases(), st.integers(0, 2), st.floats(1.0, 1e3))
def test_more_rows_in_never_fewer_rows_out(case: Case, which: int, times: float) -> None:
    """With the same values. An anti join has fewer rows the more there are on its right; and where values have more
    rows each, two relations are taken to have the same ones."""
    node, inputs = case
    assume(inputs and not isinstance(node, rel.Keys))
    which %= len(inputs)
    assume(not (isinstance(node, PairJoin) and node.kind in ("left anti", "left outer", "full outer") and which == 1))
    one = inputs[which]
    more = replace(one, rows=one.rows * times, change=one.change * times if one.delta else one.change)
    grown = estimate(node, (*inputs[:which], more, *inputs[which + 1 :]), KNOWN)
    assert grown.rows * CLOSE + 1e-6 >= estimate(node, inputs, KNOWN).rows


@settings(max_examples=500, deadline=None)
@given(cases(delta=False))
def test_where_nothing_changes_nothing_changes(case: Case) -> None:
    node, inputs = case
    assume(not isinstance(node, Source | Constant | Load))
    assume(not isinstance(node, rel.Negate | rel.Keys | probe.Lookup))  # what these hold is a Delta whatever they read
    still = tuple(replace(i, change=NOTHING) for i in inputs)
    made = estimate(node, still, KNOWN)
    if not made.delta:
        assert made.change.rows == 0
    elif isinstance(node, rel.Delta):
        assert made.rows == 0


@settings(deadline=None)
@given(cases(delta=True))
def test_of_an_empty_delta_nothing_follows(case: Case) -> None:
    node, inputs = case
    assume(not isinstance(node, Union))
    empty = replace(inputs[0], rows=0.0, change=NOTHING, distinct={})
    assert estimate(node, (empty, *inputs[1:]), KNOWN).rows == 0


@settings(deadline=None)
@given(estimates(NODES["union"].inputs[0].attrs), estimates(NODES["union"].inputs[1].attrs))
def test_a_union_has_the_rows_and_changes_of_both(one: Estimate, other: Estimate) -> None:
    made = estimate(NODES["union"], (one, other), KNOWN)
    assert made.rows == one.rows + other.rows
    assert made.change == one.change + other.change


@settings(deadline=None)
@given(estimates(NODES["project"].inputs[0].attrs))
def test_a_projection_changes_no_count(of: Estimate) -> None:
    node = NODES["project"]
    assert isinstance(node, Project)
    made = estimate(node, (of,), KNOWN)
    assert (made.rows, made.change) == (of.rows, of.change)
    for column in node.columns:
        if column.plain:
            (old,) = column.expr.refs
            assert made.distinct.get(column.attr.id) == of.distinct.get(old)


@settings(deadline=None)
@given(estimates(NODES["old"].inputs[0].attrs))
def test_old_and_change_make_new(of: Estimate) -> None:
    """Unless more leaves than was there, which no relation does."""
    assume(of.rows - of.change.net >= 0)
    source = NODES["old"].inputs[0]
    old, new = (estimate(rel.Snapshot(source, at), (of,), KNOWN) for at in (OLD, NEW))
    assert old.rows + of.change.net == pytest.approx(new.rows, rel=1e-4, abs=1e-4)


@settings(deadline=None)
@given(estimates(NODES["filter"].inputs[0].attrs))
def test_an_update_that_passes_a_filter_by_half_comes_or_leaves(of: Estimate) -> None:
    """InQP's matrix of selectivities: the rows of a change that pass are as many as pass of other rows."""
    assume(of.rows >= 1)
    made = estimate(NODES["filter"], (of,), KNOWN)
    assert made.change.rows == pytest.approx(of.change.rows * made.rows / of.rows, rel=1e-6)
    assert made.change.net == pytest.approx(of.change.net * made.rows / of.rows, rel=1e-3, abs=1e-3)


def test_the_two_cases_of_groups() -> None:
    """InQP §3.1.2: with many rows a group each row changes one that is there, with one row a group it comes or goes."""
    keys = NODES["aggregate"]
    change = Change(10.0, 0.0, 5.0)
    many = estimate(keys, (Estimate(1_000_000.0, change, {"k": 10_000.0}),), KNOWN)
    assert many.change.updates == pytest.approx(15, rel=0.01)
    assert many.change.inserts + many.change.deletes < 1e-6
    own = estimate(keys, (Estimate(10_000.0, change, {"k": 10_000.0}),), KNOWN)
    assert (own.change.inserts, own.change.deletes) == (pytest.approx(10), pytest.approx(5))
