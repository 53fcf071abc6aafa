"""A warehouse kept up to date for as long as the service runs: every view when its policy says so.

The scheduler decides (``runtime.scheduler``); this part tells it what arrives, starts what it gives out, each run in a
thread of its own, and tells it how that ended. What a service knew is in the views' own commits, so one that is
started anew goes on from there, however the one before it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from threading import Event, Thread

from headrace.api.feed import Feed
from headrace.api.view import View
from headrace.api.warehouse import Warehouse
from headrace.runtime.by_clock import every
from headrace.runtime.by_event import on_change, on_demand
from headrace.runtime.clock import Clock, SystemClock
from headrace.runtime.moment import Run
from headrace.runtime.net import Factory, Net
from headrace.runtime.policy import Policy
from headrace.runtime.progress import Progress, RunFailed, silent
from headrace.runtime.report import RefreshReport
from headrace.runtime.scheduler import Firing, Scheduler
from headrace.spark.sources.source import SourceReader

FEEDS = every("10 s")  # a feed without a policy: what it reads is outside, and nobody tells that something came


class Service:
    """``parallel`` views run side by side, and ``poll`` seconds pass between two looks at the sources. ``started`` is
    told of each run that begins and why; ``progress`` of all that happens in it."""

    def __init__(
        self,
        warehouse: Warehouse,
        *,
        parallel: int = 2,
        poll: float = 1.0,
        clock: Clock | None = None,
        started: Callable[[Firing], None] | None = None,
        progress: Progress = silent,
    ) -> None:
        self._warehouse = warehouse
        self._parts: dict[str, View | Feed] = {**warehouse.feeds, **warehouse.views}
        self._poll = poll
        self._clock = clock or SystemClock()
        self._tell = started or (lambda firing: None)
        self._progress = progress
        self._happened = Event()
        self._stopping = False
        self._ended: SimpleQueue[tuple[str, RefreshReport | Exception]] = SimpleQueue()
        self._seen: dict[str, int] = {}
        self._broken: dict[str, str] = {}
        self._read: dict[str, dict[str, int]] = {}
        self._places: dict[str, SourceReader] = {}
        inputs = {n: f.below for n, f in warehouse.feeds.items()} | {n: v.reads for n, v in warehouse.views.items()}
        factories = {n: Factory(inputs[n], self._policy(n, bool(inputs[n]))) for n in self._parts}
        self.scheduler = Scheduler(Net(factories), self._clock.now(), parallel=parallel)
        for name, view in warehouse.views.items():
            self._resume(name, view)
            self._places |= view.sources
            self._places[name] = view.reader

    def stop(self) -> None:
        """Start nothing more, and end when the runs in hand have ended. Signals may call it."""
        self._stopping = True
        self._happened.set()

    def run(self) -> None:
        """Work until ``stop`` is called."""
        while True:
            self._happened.clear()
            self._collect()
            if self._stopping:
                if not self.scheduler.running:
                    return
                self._happened.wait(self._poll)
                continue
            self._look()
            now = self._clock.now()
            for firing in self.scheduler.ready(now):
                self._start(firing, now)
            wake = self.scheduler.wake(now)
            self._clock.wait(min(now + self._poll, wake if wake is not None else now + self._poll), self._happened)

    def due(self) -> dict[str, float | None]:
        """When each view and feed is due as things stand, the present or earlier where that is now; None where only new
        data or a question makes it due. Looks at the sources, and starts nothing."""
        self._look()
        now = self._clock.now()
        return {name: self.scheduler.next(name, now) for name in self._parts}

    # --- inside

    def _policy(self, name: str, reads: bool) -> Policy:
        given = self._parts[name].policy
        if given is not None:
            return given
        if name in self._warehouse.feeds:
            return FEEDS
        return on_change() if reads else on_demand()

    def _resume(self, name: str, view: View) -> None:
        """Go on from a view's last run. One without a result is computed at once, whatever its policy."""
        last, self._read[name] = view.last_run(), view.positions()
        if last is None:
            self.scheduler.asked(name)
            return
        run = Run(last.started, last.started + last.seconds, last.seconds)
        self.scheduler.resume(name, run, self._read[name], last.seconds)

    def _look(self) -> None:
        """Tell the scheduler what came into the places."""
        for place, reader in self._places.items():
            try:
                until = reader.discover()
                for position, rows in self._steps(place, reader, until):
                    if rows != 0:
                        self.scheduler.arrived(place, rows, position)
                self._seen[place] = until
                self._broken.pop(place, None)
            except Exception as problem:
                self._look_failed(place, problem)

    def _look_failed(self, place: str, problem: Exception) -> None:
        """A place cannot be looked at, so nobody knows what is there. Those that read it run once: they fail, and tell
        why. A view without a result is no failure."""
        if getattr(problem, "code", None) == "NOT_REFRESHED" or self._broken.get(place) == str(problem):
            return
        self._broken[place] = str(problem)
        for name in self.scheduler.net.readers(place):
            self.scheduler.asked(name)

    def _steps(self, place: str, reader: SourceReader, until: int) -> list[tuple[int, int | None]]:
        """Positions that a place reached since it was last looked at, with the rows up to each. The first look takes
        the way in steps, because its readers stand at different positions."""
        if place in self._seen:
            marks = [self._seen[place], until] if self._seen[place] < until else []
        else:
            stops = {read.get(place, 0) for read in self._read.values()}
            marks = sorted({0, *(s for s in stops if s < until), until})
        return [(late, _rows(reader, early, late)) for early, late in pairwise(marks)]

    def _start(self, firing: Firing, now: float) -> None:
        self.scheduler.started(firing.view, now)
        self._tell(firing)
        Thread(target=self._work, args=(firing.view,), name=f"headrace {firing.view}", daemon=True).start()

    def _work(self, name: str) -> None:
        outcome: RefreshReport | Exception
        try:
            outcome = self._parts[name].refresh(full=False, wait=600.0, progress=self._progress)
        except Exception as problem:
            outcome = problem
            self._progress(RunFailed(name, problem))
        self._ended.put((name, outcome))
        self._happened.set()

    def _collect(self) -> None:
        while not self._ended.empty():
            name, outcome = self._ended.get()
            now = self._clock.now()
            if isinstance(outcome, Exception):
                self.scheduler.failed(name, now)
                continue
            self.scheduler.finished(name, now, published=False, read=dict(outcome.until))


def _rows(reader: SourceReader, since: int, until: int) -> int | None:
    """How many rows came between two positions; None where that can no longer be told."""
    if since and reader.cut(since) is not None:
        return None
    return reader.delta(since, until).rows
