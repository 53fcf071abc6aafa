"""Makes a failing case small: first the query, then the data, as long as it fails in the same way.

Hypothesis could do it too, but knows neither SQL nor which tables a query reads; at the price of a refresh,
its way is too long. Here several shorter queries are tried at once, as views of one warehouse.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from . import histories
from .cases import Trial
from .check import Failure, Outcome, tables_in
from .histories import History
from .shorter import shorter

TOGETHER = 8
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
        self.attempt(replace(trial, queries=(self.best.sql,), history=short))
        while time.monotonic() < self.end:
            before = self.best
            self.shorten_query()
            self.shrink_data()
            if self.best is before:
                break
        return self.best

    def shorten_query(self) -> None:
        """Try all shorter queries; start again from each one that fails.

        A word that was missing in many queries that pass is probably part of the failure: queries that still
        have all such words come first, and of those the shortest.
        """
        missed: Counter[str] = Counter()
        left = shorter(self.best.sql)
        while left and time.monotonic() < self.end:
            words = _words(self.best.sql)
            left = [sql for sql in left if sql not in self.passed]
            left.sort(key=lambda sql: (sum(missed[w] for w in words - _words(sql)), len(sql)))
            some, left = left[:TOGETHER], left[TOGETHER:]
            if some and self.attempt(replace(self.best.trial, queries=tuple(some))):
                left = shorter(self.best.sql)
                continue
            for sql in some:
                self.passed.add(sql)
                missed.update(words - _words(sql))

    def shrink_data(self) -> None:
        """Try all histories with one thing less; start again from each one that fails."""
        self.passed.clear()
        history, used = self.best.trial.history, tables_in(self.best.sql)
        steps = [{name: files for name, files in step.items() if name in used} for step in history.batches]
        fewer = History(tuple(steps), history.plain)
        if fewer.size < history.size:
            self.attempt(replace(self.best.trial, history=fewer))
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
        shortest = min(alike, key=lambda failure: len(failure.sql))
        self.best = replace(shortest, trial=replace(shortest.trial, queries=(shortest.sql,)))
        self.tell(f"data {trial.history.size}, query {len(shortest.sql)}: {shortest.sql[:150]}")
        return True


def _sort(failure: Failure) -> str:
    """What went wrong, without the names and numbers in it."""
    return re.split(r"[\d'\"`\[(]", failure.kind, maxsplit=1)[0][:60]


def _words(sql: str) -> set[str]:
    """The operators and functions of the query: what is written in it, without names and constants."""
    return set(re.findall(r"[A-Za-z_]{3,}|<=>|[<>]=?|\bt\d", sql))
