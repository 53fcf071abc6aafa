"""Each policy by examples, and every one against an oracle that reads its words in another way."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import ConfigError
from headrace.runtime.moment import Moment, Run
from headrace.runtime.policy import Policy

from .draw import BEGIN, DAY, expected_due, moments, policies, single

BERLIN = ZoneInfo("Europe/Berlin")


def at(now: float, ran: float | None = None, **more: object) -> Moment:
    return replace(Moment(now, None if ran is None else Run(ran, ran), since=0.0), **more)  # type: ignore[arg-type]


def berlin(*when: int, fold: int = 0) -> float:
    return datetime(*when, tzinfo=BERLIN, fold=fold).timestamp()  # type: ignore[arg-type, misc]


# Laws


@given(single | policies, moments())
@settings(max_examples=600)
def test_due_is_what_the_words_say(policy: Policy, moment: Moment) -> None:
    assert policy.due(moment) == expected_due(policy, moment)


@given(policies, moments(), st.data())
@settings(max_examples=300)
def test_next_is_sound_and_due_lasts(policy: Policy, moment: Moment, data: st.DataObject) -> None:
    """By the clock alone: never due before next, due at next unless a clock that was set back catches up, then on."""
    at = policy.next(moment)
    assert (at is not None and at <= moment.now) == policy.due(moment)
    if at is None or at > moment.now:
        end = moment.now + 3 * DAY if at is None else at
        times = data.draw(st.lists(st.floats(moment.now, end, exclude_max=at is not None), max_size=5))
        for t in (*times, end - 1e-3) if end - 1e-3 > moment.now else times:
            assert not policy.due(replace(moment, now=t)), f"due at {t}, {at} was promised"
    caught_up = all(t is None or t <= moment.now for t in (moment.since, moment.last and moment.last.started))
    if at is not None and caught_up:
        for late in (0.0, *data.draw(st.lists(st.floats(0, 3 * DAY), max_size=3))):
            assert policy.due(replace(moment, now=at + late))


@given(policies, policies, policies, moments())
def test_either_and_both_are_commutative_associative_and_idempotent(a: Policy, b: Policy, c: Policy, m: Moment) -> None:
    for left, right in (
        (a | b, b | a),
        (a & b, b & a),
        ((a | b) | c, a | (b | c)),
        ((a & b) & c, a & (b & c)),
        (a | a, a),
        (a & a, a),
        (a & (b | c), (a & b) | (a & c)),
        (a | (a & b), a),
    ):
        assert left.due(m) == right.due(m)
        assert left.next(m) == right.next(m)


@given(single, single, single)
def test_chains_are_flat_and_hold_each_part_once(a: Policy, b: Policy, c: Policy) -> None:
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)
    assert a | b | a == a | b


@given(policies, moments())
def test_why_says_something(policy: Policy, moment: Moment) -> None:
    assert policy.why(moment).strip()


@given(policies)
def test_repr_is_python(policy: Policy) -> None:
    assert eval(repr(policy), {n: getattr(hr, n) for n in hr.__all__}) == policy


# Every


def test_every_is_due_its_length_after_the_last_run_began() -> None:
    policy = hr.every("10 min")
    assert not policy.due(at(1599, ran=1000))
    assert policy.due(at(1600, ran=1000))
    assert policy.next(at(1000, ran=1000)) == 1600
    assert policy.due(at(99_999, ran=1000))
    assert policy.why(at(1660, ran=1000)) == "11 min since the last run (every 10 min)"


def test_every_is_due_at_once_where_there_was_no_run() -> None:
    assert hr.every("10 min").due(at(0))


def test_every_counts_from_the_beginning_of_a_run_not_from_its_end() -> None:
    assert hr.every("10 min").due(Moment(1600, Run(1000, 1500)))
    assert not hr.every("10 min").due(Moment(1600, Run(1001, 1500)))


def test_a_clock_that_was_set_back_holds_up_no_view() -> None:
    """Twins: an hour back it is due at once, and after that run as ever; without the jump it waits."""
    policy = hr.every("10 min")
    assert policy.due(at(6400, ran=10_000))
    assert not policy.due(at(6500, ran=6400))
    assert policy.due(at(7000, ran=6400))
    assert not policy.due(at(10_100, ran=10_000))
    assert hr.cron("0 6 * * *").due(at(BEGIN, ran=BEGIN + 9 * DAY))
    assert hr.deadline("08:00").due(at(BEGIN, ran=BEGIN + 9 * DAY))


# Rows and changes


def test_after_rows_counts_all_inputs_or_one() -> None:
    moment = at(0, unread={"sales": 700, "items": 503})
    assert hr.after_rows(1203).due(moment)
    assert not hr.after_rows(1204).due(moment)
    assert hr.after_rows(700, source="sales").due(moment)
    assert not hr.after_rows(700, source="items").due(moment)
    assert hr.after_rows(1000).why(moment) == "1,203 rows wait (after 1,000)"
    assert hr.after_rows(1, source="other").next(moment) is None


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "10"])
def test_after_no_number_of_rows_is_refused(rows: object) -> None:
    with pytest.raises(ConfigError) as refused:
        hr.after_rows(rows)  # type: ignore[arg-type]
    assert refused.value.code == "ROWS"


def test_on_change_is_due_also_when_nobody_counted_the_rows() -> None:
    assert hr.on_change().due(at(0, changed=frozenset({"sales"})))
    assert not hr.on_change().due(at(0))


def test_downstream_of_looks_at_the_views_it_names_or_at_all() -> None:
    moment = at(0, changed=frozenset({"daily", "sales"}), published=frozenset({"daily"}))
    assert hr.downstream_of().due(moment)
    assert hr.downstream_of("weekly", "daily").due(moment)
    assert not hr.downstream_of("weekly").due(moment)
    assert not hr.downstream_of("sales").due(moment)  # a source does not publish


def test_on_demand_is_due_only_when_asked() -> None:
    assert hr.on_demand().due(at(0, asked=True))
    assert not hr.on_demand().due(at(0, changed=frozenset({"sales"})))


def test_both_is_due_when_both_hold_at_the_same_moment() -> None:
    policy = hr.every("10 min") & hr.after_rows(1000)
    rows = {"sales": 1000}
    assert not policy.due(at(1599, ran=1000, unread=rows))
    assert policy.next(at(1599, ran=1000, unread=rows)) == 1600
    assert not policy.due(at(9999, ran=1000, unread={"sales": 999}))
    assert policy.next(at(9999, ran=1000, unread={"sales": 999})) is None
    assert policy.due(at(9999, ran=1000, unread=rows))


def test_a_policy_joins_only_policies() -> None:
    with pytest.raises(TypeError):
        hr.every("10 min") | "on_change"


# Cron


def test_cron_is_due_when_an_hour_has_come_since_the_last_run() -> None:
    policy = hr.cron("0 6 * * *")
    six = BEGIN + 6 * 3600
    assert not policy.due(at(six - 1, ran=six - 100))
    assert policy.due(at(six, ran=six - 100))
    assert not policy.due(at(six + 1, ran=six))
    assert policy.next(at(six + 1, ran=six)) == six + DAY
    assert policy.due(at(six + 5 * DAY, ran=six))


def test_cron_waits_for_an_hour_where_the_view_came_only_now() -> None:
    policy = hr.cron("0 6 * * *")
    assert not policy.due(at(BEGIN + 60, since=BEGIN))
    assert policy.next(at(BEGIN + 60, since=BEGIN)) == BEGIN + 6 * 3600
    assert policy.due(at(BEGIN + 60, since=None))


def test_cron_reads_its_hours_in_its_zone() -> None:
    ran, now = berlin(2026, 7, 1, 5), berlin(2026, 7, 1, 6)
    assert hr.cron("0 6 * * *", zone="Europe/Berlin").due(at(now, ran=ran))
    assert not hr.cron("0 6 * * *").due(at(now, ran=ran))


def test_cron_in_the_hour_that_is_left_out_comes_after_it() -> None:
    policy = hr.cron("30 2 * * *", zone="Europe/Berlin")
    assert policy.next(at(berlin(2026, 3, 29, 1), ran=berlin(2026, 3, 29, 1))) == berlin(2026, 3, 29, 3)
    assert policy.next(at(berlin(2026, 3, 29, 3), ran=berlin(2026, 3, 29, 3))) == berlin(2026, 3, 30, 2, 30)


def test_cron_in_the_hour_that_comes_twice_is_served_by_one_run() -> None:
    policy = hr.cron("30 2 * * *", zone="Europe/Berlin")
    ran = berlin(2026, 10, 25, 2, 31)
    for now in (berlin(2026, 10, 25, 2, 59), berlin(2026, 10, 25, 2, 10, fold=1), berlin(2026, 10, 25, 2, 45, fold=1)):
        assert not policy.due(at(now, ran=ran))
    again = berlin(2026, 10, 25, 2, 15, fold=1)
    assert policy.next(at(again, ran=again)) == berlin(2026, 10, 26, 2, 30)


@pytest.mark.parametrize("text", ["", "* * * *", "61 * * * *", "0 0 31 2 *", "every day", "0 0 * * * * *"])
def test_cron_refuses_what_is_no_expression(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        hr.cron(text)
    assert refused.value.code == "CRON"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime"])
def test_a_zone_that_does_not_exist_is_refused(zone: str) -> None:
    for build in (lambda: hr.cron("* * * * *", zone=zone), lambda: hr.deadline("08:00", zone=zone)):
        with pytest.raises(ConfigError) as refused:
            build()
        assert refused.value.code == "ZONE"


# Deadlines


def test_a_deadline_is_due_as_early_as_a_run_and_its_margin_take() -> None:
    policy = hr.deadline("08:00", margin="10 min")
    eight = BEGIN + 8 * 3600
    begin = eight - 600 - 300
    assert policy.next(at(BEGIN, ran=BEGIN, expected=300)) == begin
    assert not policy.due(at(begin - 1, ran=BEGIN, expected=300))
    assert policy.due(at(begin, ran=BEGIN, expected=300))
    assert not policy.due(at(begin, ran=BEGIN, expected=299))


def test_a_run_in_time_serves_a_deadline_and_an_earlier_one_does_not() -> None:
    policy = hr.deadline("08:00", margin="10 min")
    eight = BEGIN + 8 * 3600
    assert not policy.due(at(eight, ran=eight - 600))
    assert policy.next(at(eight, ran=eight - 600)) == eight + DAY - 600
    assert policy.due(at(eight, ran=eight - 601))


def test_a_run_that_was_faster_than_thought_still_serves_its_deadline() -> None:
    policy = hr.deadline("08:00", margin="10 min")
    eight = BEGIN + 8 * 3600
    begin = eight - 600 - 3000
    moment = Moment(eight - 600, Run(begin, begin + 5, expected=3000), since=0.0, expected=5)
    assert not policy.due(moment)
    assert policy.due(replace(moment, last=Run(begin, begin + 5, expected=5)))  # its twin began too early


def test_a_deadline_that_was_missed_stays_due() -> None:
    eight = BEGIN + 8 * 3600
    assert hr.deadline("08:00").due(at(eight + 3600, ran=BEGIN))


def test_a_deadline_in_an_hour_that_clocks_leave_out_or_repeat_takes_the_earlier_reading() -> None:
    policy = hr.deadline("02:30", zone="Europe/Berlin", margin=0)
    ran = berlin(2026, 3, 28, 12)
    assert policy.next(at(ran, ran=ran)) == berlin(2026, 3, 29, 1, 30)
    ran = berlin(2026, 10, 24, 12)
    assert policy.next(at(ran, ran=ran)) == berlin(2026, 10, 25, 2, 30)


@pytest.mark.parametrize("hour", ["", "8", "24:00", "08:60", "8 am", "08:00:00"])
def test_a_deadline_refuses_what_is_no_time_of_day(hour: str) -> None:
    with pytest.raises(ConfigError) as refused:
        hr.deadline(hour)
    assert refused.value.code == "HOUR"
