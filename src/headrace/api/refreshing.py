"""One refresh of a view: what is new, whether it is worked in or all is computed anew, the run, and its commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.api import replanning
from headrace.api.expected import Expected, Ran
from headrace.api.operators import operators
from headrace.api.outlook import Outlook, outlook
from headrace.api.status import arrivals
from headrace.api.telling import Telling
from headrace.cost.folding import Folding
from headrace.errors import StateError
from headrace.faults import effect
from headrace.ir.plan import Plan, Publish
from headrace.ir.time import Reached, Situation
from headrace.runtime.arrivals import Arrival, History
from headrace.runtime.pace import Pace
from headrace.runtime.progress import Looking, Progress, RunBegan, RunDone
from headrace.runtime.reason import Reason
from headrace.runtime.report import RefreshReport
from headrace.spark.engine import Measures, MemoryFull
from headrace.spark.sources.source import Scan
from headrace.stats import feedback

if TYPE_CHECKING:
    from headrace.api.view import View

_LOG = logging.getLogger("headrace")
_COUNTED = (
    "REQUESTED",
    "POLICY_FULL",
    "CHEAPER",
    "RUN_FAILED",
    "REPLANNED",
)  # reasons with which changes are known all the same
_ALLOWED = ("FIRST_RUN", "REQUESTED", "REPLANNED")  # reasons to compute from scratch that no policy forbids


def refresh(view: View, full: bool, progress: Progress) -> RefreshReport:
    """Bring a view up to date, under its lease."""
    return attempt(view, progress, lambda started: Refreshing(view, started, progress).refresh(full))


def attempt(view: View, progress: Progress, run: Callable[[float], RefreshReport]) -> RefreshReport:
    """Do a run that began now; one that fails is told of in the view's history."""
    started = time.time()
    progress(Looking(view.name))
    try:
        view._reload()
        report = run(started)
    except Exception as problem:
        with suppress(Exception):  # the problem itself is what the caller must see
            last = view._result.last_run()
            reached = Reached(last["positions"]) if last else Reached()
            number = (last["number"] if last else 0) + 1
            report = told(view, number, "failed", None, started, reached, reached, None, Measures())
            view._history.add(report.record() | {"error": str(problem)})
        raise
    progress(RunDone(view.name, report))
    return report


def prepare(view: View, expected: Outlook) -> None:
    """Build what is chosen for a delta before it comes, from the last run on; what is not chosen is released."""
    last, memory, recall = view._result.last_run(), view._memory, view._recall
    if last is None:
        return
    memory.begin((last["number"], last["record"]["started"]))
    if not memory.possible:
        return
    reached = Reached(last["positions"])
    leaving = frozenset(n for n, c in expected.changes.items() if c.left)
    plan = recall.near(replanning.plan_for(view, Situation(expected.moving, leaving)), reached, reached)
    at = Expected(view, last, reached, reached)
    known = at.next if at.worth_asking else None
    while True:
        recall.foresee(plan, expected, known)
        recall.ran()
        try:
            tables = (view._sources, view._states, view._result)
            view._engine.build(view.name, list(recall.chosen.values()), *tables, reached, memory)
        except MemoryFull:
            continue  # it is known now, and something else is chosen
        return


class Refreshing:
    """What one refresh finds: the last run, and the positions from which and to which it goes."""

    def __init__(self, view: View, started: float, progress: Progress) -> None:
        self.view = view
        self.started = started
        self.progress = progress
        if view._query.reads_clock:
            view._define()
        self.settings = view._engine.settings()
        self.last = last = view._result.last_run()
        if last is not None and last["number"] > view._history.newest:
            view._history.add(last["record"])  # that run ended between its commit and its history
        self.since = Reached({n: last["positions"].get(n, 0) for n in view._sources} if last else {})
        self.until = Reached({name: source.discover() for name, source in view._sources.items()})
        if view.timeline is None and view.refresh_policy != "FULL":
            view._keep(replanning.keep(view, last, self.until))
        self.expected = Expected(view, last, self.since, self.until)

    def refresh(self, full: bool) -> RefreshReport:
        reason = self._reason_to_load(full)
        if reason is None:
            return self._incremental()
        view = self.view
        if reason.code not in _ALLOWED and view.refresh_policy == "INCREMENTAL STRICT":
            raise StateError(
                "WOULD_RECOMPUTE",
                f'view "{view.name}" would be computed from scratch: {reason}',
                hint="refresh(full=True) does it once; the last good result stays until then",
            )
        have = self._still_good(reason)
        if not have:
            return self._anew(reason)
        # The new definition first where the old one was, over the states that both have, and then on from there.
        report = self._run("full", reason, view._planner.load(have), Reached(), self.since, have)
        if self.since == self.until:
            return report
        on = Refreshing(view, self.started, self.progress).refresh(False)
        return replace(on, method="full", code=report.code, reason=report.reason)

    # --- how

    def _incremental(self) -> RefreshReport:
        view, since, until = self.view, self.since, self.until
        assert self.last is not None
        moved = {n for n in view._planner.sources if self._delta(n).rows}
        if not moved and since == until:
            view._quiet.append(self.started)
            if not view._tidy:  # a process that ended after its commit has left something behind
                view._clean()
            return told(view, self.last["number"], "unchanged", None, self.started, since, until, None, Measures())
        shrinking = {n for n in moved if self._delta(n).leaving}
        situation = Situation(frozenset(moved), frozenset(shrinking))
        plan = replanning.plan(view, situation, since, until, self.last)
        if plan is None:
            return self._anew(Reason("REPLANNED", "changes as these cannot be worked in with what was kept for others"))
        if not view._states and any(isinstance(s, Publish) and s.replace for s in plan.steps):
            return self._anew(Reason("CHEAPER", "for changes as large as these nothing is worth keeping"))
        self._rewind()
        plan = view._recall.near(plan, since, until)
        method, memory = "incremental" if moved else "unchanged", view._memory
        memory.begin((self.last["number"], self.last["record"]["started"]))
        known = self.expected.next if self.expected.worth_asking else None
        view._recall.foresee(plan, outlook(self._arrivals(None)), known)
        cheaper = self._better_anew(plan) if view.refresh_policy == "AUTO" and plan.steps else None
        if cheaper is not None:
            return self._anew(cheaper)
        if memory.possible:
            try:
                return self._with_memory(method, plan)
            except view._engine.query_failures as problem:
                # Memory is a cache: without it the same refresh takes longer. The query itself may be what fails.
                if memory.held:
                    why = view._engine.said(problem)
                    _LOG.warning('view "%s": refreshed again without what it had in memory: %s', view.name, why)
            memory.clear()
        try:
            return self._run(method, None, plan, since, until)
        except view._engine.query_failures as problem:
            if view.refresh_policy == "INCREMENTAL STRICT":
                raise
            # Rows of different versions meet in an incremental run, and an expression may fail on a pair that
            # no version has. Whether the query itself fails, only the whole answer tells.
            return self._anew(Reason("RUN_FAILED", view._engine.said(problem)))

    def _anew(self, reason: Reason) -> RefreshReport:
        method = "full" if self.last else "initial"
        return self._run(method, reason, self.view._planner.load(), Reached(), self.until)

    def _rewind(self) -> None:
        """Let states be what the last run left: one that failed may have left more."""
        assert self.last is not None
        for name, version in self.last["states"].items():
            if name in self.view._states:
                self.view._states[name].table.rewind(version)

    def _with_memory(self, method: str, plan: Plan) -> RefreshReport:
        """Do a plan with rows looked up in memory; of what turns out not to fit, the next attempt knows. Small indexes
        come before the plan: what they give for a key says in which order to look rows up."""
        view = self.view
        while True:
            try:
                probing = view._recall.plan(plan, self.since, self.until)
                small = view._recall.small(probing)
                if not small:
                    return self._run(method, None, probing, self.since, self.until)
                tables = (view._sources, view._states, view._result)
                view._engine.build(view.name, small, *tables, self.since, view._memory)
            except MemoryFull:
                continue

    def _better_anew(self, plan: Plan) -> Reason | None:
        """Why not to work changes in, where prices and earlier runs say that this takes longer."""
        view = self.view
        if not self.expected.worth_asking:
            return None
        probing = view._recall.plan(plan, self.since, self.until) if view._memory.possible else plan
        why = self.expected.better_anew(probing)
        return None if why is None else Reason("CHEAPER", why)

    def _delta(self, name: str) -> Scan:
        return self.view._sources[name].delta(self.since.at(name), self.until.at(name))

    def _arrivals(self, reason: Reason | None) -> dict[str, History]:
        """How each source has moved, up to now. What there was before the first run did not arrive, and what cannot be
        told from it neither; runs that found nothing are told of by the next that finds something."""
        view, known = self.view, arrivals(self.last)
        counted = reason is None or reason.code in _COUNTED
        for name in view._sources if self.last and counted and self.since != self.until else ():
            history = known.get(name, History())
            for at in view._quiet:
                history = history.add(Arrival(at, 0))
            if self.last and name in self.last["positions"]:
                new = self._delta(name)
                history = history.add(Arrival(self.started, new.rows - new.leaving, new.leaving))
            known[name] = history
        return {name: h for name, h in known.items() if name in view._sources}

    def _reason_to_load(self, full: bool) -> Reason | None:
        view, last, since, until, settings = self.view, self.last, self.since, self.until, self.settings
        if last is None:
            return Reason("FIRST_RUN")
        if full:
            return Reason("REQUESTED")
        if view.refresh_policy == "FULL":
            return Reason("POLICY_FULL")
        if last["settings"] != settings:
            changed = sorted(k for k in settings | last["settings"] if settings.get(k) != last["settings"].get(k))
            return Reason("SETTINGS_CHANGED", ", ".join(changed))
        for name, source in view._sources.items():
            if last["kinds"].get(name, source.kind) != source.kind:
                return Reason("SOURCE_CHANGED", f'"{name}" was a {last["kinds"][name]} and is a {source.kind}')
            cut = source.cut(since.at(name)) if since.at(name) else None
            if cut is None and until.at(name) < since.at(name):
                cut = f'source "{name}" is not the one that was read before'
            mark = last.get("marks", {}).get(name) if since.at(name) else None
            if cut is None and mark is not None and mark != source.mark(since.at(name)):
                cut = f'source "{name}": what was read of it is not what is known of it now'
            if cut is not None:
                return Reason("HISTORY_CUT", cut)
        if last["fingerprint"] != view._planner.fingerprint:
            return Reason("CLOCK" if view._query.reads_clock else "DEFINITION_CHANGED")
        if last["version"] != view._result.version:
            return Reason("RESULT_CHANGED")
        for name, state in view._states.items():
            if name not in last["states"] and {replanning.kept_by(view), last.get("kept_by")} - {"preference", None}:
                return Reason("REPLANNED")
            if name not in last["states"] or not state.readable(last["states"][name]):
                return Reason("STATE_LOST", name)
        return Reason("RESULT_LOST") if view._result.missing() else None

    def _still_good(self, reason: Reason) -> frozenset[str]:
        """The states of an earlier definition that a new one has too, where nothing else has changed."""
        view, last = self.view, self.last
        if last is None or reason.code not in ("DEFINITION_CHANGED", "CLOCK", "REPLANNED"):
            return frozenset()
        if not view._sources.keys() <= last["positions"].keys():
            return frozenset()
        found = (n for n, s in view._states.items() if n in last["states"] and s.readable(last["states"][n]))
        return frozenset(found)

    def _run(
        self,
        method: str,
        reason: Reason | None,
        plan: Plan,
        since: Reached,
        until: Reached,
        have: frozenset[str] = frozenset(),
        *,
        kept: frozenset[str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> RefreshReport:
        """Do a plan and commit it. ``kept`` names the states that are left afterwards, where those are not all;
        ``more`` is what else the commit says."""
        view, last = self.view, self.last
        if plan.situation is None:
            view._memory.clear()
        for name, state in view._states.items():
            there = last is not None and name in last["states"]
            if last is not None and there and (plan.situation is not None or name in have):
                state.table.rewind(last["states"][name])
            elif not state.sound():
                state.table.drop()
        pace = Pace(last["paces"], last.get("step_paces", {})) if last else Pace()
        usual = bool(plan.steps) and not have and kept is None and view.refresh_policy != "FULL"
        asks = usual and self.expected.worth_asking
        kind, price = self.expected.kind(plan), self.expected.price(plan) if asks else None  # as tables are before it
        correction, held = self.expected.correction, frozenset(view._memory.held)
        expected = pace.runs.get(method)
        if price is not None and correction.tried(kind):
            expected = correction.expected(kind, price)
        rows_in = _rows_in(view, since, until)
        why = str(reason) if reason else None
        self.progress(RunBegan(view.name, method, why, len(plan.steps), rows_in, expected))
        watch = Telling(view.name, method, plan, pace.steps.get(method, {}), self.progress)
        segments = {n: s.segments() for n, s in view._states.items()} if plan.situation else {}
        folding = Folding(**last.get("folding", {})) if last and plan.situation else Folding()
        read = any(view.name in other.below for other in view.warehouse.views.values())
        try:
            run = view._engine.run(
                *(view.name, plan, view._sources, view._states, view._result, since, until),
                feed=read,
                fold=[n for n, s in segments.items() if folding.due(n, s)],
                watch=watch,
                memory=view._memory if view._memory.possible else None,
            )
        except BaseException:
            view._memory.forget()
            raise
        number = last["number"] + 1 if last else 1
        report = told(view, number, method, reason, self.started, since, until, plan, run.measures, expected)
        if view._observer is not None and price is not None:
            view._observer(Ran(plan, self.expected, held, report))
        pace = pace.after(method, report.seconds, report.steps)
        built = sum(s for name, s in report.steps.items() if name.startswith("index ") and name != "index new rows")
        lessons = self.expected.lessons
        if price is not None:
            correction = correction.after(kind, report.seconds - built, price)
            lessons = self.expected.learned(run.measures.rows) if plan.situation else lessons
        folding = folding.after(segments, run.measures.scans, run.measures.folded)
        if kept is not None:
            view._states = {n: s for n, s in view._states.items() if n in kept}
        record = report.record()
        with effect("result committed"):
            view._result.commit(
                run.result_files,
                overwrite=run.overwrite,
                remove=[] if run.overwrite else run.removed,
                changes=run.changes,
                run={
                    "number": number,
                    "positions": dict(until.positions),
                    "kinds": {n: s.kind for n, s in view._sources.items()},
                    "marks": {n: s.mark(until.at(n)) for n, s in view._sources.items()},
                    "states": {n: s.table.version for n, s in view._states.items()},
                    "fingerprint": view._planner.fingerprint,
                    "kept_by": replanning.kept_by(view),
                    "decided": view._decided or (last or {}).get("decided"),
                    "settings": self.settings,
                    "paces": pace.runs,
                    "step_paces": pace.steps,
                    "arrivals": {n: h.record() for n, h in self._arrivals(reason).items()},
                    "folding": {"paid": folding.paid, "factor": folding.factor},
                    "correction": correction.record(),
                    "lessons": feedback.record(lessons),
                    "record": record,
                    **(more or {}),
                },
            )
        view._quiet.clear()
        view._memory.settle((number, record["started"]))
        view._recall.ran()
        view._history.add(record)
        view._clean()
        return report


def told(
    view: View,
    number: int,
    method: str,
    reason: Reason | None,
    started: float,
    since: Reached,
    until: Reached,
    plan: Plan | None,
    measures: Measures,
    expected: float | None = None,
) -> RefreshReport:
    """What a run tells of itself."""
    rows_in = _rows_in(view, since, until)
    return RefreshReport(
        view=view.name,
        run=number,
        started=started,
        method=method,
        code=reason.code if reason else None,
        reason=str(reason) if reason else None,
        estimated=expected,
        seconds=time.time() - started,
        since=dict(since.positions),
        until=dict(until.positions),
        rows_in=rows_in,
        rows_out=measures.published,
        published=measures.how or "nothing changed",
        bytes_written=measures.bytes_written,
        operators=operators(plan, measures, rows_in) if plan else (),
        states={n: s.table.bytes() for n, s in view._states.items()},
        rows_read=measures.rows_read,
        bytes_read=measures.bytes_read,
        steps=measures.seconds,
        memory=view._memory.bytes(),
        files_skipped=measures.files_skipped,
    )


def _rows_in(view: View, since: Reached, until: Reached) -> dict[str, int]:
    return {n: s.delta(since.at(n), until.at(n)).rows for n, s in view._sources.items()}
