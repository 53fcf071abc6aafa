"""One wave of refreshes: each view and feed once, after those it reads, and several side by side."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

from headrace.runtime.progress import Event, Progress, RunFailed, RunSkipped
from headrace.runtime.report import PipelineReport, RefreshReport

if TYPE_CHECKING:
    from headrace.api.feed import Feed
    from headrace.api.view import View

_Outcome = RefreshReport | BaseException


class Wave:
    """``below`` is what each part reads of the others, ``chosen`` are those to refresh, ``anew`` those from scratch.
    One that fails keeps its last good result, and so do those above it; the others go on."""

    def __init__(
        self,
        parts: Mapping[str, View | Feed],
        below: Mapping[str, frozenset[str]],
        chosen: frozenset[str],
        anew: frozenset[str],
        *,
        wait: float,
        progress: Progress,
        parallel: int,
    ) -> None:
        self._parts = parts
        self._below = below
        self._chosen = chosen
        self._anew = anew
        self._wait = wait
        self._progress = progress
        self._parallel = parallel
        self._telling = Lock()
        self._stopped = False
        self._ended: SimpleQueue[tuple[str, _Outcome]] = SimpleQueue()
        self._refreshed: dict[str, RefreshReport] = {}
        self._failed: dict[str, Exception] = {}
        self._skipped: dict[str, str] = {}

    def run(self) -> PipelineReport:
        sorter = TopologicalSorter(self._below)
        sorter.prepare()
        ready: list[str] = []
        running = 0
        try:
            while sorter.is_active():
                for name in sorted(sorter.get_ready()):
                    if self._due(name):
                        ready.append(name)
                    else:
                        sorter.done(name)
                while ready and running < self._parallel:
                    self._start(ready.pop(0))
                    running += 1
                if running:
                    name, outcome = self._ended.get()
                    running -= 1
                    self._end(name, outcome)
                    sorter.done(name)
        except BaseException:
            self._stopped = True
            raise
        order = {name: place for place, name in enumerate(TopologicalSorter(self._below).static_order())}
        refreshed = {name: self._refreshed[name] for name in sorted(self._refreshed, key=order.__getitem__)}
        return PipelineReport(refreshed, self._failed, self._skipped)

    def _due(self, name: str) -> bool:
        """Whether a part whose turn it is must be refreshed; one above a failure is left out, and told of."""
        if name not in self._chosen:
            return False
        blocked = next((b for b in sorted(self._below[name]) if b in self._failed or b in self._skipped), None)
        if blocked is None:
            return True
        self._skipped[name] = self._skipped.get(blocked, blocked)
        self._tell(RunSkipped(name, self._skipped[name]))
        return False

    def _start(self, name: str) -> None:
        """Refresh one: in a thread, or here where none can be beside it."""
        if self._parallel == 1:
            self._work(name)
        else:
            Thread(target=self._work, args=(name,), name=f"headrace {name}", daemon=True).start()

    def _work(self, name: str) -> None:
        self._ended.put((name, self._outcome(name)))

    def _outcome(self, name: str) -> _Outcome:
        try:
            return self._parts[name].refresh(full=name in self._anew, wait=self._wait, progress=self._tell)
        except BaseException as problem:
            return problem

    def _end(self, name: str, outcome: _Outcome) -> None:
        if isinstance(outcome, RefreshReport):
            self._refreshed[name] = outcome
        elif isinstance(outcome, Exception):
            self._failed[name] = outcome
            self._tell(RunFailed(name, outcome))
        else:
            raise outcome

    def _tell(self, event: Event) -> None:
        """Tell of one event at a time. Once the wave is interrupted, runs end at their next step."""
        if self._stopped:
            raise KeyboardInterrupt
        with self._telling:
            self._progress(event)
