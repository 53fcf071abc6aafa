"""Timelines and problems refuse what cannot be, with a code and a hint."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from headrace.errors import ConfigError
from headrace.ir.timeline import REFRESH, Run, Timeline, runs
from headrace.planner.problem import Arriving, Goal, Latest, Problem, progressive, refresh


def test_a_progressive_timeline() -> None:
    timeline = runs(["14:00", "19:00", "24:00"], weights=[0.25, 0.3, 1])
    assert timeline.runs == (
        Run("14:00", 0.25, False, 14 * 60),
        Run("19:00", 0.3, False, 5 * 60),
        Run("24:00", 1.0, True, 5 * 60),
    )
    assert timeline.rest(2).runs == (Run("24:00", 1.0, True, 5 * 60),)
    assert str(timeline).endswith("24:00 (weight 1, delivers)")


def test_how_long_data_comes_for_each_run() -> None:
    assert [r.span for r in runs(["0:00", "6:00", "24:00"]).runs] == [12 * 60, 6 * 60, 18 * 60]
    assert [r.span for r in runs([2, 3, 7]).runs] == [2, 1, 4]
    assert [r.span for r in runs(["2025-01-01", "2025-01-02", "2025-01-05"]).runs] == [2 * 86400, 86400, 3 * 86400]
    assert [r.span for r in runs(["14:00", "19:00", "24:00"]).without(0).runs] == [19 * 60, 5 * 60]


def test_a_timeline_may_say_in_what_parts_rows_come() -> None:
    timeline = runs([1, 2, 3], arrivals={"sales": [14, 5, 4], "items": [1, 0, 0]})
    assert [(r.part("sales"), r.part("items"), r.part("other")) for r in timeline.runs] == [
        (14, 1, None),
        (5, 0, None),
        (4, 0, None),
    ]
    assert [r.part("sales") for r in timeline.without(1).runs] == [14, 9]


def test_every_run_or_some_may_deliver() -> None:
    assert [r.delivers for r in runs([1, 2], deliver="every").runs] == [True, True]
    assert [r.delivers for r in runs([1, 2, 3], deliver=[1, 3]).runs] == [True, False, True]


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(["2025-01-01 10:00", "2025-01-02"], id="dates"),
        pytest.param([datetime(2025, 1, 1), datetime(2025, 1, 2)], id="moments"),
        pytest.param([0, 0.5, 2], id="numbers"),
        pytest.param(["0:00", "24:00"], id="a day"),
    ],
)
def test_times_of_one_kind_that_rise(times: list[Any]) -> None:
    assert len(runs(times)) == len(times)


@pytest.mark.parametrize(
    ("times", "more", "code"),
    [
        ([], {}, "TIMELINE"),
        ("14:00", {}, "TIMELINE"),
        (["19:00", "14:00"], {}, "TIMELINE"),
        (["14:00", "14:00"], {}, "TIMELINE"),
        (["24:01"], {}, "TIMELINE"),
        (["noon"], {}, "TIMELINE"),
        ([float("nan")], {}, "TIMELINE"),
        ([True], {}, "TIMELINE"),
        (["14:00", 15], {}, "TIMELINE"),
        ([datetime(2025, 1, 1), datetime(2025, 1, 2, tzinfo=timezone.utc)], {}, "TIMELINE"),
        ([1, 2], {"weights": [1]}, "WEIGHTS"),
        ([1, 2], {"weights": [1, 0]}, "WEIGHTS"),
        ([1, 2], {"weights": [1, -1]}, "WEIGHTS"),
        ([1, 2], {"weights": [1, float("inf")]}, "WEIGHTS"),
        ([1, 2], {"weights": [1, "2"]}, "WEIGHTS"),
        ([1, 2], {"deliver": "first"}, "DELIVER"),
        ([1, 2], {"deliver": [3]}, "DELIVER"),
        ([1, 2], {"deliver": [1]}, "DELIVER"),
        ([1, 2], {"arrivals": {"sales": [1]}}, "ARRIVALS"),
        ([1, 2], {"arrivals": {"sales": [1, -1]}}, "ARRIVALS"),
        ([1, 2], {"arrivals": {"sales": [0, 0]}}, "ARRIVALS"),
        ([1, 2], {"arrivals": {"sales": "ab"}}, "ARRIVALS"),
        ([1, 2], {"arrivals": {"sales": [1, float("nan")]}}, "ARRIVALS"),
    ],
)
def test_what_cannot_be_a_timeline(times: Any, more: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError) as raised:
        runs(times, **more)
    assert raised.value.code == code
    assert raised.value.hint


def test_a_timeline_by_hand_is_held_to_the_same() -> None:
    for made in (lambda: Timeline(()), lambda: Timeline((Run("a"), Run("b")), steady=True)):
        with pytest.raises(ConfigError, match="TIMELINE"):
            made()
    with pytest.raises(ConfigError, match="delivers nothing"):
        Timeline((Run("a", 1.0, False),))


def test_data_must_add_up() -> None:
    timeline = runs([1, 2])
    assert Problem(timeline, ({"s": Arriving(0, 4)}, {"s": Arriving(4, 3)})).situation(1).moved == {"s"}
    with pytest.raises(ConfigError, match="ARRIVALS"):
        Problem(timeline, ({"s": Arriving(0, 4)}, {"s": Arriving(5, 3)}))
    with pytest.raises(ConfigError, match="ARRIVALS"):
        Problem(timeline, ({"s": Arriving(0, 4)},))
    with pytest.raises(ConfigError, match="ARRIVALS"):
        Arriving(3, deletes=4)
    with pytest.raises(ConfigError, match="ARRIVALS"):
        Arriving(-1)


def test_a_situation_follows_from_the_data() -> None:
    problem = refresh({"s": Arriving(10, 1), "t": Arriving(10, 0, 1), "u": Arriving(5)})
    assert problem.timeline is REFRESH
    assert problem.situation(0).moved == {"s", "t"}
    assert problem.situation(0).shrinking == {"t"}
    problem = progressive(runs([1, 2]), [{"s": 4}, {"s": 3, "t": 1}])
    assert problem.data[1] == {"s": Arriving(4, 3), "t": Arriving(0, 1)}


def test_goals_order_costs() -> None:
    timeline = runs([1, 2], weights=[0.2, 1])
    assert Goal().total(timeline, [9, 10]) == pytest.approx(11.8)
    late = Goal(latest_first=True)
    assert late.total(timeline, [100, 1]) < late.total(timeline, [0, 2])  # type: ignore[operator]
    assert late.total(timeline, [1, 2]) < late.total(timeline, [2, 2])  # type: ignore[operator]
    assert Latest((1.0, 2.0)) + Latest((0.5, 1.0)) == Latest((1.5, 3.0))
    with pytest.raises(ConfigError, match="GOAL"):
        Goal(last=0)


def test_a_run_that_is_left_out_leaves_its_data_to_the_next() -> None:
    timeline = runs([1, 2, 3], weights=[2, 3, 4])
    data = (
        {"t": Arriving(10, 5, 1, 2), "only before": Arriving(1, 1)},
        {"t": Arriving(13, 7, 2, 1), "only after": Arriving(0, 4)},
        {"t": Arriving(19, 1)},
    )
    problem = Problem(timeline, data, begun=True)
    later = problem.without(0)
    assert later.timeline == timeline.without(0)
    assert [(r.name, r.span) for r in later.timeline.runs] == [("2", 2.0), ("3", 1.0)]
    assert later.begun
    assert later.data == (
        {"t": Arriving(10, 12, 3, 3), "only before": Arriving(1, 1), "only after": Arriving(0, 4)},
        {"t": Arriving(19, 1)},
    )
    last = problem.without(1)
    assert [r.weight for r in last.timeline.runs] == [2, 4]
    assert last.data == (data[0], {"t": Arriving(13, 8, 2, 1), "only after": Arriving(0, 4)})
