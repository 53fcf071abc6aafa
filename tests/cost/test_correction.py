"""Runs correct prices; what may be chance decides nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cost.correction import Correction

SECONDS = st.floats(0.01, 1_000)


@settings(deadline=None)
@given(st.lists(SECONDS, max_size=5), st.floats(0.05, 20), SECONDS)
def test_the_last_runs_count(before: list[float], factor: float, priced: float) -> None:
    known = Correction()
    for seconds in before:
        known = known.after("full", seconds, 1.0)
    for _ in range(14):
        known = known.after("full", factor * priced, priced)
    assert known.expected("full", priced) == pytest.approx(factor * priced, rel=0.02)
    assert known.at_most("full", priced) <= 1.3 * factor * priced


@settings(deadline=None)
@given(SECONDS, SECONDS)
def test_bounds_hold_what_is_expected(seconds: float, priced: float) -> None:
    known = Correction().after("full", seconds, priced)
    for kind in ("full", "scanned"):
        assert known.at_least(kind, priced) <= known.expected(kind, priced) <= known.at_most(kind, priced)


def test_one_that_was_never_tried_is_on_the_same_machine() -> None:
    known = Correction().after("full", 6, 2)
    assert known.expected("scanned", 1) == pytest.approx(3 / 1.8), "the first run was one of new code"
    assert known.at_least("scanned", 1) < known.at_least("full", 1)
    assert not known.tried("scanned")


def test_a_first_run_is_half_believed_where_others_are_known() -> None:
    """The initial run compiles its code, which takes up to four times as long; runs that came often tell of the
    machine."""
    known = Correction().after("full", 40, 10)
    for _ in range(5):
        known = known.after("scanned", 1, 1)
    assert known.expected("full", 10) == pytest.approx(14.5, rel=0.1)
    again = known.after("full", 10, 10)
    assert again.expected("full", 10) == pytest.approx(11.3, rel=0.1)
    assert again.after("full", 10, 10).expected("full", 10) == pytest.approx(11.5, rel=0.1), "the third counts whole"
    assert known.expected("scanned", 1) == pytest.approx(1, rel=0.1)


def test_first_runs_count_as_what_they_take_without_new_code() -> None:
    known = Correction().after("full", 18, 10)
    assert known.expected("full", 10) == pytest.approx(10)
    assert known.after("full", 12.5, 10).expected("full", 10) == pytest.approx(10)
    assert known.after("full", 12.5, 10).after("full", 10, 10).expected("full", 10) == pytest.approx(10)


def test_runs_that_vary_say_less() -> None:
    steady, shaky = Correction(), Correction()
    for i in range(10):
        steady = steady.after("full", 2, 1)
        shaky = shaky.after("full", 4 if i % 2 else 1, 1)
    assert shaky.at_most("full", 1) > 1.5 * steady.at_most("full", 1)


def test_plain_data() -> None:
    known = Correction().after("full", 6, 2)
    assert Correction(**json.loads(json.dumps(known.record()))) == known
