"""Working changes in against computing anew."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cost.correction import Correction
from headrace.runtime.choice import FULL, LEAST, better_anew, incremental, words

SCANNED, LOOKED_UP = incremental(0), incremental(2)


def runs(kind: str, seconds: float, priced: float, known: Correction | None = None, times: int = 12) -> Correction:
    known = known or Correction()
    for _ in range(times):
        known = known.after(kind, seconds, priced)
    return known


def test_a_kind_that_loses_is_left() -> None:
    known = runs(SCANNED, 30, 5, runs(FULL, 10, 10))
    assert better_anew(known, SCANNED, 5, 10) == "about 10.0 s, by earlier runs, against 30.0 s"
    assert better_anew(known, LOOKED_UP, 5, 10) is None, "what was not tried is tried"


def test_one_that_wins_is_kept_until_changes_are_many() -> None:
    known = runs(SCANNED, 2, 2, runs(FULL, 10, 10))
    assert better_anew(known, SCANNED, 2, 10) is None
    assert better_anew(known, SCANNED, 40, 10) is not None


def test_small_changes_are_tried_again_after_large_ones() -> None:
    known = runs(SCANNED, 100, 90, runs(FULL, 10, 10))
    assert better_anew(known, SCANNED, 90, 10) is not None
    assert better_anew(known, SCANNED, 3, 10) is None


def test_changes_that_are_far_more_are_left_where_prices_say_so() -> None:
    """What small ones took beside their price tells little of them, and both prices are wrong in the same way."""
    known = runs(SCANNED, 0.5, 1, runs(FULL, 10, 10))
    assert better_anew(known, SCANNED, 11.5, 10) is not None
    assert better_anew(known, SCANNED, 10.5, 10) is None
    assert better_anew(runs(SCANNED, 5, 10, runs(FULL, 10, 10)), SCANNED, 11.5, 10) is None, "they have shown it"


def test_what_was_never_tried_is_tried_unless_it_is_priced_as_dearer() -> None:
    assert better_anew(Correction(), SCANNED, 13, 10) is None
    first = Correction().after(FULL, 20, 10)
    assert better_anew(first, LOOKED_UP, 13, 10) is None
    assert better_anew(first, LOOKED_UP, 14, 10) == "about 11.1 s, by its price, against 15.6 s"


def test_small_changes_say_little_of_large_ones() -> None:
    """Half of all rows come after runs that took a fraction of their price, for they were mostly waiting for Spark."""
    known = runs(LOOKED_UP, 0.1, 0.5, runs(FULL, 4, 1, times=2))
    assert better_anew(known, LOOKED_UP, 1.2, 0.5) is None, "of about this size they were"
    assert better_anew(known, LOOKED_UP, 4, 1.5) is not None
    assert better_anew(known, LOOKED_UP, 4, 1.5, lost=10) is None, "much would have to be made again"


def test_a_run_that_scans_is_priced_as_well_as_computing_anew() -> None:
    first = Correction().after(FULL, 20, 10)
    assert better_anew(first, SCANNED, 12, 10) is None
    assert better_anew(first, SCANNED, 25, 10) == "about 11.1 s, by its price, against 27.8 s"


def test_a_slow_machine_is_slow_for_both() -> None:
    """The first run takes five times its price. That is no reason to compute anew for ever."""
    first = Correction().after(FULL, 50, 10)
    assert better_anew(first, SCANNED, 8, 10) is None


def test_what_was_done_once_takes_no_longer_than_it_did() -> None:
    """The first run was slow because its code was new. One that loses to it, time and again, is left, however wrong its
    own price is."""
    known = runs(LOOKED_UP, 21, 3, Correction().after(FULL, 15, 10), times=3)
    assert known.expected(FULL, 10) <= 15 + 1e-9
    assert better_anew(known, LOOKED_UP, 3, 10) is not None


def test_small_differences_decide_nothing() -> None:
    known = runs(SCANNED, 0.28, 0.2, runs(FULL, 0.2, 0.2))
    assert better_anew(known, SCANNED, 0.2, 0.2) is None, "a tenth of a second is not noticed"
    shaky = Correction()
    for i in range(12):
        shaky = shaky.after(FULL, 10, 10).after(SCANNED, 16 if i % 2 else 6, 10)
    steady = runs(SCANNED, 11.5, 10, runs(FULL, 10, 10))
    assert shaky.expected(SCANNED, 10) > 11.5
    assert better_anew(steady, SCANNED, 10, 10) is not None
    assert better_anew(shaky, SCANNED, 10, 10) is None


def test_kinds_in_words() -> None:
    assert [words(k) for k in (FULL, SCANNED, LOOKED_UP)] == [
        "from scratch",
        "changes worked in, tables scanned",
        "changes worked in, rows looked up in 2 large tables",
    ]


seconds = st.floats(0.001, 1e4)


@settings(deadline=None)
@given(seconds, seconds, seconds, seconds, seconds)
def test_a_lower_price_never_makes_computing_anew_better(
    full: float, changes: float, now: float, other: float, anew: float
) -> None:
    known = Correction().after(FULL, full, 1.0).after(SCANNED, changes, 1.0)
    if better_anew(known, SCANNED, min(now, other), anew) is not None:
        assert better_anew(known, SCANNED, max(now, other), anew) is not None
        by_runs = known.expected(SCANNED, min(now, other)) > known.expected(FULL, anew) + LEAST
        assert by_runs or min(now, other) > anew + LEAST


def test_every_run_counts_as_much_as_all_before_it() -> None:
    known = runs(FULL, 2, 1).after(FULL, 8, 1)
    assert known.expected(FULL, 1) == pytest.approx(4, rel=0.01)
