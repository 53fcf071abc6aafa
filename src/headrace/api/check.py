"""Comparing a view with what Spark answers from scratch on the data that the view has seen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.errors import QueryError, StateError
from headrace.ir.time import Reached
from headrace.runtime.check import Check

if TYPE_CHECKING:
    from headrace.api.view import View

_SHOWN = 5


def check(view: View, wait: float) -> Check:
    started = time.time()
    with view._lease(wait):  # what is read and what it is compared with are of one run
        view._reload()
        last = view._result.last_run()
        if last is None:
            raise StateError("NOT_REFRESHED", f'view "{view.name}" has no result yet', hint="refresh it first")
        _check_comparable(view, last["fingerprint"], last["settings"])
        for name, source in view._sources.items():
            source.discover()
            cut = source.cut(last["positions"].get(name, 0))
            if cut is not None:
                raise StateError(
                    "HISTORY_CUT",
                    f'view "{view.name}" cannot be computed again on the data that it has seen: {cut}',
                    hint="refresh it: it is then computed from scratch",
                )
        shown = last.get("timeline", {}).get("shown", last["positions"])  # of the last run that delivered
        rows = view._result.rows()
        actual = view._engine.read(view._result)
        expected = view._engine.batch_answer(view._query, view._sources, Reached(shown))
    (missing, missing_rows), (surplus, surplus_rows) = view._engine.differences(actual, expected, _SHOWN)
    return Check(
        view=view.name,
        run=last["number"],
        rows=rows,
        missing=missing,
        surplus=surplus,
        missing_rows=tuple(missing_rows),
        surplus_rows=tuple(surplus_rows),
        seconds=time.time() - started,
    )


def _check_comparable(view: View, fingerprint: str, settings: dict[str, str]) -> None:
    """Refuse where another answer is expected than the one that was computed."""
    if not view._query.deterministic:
        raise QueryError(
            "NOT_DETERMINISTIC",
            f'view "{view.name}" gives a new answer on every run',
            at=view._query.nondeterministic_at,
            hint="there is nothing to compare it with",
        )
    if view._query.reads_clock:
        view._define()
    if fingerprint != view._planner.fingerprint or settings != view._engine.settings():
        what = "the query reads the clock" if view._query.reads_clock else "its definition or a setting has changed"
        raise StateError(
            "DEFINITION_CHANGED",
            f'view "{view.name}" was computed from another query than it has now: {what}',
            hint="refresh it first",
        )
