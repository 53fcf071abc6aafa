"""The scheduler by examples; its laws on random nets are in test_scheduler_laws."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.errors import ConfigError, InternalError
from headrace.runtime.moment import Run
from headrace.runtime.net import Factory, Net
from headrace.runtime.policy import Policy
from headrace.runtime.retry import Retry
from headrace.runtime.scheduler import Scheduler


def scheduler(parallel: int = 4, **views: tuple[str, Policy]) -> Scheduler:
    net = Net({name: Factory(frozenset(inputs.split()), policy) for name, (inputs, policy) in views.items()})
    return Scheduler(net, 0.0, parallel=parallel, retry=Retry(first=4, most=10))


def due(s: Scheduler, now: float) -> list[str]:
    return [f.view for f in s.due(now)]


def ready(s: Scheduler, now: float) -> list[str]:
    return [f.view for f in s.ready(now)]


def run(s: Scheduler, view: str, start: float, end: float, rows: int | None = 1) -> None:
    s.ready(start)
    s.started(view, start)
    s.finished(view, end, published=rows != 0, rows=rows)


def chain() -> Scheduler:
    return scheduler(low=("sales", hr.on_change()), top=("low sales", hr.on_change()))


def test_a_view_is_due_when_its_policy_says_so_and_says_why() -> None:
    s = scheduler(view=("sales", hr.after_rows(10)))
    s.arrived("sales", 9)
    assert due(s, 1) == []
    s.arrived("sales", 3)
    (firing,) = s.ready(2)
    assert (firing.view, firing.since, firing.why) == ("view", 2, "12 rows wait (after 10)")


def test_downstream_waits_for_upstream_that_is_due_in_the_same_wave() -> None:
    s = chain()
    s.arrived("sales", 1)
    assert [(f.view, set(f.waits)) for f in s.due(0)] == [("low", set()), ("top", {"low"})]
    assert ready(s, 0) == ["low"]
    s.started("low", 0)
    assert ready(s, 1) == []
    s.finished("low", 2, published=True)
    assert ready(s, 2) == ["top"]


def test_a_downstream_view_does_not_wait_for_upstream_that_is_not_due() -> None:
    s = scheduler(low=("sales", hr.every("1 h")), top=("low sales", hr.on_change()))
    run(s, "low", 0, 1)
    s.arrived("sales", 1)
    assert ready(s, 2) == ["top"]


def test_a_view_that_upstream_makes_due_joins_the_wave() -> None:
    """top reads sales too, so it is due from the beginning; mid becomes due only by what low publishes."""
    s = scheduler(low=("sales", hr.on_change()), mid=("low", hr.on_change()), top=("mid sales", hr.on_change()))
    s.arrived("sales", 1)
    assert ready(s, 0) == ["low"]
    run(s, "low", 0, 1)
    assert ready(s, 1) == ["mid"]
    run(s, "mid", 1, 2)
    assert ready(s, 2) == ["top"]
    run(s, "top", 2, 3)
    assert due(s, 3) == []


def test_upstream_that_is_always_due_holds_a_wave_up_once_only() -> None:
    s = chain()
    s.arrived("sales", 1)
    assert ready(s, 0) == ["low"]
    s.started("low", 0)
    s.arrived("sales", 1)
    s.finished("low", 2, published=True)
    assert set(ready(s, 2)) == {"low", "top"}


def test_a_run_that_began_before_the_wave_does_not_end_the_wait() -> None:
    """It cannot hold what made the downstream view due."""
    s = scheduler(low=("sales", hr.on_change()), top=("low sales", hr.after_rows(2, source="sales")))
    s.arrived("sales", 1)
    s.ready(0)
    s.started("low", 0)
    s.arrived("sales", 1)
    assert due(s, 1) == ["top"]
    s.finished("low", 2, published=True)
    assert ready(s, 2) == ["low"]
    run(s, "low", 2, 3)
    assert ready(s, 3) == ["top"]


def test_failed_upstream_does_not_hold_up_downstream() -> None:
    s = chain()
    s.arrived("sales", 1)
    s.ready(0)
    s.started("low", 0)
    s.failed("low", 1)
    assert ready(s, 1) == ["top"]


def test_independent_views_run_side_by_side_up_to_the_limit_the_oldest_first() -> None:
    s = scheduler(parallel=2, a=("x", hr.on_change()), b=("y", hr.on_change()), c=("z", hr.on_change()))
    s.arrived("z", 1)
    assert due(s, 0) == ["c"]
    s.arrived("x", 1)
    s.arrived("y", 1)
    assert ready(s, 1) == ["c", "a"]
    s.started("c", 1)
    s.started("a", 1)
    assert ready(s, 2) == []
    s.arrived("z", 1)
    s.finished("c", 3, published=False)
    assert ready(s, 3) == ["b"]


def test_a_running_view_is_not_started_again() -> None:
    s = scheduler(view=("sales", hr.on_change()))
    s.arrived("sales", 1)
    s.ready(0)
    s.started("view", 0)
    s.arrived("sales", 1)
    assert due(s, 1) == []
    with pytest.raises(InternalError) as refused:
        s.started("view", 1)
    assert refused.value.code == "NOT_READY"


def test_only_what_is_ready_may_start() -> None:
    s = chain()
    s.arrived("sales", 1)
    s.due(0)
    with pytest.raises(InternalError):
        s.started("top", 0)  # waits for low
    s = scheduler(parallel=1, a=("x", hr.on_change()), b=("x", hr.on_change()), c=("y", hr.on_change()))
    s.arrived("x", 1)
    s.due(0)
    with pytest.raises(InternalError):
        s.started("c", 0)  # not due
    s.started("a", 0)
    with pytest.raises(InternalError):
        s.started("b", 0)  # no place
    with pytest.raises(InternalError) as refused:
        s.finished("b", 0, published=False)
    assert refused.value.code == "NOT_RUNNING"


def test_what_arrives_during_a_run_waits_for_the_next() -> None:
    s = scheduler(view=("sales", hr.after_rows(5)))
    s.arrived("sales", 6)
    s.ready(0)
    s.started("view", 0)
    s.arrived("sales", 4)
    s.finished("view", 1, published=True)
    assert s.moment("view", 1).unread == {"sales": 4}
    assert due(s, 1) == []
    s.arrived("sales", 1)
    assert due(s, 2) == ["view"]


def test_a_run_that_fails_consumes_nothing() -> None:
    s = scheduler(view=("sales", hr.on_change()))
    s.arrived("sales", 6)
    s.ready(0)
    s.started("view", 0)
    s.failed("view", 1)
    assert s.moment("view", 1).unread == {"sales": 6}


def test_a_run_that_read_further_says_so_and_nothing_is_counted_twice() -> None:
    s = scheduler(view=("sales", hr.on_change()), other=("sales", hr.on_demand()))
    s.arrived("sales", 6, position=10)
    s.ready(0)
    s.started("view", 0)
    s.finished("view", 1, published=True, read={"sales": 12})
    s.arrived("sales", 3, position=12)
    assert s.moment("view", 2).unread == {"sales": 0}
    assert due(s, 2) == []
    assert s.moment("other", 2).unread == {"sales": 9}
    s.arrived("sales", 5, position=13)
    assert s.moment("view", 2).unread == {"sales": 5}


def test_a_failed_view_is_tried_again_after_pauses_that_grow_to_a_limit() -> None:
    s = scheduler(view=("sales", hr.on_change()))
    s.arrived("sales", 1)
    now = 0.0
    for pause in (4, 8, 10, 10):
        s.ready(now)
        s.started("view", now)
        s.failed("view", now + 1)
        assert due(s, now + 1) == []
        assert s.wake(now + 1) == now + 1 + pause
        assert due(s, now + pause) == []
        now += 1 + pause
        assert due(s, now) == ["view"]
    run(s, "view", now, now)
    s.arrived("sales", 1)
    assert due(s, now) == ["view"]


def test_a_failed_view_runs_at_once_when_somebody_asks() -> None:
    s = scheduler(view=("sales", hr.every(5)))
    s.ready(0)
    s.started("view", 0)
    s.failed("view", 1)
    assert due(s, 1) == []
    s.asked("view")
    assert [f.why for f in s.ready(1)] == ["asked for"]


def test_a_demand_is_answered_by_a_run_that_begins_after_it() -> None:
    s = scheduler(view=("sales", hr.on_demand()))
    s.asked("view")
    s.ready(0)
    s.started("view", 0)
    s.asked("view")
    s.finished("view", 1, published=False)
    assert ready(s, 1) == ["view"]
    run(s, "view", 1, 2)
    assert due(s, 2) == []


def test_the_scheduler_sleeps_until_the_first_policy_by_the_clock() -> None:
    s = scheduler(a=("x", hr.every(60)), b=("x", hr.every(100)), c=("x", hr.on_change()))
    assert s.wake(0) == 0
    s.ready(0)
    s.started("a", 0)
    s.started("b", 0)
    assert s.wake(1) is None  # only an event can tell
    s.finished("a", 2, published=False)
    s.finished("b", 3, published=False)
    assert s.wake(3) == 60


def test_a_clock_that_is_set_back_holds_nobody_up() -> None:
    s = scheduler(view=("x", hr.every(60)), broken=("x", hr.on_change()))
    s.arrived("x", 1)
    s.ready(5000)
    s.started("view", 5000)
    s.started("broken", 5000)
    s.finished("view", 5001, published=False)
    s.failed("broken", 5001)
    assert due(s, 5002) == []
    assert due(s, 1000) == ["view", "broken"]


def test_a_deadline_uses_what_runs_take() -> None:
    s = scheduler(view=("x", hr.deadline("01:00", margin=0)))
    assert s.wake(0) == 3600
    s.expect("view", 600)
    assert s.wake(0) == 3000
    s.ready(3000)
    s.started("view", 3000)
    s.finished("view", 3100, published=False)
    s.expect("view", None)
    assert s.wake(3100) == 3600 + 86_400 - 100


def test_a_view_goes_on_where_an_earlier_scheduler_left_it() -> None:
    s = scheduler(view=("sales", hr.every(60) | hr.on_change()))
    s.resume("view", Run(-20, -10), {"sales": 7}, expected=3)
    s.arrived("sales", 5, position=7)
    assert due(s, 0) == []
    assert s.wake(0) == 40
    s.arrived("sales", 5, position=8)
    assert s.moment("view", 0).unread == {"sales": 5}
    assert due(s, 0) == ["view"]


def test_a_source_that_no_view_reads_may_move() -> None:
    s = scheduler(view=("sales", hr.on_change()))
    s.arrived("other", 5)
    assert due(s, 0) == []


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        scheduler(parallel=0)
    assert refused.value.code == "PARALLEL"
    with pytest.raises(ConfigError) as refused:
        Retry(first=0)
    assert refused.value.code == "RETRY"
    with pytest.raises(ConfigError) as refused:
        scheduler().asked("nobody")
    assert refused.value.code == "VIEW_UNKNOWN"
