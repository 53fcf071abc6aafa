"""Lengths of time as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.runtime.duration import seconds, show


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 s", 5),
        ("10 min", 600),
        ("10m", 600),
        ("2 h", 7200),
        ("1 day", 86_400),
        ("2 Weeks", 1_209_600),
        ("1 h 30 min", 5400),
        ("1h30m", 5400),
        ("1.5 h", 5400),
        ("0.1 s", 0.1),
        ("250 ms", 0.25),
        (90, 90),
        (0.5, 0.5),
        (timedelta(minutes=3), 180),
    ],
)
def test_a_length_that_is_understood(text: str | float | timedelta, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "10", "min", "10 parsecs", "ten min", "-5 s", "5 s -", "1e3 s", "0 s", "99999 days", "5 s, 3 s", "٣ s"),
        *(0, -1, float("nan"), float("inf"), True, None, timedelta(0)),
    ],
)
def test_a_length_that_is_refused(text: object) -> None:
    with pytest.raises(ConfigError) as refused:
        seconds(text)  # type: ignore[arg-type]
    assert refused.value.code == "DURATION"


def test_no_length_only_where_it_is_allowed() -> None:
    assert seconds("0 s", zero=True) == 0


@pytest.mark.parametrize(
    ("length", "text"),
    [(600, "10 min"), (5400, "90 min"), (90, "90 s"), (172_800, "2 day"), (0.5, "0.5 s"), (0, "0 s")],
)
def test_a_length_is_shown_in_its_largest_whole_unit(length: float, text: str) -> None:
    assert show(length) == text


@given(st.floats(0, 1e9) | st.integers(0, 10**9).map(float))
def test_what_is_shown_is_read_back(length: float) -> None:
    assert seconds(show(length), zero=True) == length
