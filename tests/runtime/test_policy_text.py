"""Policies in settings: what is read, what is refused, and that what is written is read back."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import ConfigError
from headrace.runtime.policy import Policy
from headrace.runtime.policy_text import parse

from .draw import policies


@given(policies)
def test_what_is_written_is_read_back(policy: Policy) -> None:
    assert parse(str(policy)) == policy


@given(st.text(), st.text())
def test_any_name_is_read_back(a: str, b: str) -> None:
    policy = hr.after_rows(5, source=a) | hr.downstream_of(a, b)
    assert parse(str(policy)) == policy


@given(st.floats(1e-6, 1e9), st.floats(0, 1e9), st.sampled_from(("UTC", "Europe/Berlin", "Etc/GMT+5")))
def test_any_length_and_zone_is_read_back(length: float, margin: float, zone: str) -> None:
    policy = hr.every(length) & hr.deadline("07:05", zone=zone, margin=margin) & hr.cron("5 4 * * SUN", zone=zone)
    assert parse(str(policy)) == policy


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("every 10 min | after_rows 100000", hr.every("10 min") | hr.after_rows(100_000)),
        ("cron */5 * * * *", hr.cron("*/5 * * * *")),
        ("on_change & every 30 s", hr.on_change() & hr.every(30)),
        (" EVERY\t1h30m\n|on_demand", hr.every(5400) | hr.on_demand()),
        ("on_demand | on_change & every 1 s", hr.on_demand() | hr.on_change() & hr.every(1)),
        ("(on_demand | on_change) & every 1 s", (hr.on_demand() | hr.on_change()) & hr.every(1)),
        ("((on_change))", hr.on_change()),
        ("after_rows 10_000 of sales", hr.after_rows(10_000, source="sales")),
        ('after_rows 1 of "a ""b"" | (c"', hr.after_rows(1, source='a "b" | (c')),
        ("downstream_of", hr.downstream_of()),
        ('downstream_of a, "b, c"', hr.downstream_of("a", "b, c")),
        ("cron 0 6 * * MON-FRI in Europe/Berlin", hr.cron("0 6 * * MON-FRI", zone="Europe/Berlin")),
        ("deadline 8:00 in Asia/Tokyo margin 0 s", hr.deadline("08:00", zone="Asia/Tokyo", margin=0)),
    ],
)
def test_a_text_that_is_understood(text: str, policy: Policy) -> None:
    assert parse(text) == policy


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "POLICY"),
        ("sometimes", "POLICY"),
        ("every 10 min |", "POLICY"),
        ("| every 10 min", "POLICY"),
        ("every 10 min on_change", "DURATION"),
        ("(every 10 min", "POLICY"),
        ("every 10 min)", "POLICY"),
        ('every("10 min")', "POLICY"),
        ("on_change now", "POLICY"),
        ("after_rows", "POLICY"),
        ("after_rows ten", "POLICY"),
        ("after_rows 0", "ROWS"),
        ("after_rows 10 of", "POLICY"),
        ('after_rows 10 of "sales', "POLICY"),
        ('after_rows 10 of sales"', "POLICY"),
        ("downstream_of a b", "POLICY"),
        ("every", "POLICY"),
        ("every 10 parsecs", "DURATION"),
        ("cron * *", "CRON"),
        ("cron * * * * * in Mars", "ZONE"),
        ("deadline noon", "HOUR"),
        ("__import__('os')", "POLICY"),
    ],
)
def test_a_text_that_is_refused(text: str, code: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert refused.value.code == code


@given(st.text(alphabet='every on_change()|&" 10smin', max_size=30))
def test_any_text_is_a_policy_or_an_error_with_a_code(text: str) -> None:
    with suppress(ConfigError):
        assert isinstance(parse(text), Policy)
