"""Makes a failing case small: first the query, then the data, as long as it fails in the same way.

A refresh costs much more than writing a query, so only queries that are shorter than the best so far are
tried, and several of them side by side, as views of one warehouse.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from . import histories, queries
from .cases import Trial
from .check import Failure, Outcome, tables_in
from .histories import History
from .tables import TABLES

TOGETHER = 6
"""Queries tried in one warehouse."""

Run = Callable[[Trial], Outcome]


def reduced(failure: Failure, run: Run, *, seconds: float, tell: Callable[[str], None] | None = None) -> Failure:
    """The smallest case found in this time that fails as this one does."""
    return _Reducer(failure, run, time.monotonic() + seconds, tell or (lambda _: None)).reduced()


class _Reducer:
    """The best case so far, and the cases that do not fail."""

    def __init__(self, failure: Failure, run: Run, end: float, tell: Callable[[str], None]) -> None:
        self.best = failure
        self.run = run
        self.end = end
        self.tell = tell
        self.passed: set[str] = set()

    def reduced(self) -> Failure:
        trial = self.best.trial
        short = replace(trial.history, batches=trial.history.batches[: self.best.step + 1])
        self.attempt(replace(trial, queries=(self.best.query,), history=short))
        while time.monotonic() < self.end:
            before = self.best
            self.shorten_query()
            self.shrink_data()
            if self.best is before:
                break
        return self.best

    def shorten_query(self) -> None:
        """Try all shorter queries, the shortest first; start again from each one that fails."""
        while candidates := [q for q in queries.smaller(self.best.query) if q.sql not in self.passed]:
            for some in _groups(candidates):
                if time.monotonic() > self.end:
                    return
                if self.attempt(replace(self.best.trial, queries=tuple(some))):
                    break
                self.passed.update(query.sql for query in some)
            else:
                return

    def shrink_data(self) -> None:
        """Try all histories with one thing less; start again from each one that fails."""
        self.passed.clear()
        unused = [name for name in TABLES if name not in tables_in(self.best.query.sql)]
        if unused:
            used = [
                {name: files for name, files in step.items() if name not in unused}
                for step in self.best.trial.history.batches
            ]
            self.attempt(replace(self.best.trial, history=History(tuple(used), self.best.trial.history.plain)))
        found = True
        while found:
            found = False
            for history in histories.smaller(self.best.trial.history):
                if time.monotonic() > self.end:
                    return
                text = history.text()
                if text not in self.passed:
                    first = min(self.best.trial.first, len(history.batches) - 1)
                    found = self.attempt(replace(self.best.trial, history=history, first=first))
                    self.passed.add(text)
                if found:
                    break

    def attempt(self, trial: Trial) -> bool:
        """Whether this fails in the same way; then it is the best so far."""
        alike = [f for f in self.run(trial).failures if _sort(f) == _sort(self.best)]
        if not alike:
            return False
        shortest = min(alike, key=lambda failure: len(failure.query.sql))
        self.best = replace(shortest, trial=replace(shortest.trial, queries=(shortest.query,)))
        changes = sum(len(file) for step in trial.history.batches for files in step.values() for file in files)
        self.tell(f"{len(self.best.query.sql)} letters, {changes} changes: {self.best.query.sql[:150]}")
        return True


def _sort(failure: Failure) -> str:
    """What went wrong, without the names and numbers in it."""
    return re.split(r"[\d'\"`\[(]", failure.kind, maxsplit=1)[0][:60]


def _groups(candidates: Sequence[queries.Query]) -> Iterator[Sequence[queries.Query]]:
    for start in range(0, len(candidates), TOGETHER):
        yield candidates[start : start + TOGETHER]
