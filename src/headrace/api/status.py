"""Looking how views stand, without running anything of theirs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.runtime.arrivals import History, predict
from headrace.runtime.status import Failure, LastRun, ViewStatus
from headrace.spark.sources.source import SourceReader

if TYPE_CHECKING:
    from headrace.api.view import View


def unread(source: SourceReader, since: int) -> int:
    """The rows of a source that came after a position; all of them where changes since then cannot be told."""
    until = source.discover()
    if since and (until < since or source.cut(since) is not None):
        return source.snapshot(until).rows
    return source.delta(since, until).rows


def statuses(views: Iterable[View]) -> dict[str, ViewStatus]:
    """How views stand; each comes after those it reads."""
    found: dict[str, ViewStatus] = {}
    for view in views:
        below = [found[name] for name in sorted(view.below)]
        behind = {b.view for b in below if not b.fresh}.union(*(b.behind for b in below))
        found[view.name] = _status(view, tuple(sorted(behind)))
    return found


def _status(view: View, behind: tuple[str, ...]) -> ViewStatus:
    result = view._result.again()  # a run may be using the view's own
    last = result.last_run()
    waiting: dict[str, int] = {}
    problems: dict[str, str] = {}
    for name, source in view._sources.items():
        try:
            waiting[name] = unread(source, position(last, name, source))
        except HeadraceError as problem:
            problems[name] = problem.message
    run = last_run(last["record"]) if last else None
    return ViewStatus(
        view=view.name,
        policy=view.refresh_policy,
        at=time.time(),
        last=run,
        failure=_failure(view._history.again().failure(), run),
        waiting=waiting,
        problems=problems,
        behind=behind,
        rows=result.rows() if last else 0,
        bytes=result.bytes() if last else 0,
        states={n: s.table.again().bytes() for n, s in view._states.items() if s.sound()},
        memory=view._memory.bytes(),
        expected=_expected(last),
    )


def _expected(last: Mapping[str, Any] | None) -> dict[str, float]:
    found = predict(arrivals(last))
    return {n: p.inserted.mean + p.deleted.mean for n, p in found.items() if p.inserted.sample}


def arrivals(last: Mapping[str, Any] | None) -> dict[str, History]:
    """How sources had moved up to a run, by what its commit says."""
    return {n: History.restore(record) for n, record in (last or {}).get("arrivals", {}).items()}


def position(last: Mapping[str, Any] | None, name: str, source: SourceReader) -> int:
    """How far a run had read a source; positions of another kind mean nothing."""
    if last is None or last["kinds"].get(name, source.kind) != source.kind:
        return 0
    return int(last["positions"].get(name, 0))


def last_run(record: Mapping[str, Any]) -> LastRun:
    return LastRun(
        *(record["run"], record["started"], record["seconds"], record["method"], record["code"], record["reason"])
    )


def _failure(record: Mapping[str, Any] | None, last: LastRun | None) -> Failure | None:
    if record is None or (last is not None and record["started"] <= last.started):
        return None
    return Failure(record["started"], record["error"])
