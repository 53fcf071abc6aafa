"""Where time comes from: the system, or a test that sets it.

Times are seconds since 1970, because hours of the calendar are meant by people. Such a clock can be set, forwards and
backwards; who waits notices within a minute.
"""

from __future__ import annotations

import time
from threading import Condition, Event
from typing import Protocol

_LOOK = 60.0  # a clock that was set forward is noticed this soon
_PAUSE = 0.002  # an event is set without telling a manual clock, which therefore looks


class Clock(Protocol):
    def now(self) -> float:
        """The present time."""

    def wait(self, until: float | None, event: Event) -> bool:
        """Wait until it is so late, for ever if None, or until the event is set; returns whether it is set."""


class SystemClock:
    def now(self) -> float:
        return time.time()

    def wait(self, until: float | None, event: Event) -> bool:
        while not event.is_set():
            left = _LOOK if until is None else until - self.now()
            if left <= 0:
                return False
            event.wait(min(left, _LOOK))
        return True


class ManualClock:
    """Stands still until a test moves it.

    Whoever waits in another thread goes on when the test has moved the clock far enough; ``asleep`` lets the test know
    that it waits. With ``jumps`` nobody sleeps: waiting moves the clock to the end of the wait, so that one thread can
    live through days.
    """

    def __init__(self, now: float = 0.0, *, jumps: bool = False) -> None:
        self._now = now
        self._jumps = jumps
        self._sleepers = 0
        self._moved = Condition()

    def now(self) -> float:
        with self._moved:
            return self._now

    def set(self, now: float) -> None:
        """Move the clock, also backwards."""
        with self._moved:
            self._now = now
            self._moved.notify_all()

    def advance(self, seconds: float) -> None:
        with self._moved:
            self._now += seconds
            self._moved.notify_all()

    def wait(self, until: float | None, event: Event) -> bool:
        with self._moved:
            if self._jumps and until is not None and not event.is_set():
                self._now = max(self._now, until)
            self._sleepers += 1
            self._moved.notify_all()
            try:
                while not event.is_set() and (until is None or self._now < until):
                    self._moved.wait(_PAUSE)
            finally:
                self._sleepers -= 1
        return event.is_set()

    def asleep(self, timeout: float = 10.0) -> bool:
        """Wait, in real time, until some thread waits for this clock; returns whether one does."""
        with self._moved:
            return self._moved.wait_for(lambda: self._sleepers > 0, timeout)
