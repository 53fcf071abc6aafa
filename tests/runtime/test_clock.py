"""Clocks: the system's, and one that a test moves."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from threading import Event

import pytest

from headrace.runtime.clock import Clock, ManualClock, SystemClock


def test_the_system_clock_waits_until_a_time_or_an_event() -> None:
    clock: Clock = SystemClock()
    begin = time.monotonic()
    assert not clock.wait(clock.now() + 0.05, Event())
    assert time.monotonic() - begin >= 0.04
    assert not clock.wait(clock.now() - 5, Event())
    happened = Event()
    happened.set()
    assert clock.wait(None, happened)


def test_the_system_clock_is_woken_by_an_event() -> None:
    happened = Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(SystemClock().wait, None, happened)
        happened.set()
        assert waiting.result(10)


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(100)
    clock.advance(5)
    assert clock.now() == 105
    clock.set(3)
    assert clock.now() == 3


def test_who_waits_for_a_manual_clock_goes_on_when_it_is_late_enough() -> None:
    clock = ManualClock()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(clock.wait, 10.0, Event())
        assert clock.asleep()
        clock.advance(9)
        with pytest.raises(Late):
            waiting.result(0.05)
        clock.advance(1)
        assert waiting.result(10) is False


def test_who_waits_for_a_manual_clock_is_woken_by_an_event() -> None:
    clock, happened = ManualClock(), Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(clock.wait, None, happened)
        assert clock.asleep()
        happened.set()
        assert waiting.result(10) is True
    assert not clock.asleep(timeout=0)


def test_a_clock_that_jumps_needs_nobody_to_move_it() -> None:
    clock = ManualClock(jumps=True)
    assert not clock.wait(86_400, Event())
    assert clock.now() == 86_400
    assert not clock.wait(5, Event())
    assert clock.now() == 86_400
