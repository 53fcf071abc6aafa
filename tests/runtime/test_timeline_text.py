"""Timelines as text."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.runtime.timeline_text import at_its_times, parse_timeline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24:00", hr.runs(["24:00"])),
        ("14:00 x0.25, 19:00 x0.3, 24:00", hr.runs(["14:00", "19:00", "24:00"], weights=[0.25, 0.3, 1])),
        ("14:00 X 2 deliver, 24:00 x3", hr.runs(["14:00", "24:00"], weights=[2, 3], deliver="every")),
        ("14:00 deliver,19:00,24:00", hr.runs(["14:00", "19:00", "24:00"], deliver=["14:00", "24:00"])),
        (
            "2025-01-31 14:00 x0.5, 2025-02-01 02:00",
            hr.runs(["2025-01-31 14:00", "2025-02-01 02:00"], weights=[0.5, 1]),
        ),
    ],
)
def test_what_is_written_is_meant(text: str, expected: object) -> None:
    assert parse_timeline(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "TIMELINE"),
        ("14:00,,24:00", "TIMELINE"),
        ("14:00, 13:00", "TIMELINE"),
        ("soon", "TIMELINE"),
        ("14:00 xmuch, 24:00", "WEIGHTS"),
        ("14:00 x0, 24:00", "WEIGHTS"),
        ("14:00 x-1, 24:00", "WEIGHTS"),
    ],
)
def test_what_is_no_timeline_is_refused(text: str, code: str) -> None:
    with pytest.raises(hr.ConfigError) as caught:
        parse_timeline(text)
    assert caught.value.code == code


def test_times_of_a_day_say_when_runs_are_due() -> None:
    due = at_its_times(hr.runs(["14:05", "24:00"]))
    assert due == hr.cron("5 14 * * *") | hr.cron("0 0 * * *")
    assert at_its_times(hr.runs([1, 2])) is None
    assert at_its_times(hr.runs(["2025-01-31 14:00"])) is None
