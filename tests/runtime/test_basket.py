"""Rows at positions: what is unread, for each reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime import basket
from headrace.runtime.basket import Basket


def test_what_came_after_a_position_is_unread_there() -> None:
    b = Basket()
    b.add(10)
    b.add(5)
    assert [b.unread(after) for after in (0, 1, 2)] == [15, 5, 0]
    assert [b.changed(after) for after in (0, 1, 2)] == [True, True, False]


def test_rows_that_nobody_counted_are_a_change() -> None:
    b = Basket()
    b.add(None)
    assert b.changed(0)
    assert b.unread(0) == 0


def test_no_rows_are_no_change() -> None:
    b = Basket()
    b.add(0)
    assert not b.changed(0)


def test_a_position_that_is_told_twice_counts_once() -> None:
    b = Basket()
    b.add(10, position=7)
    b.add(10, position=7)
    b.add(3, position=6)
    assert b.unread(0) == 10


def test_what_a_reader_was_ahead_of_is_not_unread_when_it_is_told() -> None:
    b = Basket()
    b.add(10, position=3)
    assert b.unread(3) == 0
    assert b.unread(2) == 10


def test_a_reader_that_never_reads_does_not_fill_the_memory() -> None:
    b = Basket()
    for _ in range(basket.LIMIT + 1):
        b.add(1)
    b.settle({0, 500})
    assert len(b) == 2
    assert b.unread(0) == basket.LIMIT + 1
    assert b.unread(500) == basket.LIMIT + 1 - 500


@given(st.lists(st.none() | st.integers(0, 9), max_size=30), st.sets(st.integers(0, 30), min_size=1))
def test_settling_changes_nothing_for_any_mark(rows: list[int | None], marks: set[int]) -> None:
    b, limit = Basket(), basket.LIMIT
    for r in rows:
        b.add(r)
    before = {m: (b.unread(m), b.changed(m)) for m in marks}
    try:
        basket.LIMIT = 3
        b.settle(marks)
    finally:
        basket.LIMIT = limit
    assert {m: (b.unread(m), b.changed(m)) for m in marks} == before
    assert len(b) <= max(3, len(marks))
