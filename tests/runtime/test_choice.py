"""Working changes in against computing anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.choice import FULL, Experience, incremental

SCANNED, LOOKED_UP = incremental(0), incremental(2)


def test_nothing_known_nothing_chosen() -> None:
    assert Experience().better_anew(SCANNED, 10**9, 10**9) is None


def test_a_kind_that_loses_is_left() -> None:
    known = Experience().after(FULL, 10, 1_000_000).after(SCANNED, 30, 10)

    assert known.better_anew(SCANNED, 10, 1_000_000) == "about 10.0 s, by earlier runs, against 30.0 s"
    assert known.better_anew(LOOKED_UP, 10, 1_000_000) is None, "what was not tried is tried"


def test_one_that_wins_is_kept_until_changes_are_many() -> None:
    known = Experience().after(FULL, 10, 1_000_000).after(SCANNED, 2, 10)

    assert known.better_anew(SCANNED, 10, 1_000_000) is None
    assert known.better_anew(SCANNED, 200, 1_000_000) is not None


def test_small_changes_are_tried_again_after_large_ones() -> None:
    known = Experience().after(FULL, 10, 1_000_000).after(SCANNED, 100, 500_000)

    assert known.better_anew(SCANNED, 500_000, 1_000_000) is not None
    assert known.better_anew(SCANNED, 5000, 1_000_000) is None


def test_more_than_half_is_computed_anew_where_nothing_else_is_known() -> None:
    known = Experience().after(FULL, 10, 1_000_000)

    assert known.better_anew(SCANNED, 400_000, 1_000_000) is None
    assert known.better_anew(SCANNED, 900_000, 1_000_000) == "900,000 of 1,000,000 rows are changes"


def test_small_differences_decide_nothing() -> None:
    known = Experience().after(FULL, 0.2, 1_000_000).after(SCANNED, 1.9, 10)

    assert known.better_anew(SCANNED, 10, 1_000_000) is None


def test_of_few_rows_seconds_tell_nothing() -> None:
    known = Experience().after(FULL, 1, 1000).after(SCANNED, 60, 10)

    assert known.better_anew(SCANNED, 10, 1000) is None


def test_alternatives_are_told_with_what_they_cost() -> None:
    assert Experience().alternatives(5, 100) == []
    known = Experience().after(FULL, 10, 1_000_000).after(SCANNED, 4, 1_000).after(incremental(2), 1, 1_000)

    told = known.alternatives(2_000, 2_000_000)
    assert [(c["plan"], c["rows"], c["seconds"]) for c in told] == [
        ("changes worked in, rows looked up in 2 large tables", 2_000, 2),
        ("changes worked in, tables scanned", 2_000, 8),
        ("from scratch", 2_000_000, 20),
    ]
    assert known.alternatives(None, 2_000_000)[0]["rows"] == 1_000, "as many as the last runs had"


seconds = st.floats(0.001, 1e4)
rows = st.integers(0, 10**9)


@given(seconds, rows, seconds, rows, rows, rows)
def test_fewer_changes_never_make_computing_anew_better(
    full: float, base: int, incremental: float, delta: int, now: int, fewer: int
) -> None:
    known = Experience().after(FULL, full, base).after(SCANNED, incremental, delta)
    if known.better_anew(SCANNED, min(now, fewer), base) is not None:
        assert known.better_anew(SCANNED, max(now, fewer), base) is not None
