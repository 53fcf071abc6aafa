"""A view: what it is, and how it is refreshed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.api.check import check
from headrace.api.operators import operators
from headrace.api.recall import Recall
from headrace.api.status import last_run, position, unread
from headrace.api.telling import Telling
from headrace.errors import QueryError, StateError
from headrace.faults import effect
from headrace.ir.plan import Plan
from headrace.ir.probe import indexes
from headrace.ir.time import Reached, Situation
from headrace.planner.explain import explain, explain_data
from headrace.planner.simple import Planner
from headrace.runtime.check import Check
from headrace.runtime.choice import FULL, LOOKED_UP, SCANNED, Experience
from headrace.runtime.lease import lease
from headrace.runtime.pace import Pace
from headrace.runtime.policy import Policy
from headrace.runtime.progress import Looking, Progress, RunBegan, RunDone, silent
from headrace.runtime.reason import Reason
from headrace.runtime.report import RefreshReport
from headrace.runtime.status import LastRun, ViewStatus
from headrace.spark.engine import History, Measures, Memory, MemoryFull, Query, State, Table
from headrace.spark.paths import file_name
from headrace.spark.sources.source import Scan, SourceReader
from headrace.spark.sources.view_table import ViewReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from headrace.api.warehouse import Warehouse

_ALLOWED = ("FIRST_RUN", "REQUESTED")  # reasons to compute from scratch that no policy forbids


class View:
    """A named query whose result is kept up to date."""

    def __init__(
        self,
        warehouse: Warehouse,
        name: str,
        query: str | DataFrame,
        refresh_policy: str,
        policy: Policy | None,
        conf: Mapping[str, str],
    ) -> None:
        self.warehouse = warehouse
        self.name = name
        self.query = query
        self.refresh_policy = refresh_policy
        self.policy = policy
        self._engine = warehouse._engine.fork(conf)
        self._folder = warehouse.path / "views" / file_name(name)
        self._history = History(self._folder / "history")
        self._tidy = False
        self._memory = Memory(warehouse._budget)
        self._define()
        if refresh_policy.startswith("INCREMENTAL"):
            self._check_incremental()

    def refresh(self, *, full: bool = False, wait: float = 600.0, progress: Progress = silent) -> RefreshReport:
        """Bring the result up to date with all the data that is there now. ``full`` computes it from scratch;
        ``wait`` is how many seconds to wait for another process that refreshes the view; ``progress`` is told of every
        step (``runtime.progress``)."""
        try:
            with self._lease(wait):
                started = time.time()
                progress(Looking(self.name))
                try:
                    self._reload()
                    report = self._refresh(full, started, progress)
                except Exception as problem:
                    self._tell_failure(problem, started)
                    raise
                progress(RunDone(self.name, report))
                return report
        except OSError as problem:
            raise StateError(
                "STORAGE",
                f'view "{self.name}": files of the warehouse cannot be written or read: {problem}',
                hint="see to space and permissions, and refresh again; the view still reads as before",
            ) from problem

    def read(self, version: int | None = None) -> DataFrame:
        """The result as of the last refresh, or as of an earlier version of its table."""
        table = self._result.again()
        if table.last_run() is None:
            raise StateError("NOT_REFRESHED", f'view "{self.name}" has no result yet', hint="call refresh() first")
        return self._engine.read(table, version)

    def recompute(self) -> DataFrame:
        """What Spark answers from scratch on the data that the view has seen, for checking. Lazy."""
        last = self._result.again().last_run()
        reached = Reached(last["positions"]) if last else Reached()
        return self._engine.batch_answer(self._query, self._sources, reached)

    def explain(self) -> str:
        """How the view is maintained: each operator's method, the states, and the reason for each recompute."""
        return explain(self.explain_data())

    def explain_data(self) -> dict[str, Any]:
        """The same facts as plain data, for programs."""
        planner = self._planner
        plan = planner.load() if self.refresh_policy == "FULL" else planner.refresh(planner.worst)
        sizes = {n: s.table.again().bytes() for n, s in self._states.items()}
        last = self._result.again().last_run()
        return explain_data(
            *(self.name, plan, planner.kept, sizes),
            policy=self.refresh_policy,
            seconds=last["paces"] if last else {},
            memory=self._memory.bytes(),
        )

    def history(self) -> DataFrame:
        """All runs, the failed ones too: when, how and why, rows by source, seconds by step, sizes."""
        return self._engine.read(self._history.table.again())

    def waiting(self) -> dict[str, int]:
        """Rows that are not read yet, by source; all of its rows where the view will have to be computed anew."""
        last = self._result.again().last_run()
        return {n: unread(s, position(last, n, s)) for n, s in self._sources.items()}

    def status(self) -> ViewStatus:
        """How the view stands: its last run, what waits for it, what it takes on disk."""
        return self.warehouse.status(only=(self.name,))[self.name]

    def last_run(self) -> LastRun | None:
        """The newest run that did its work."""
        last = self._result.again().last_run()
        return last_run(last["record"]) if last else None

    def positions(self) -> dict[str, int]:
        """How far each source has been read."""
        last = self._result.again().last_run()
        return {n: position(last, n, s) for n, s in self._sources.items()}

    def check(self, *, wait: float = 600.0) -> Check:
        """Compare the result with what Spark answers from scratch on the data that the view has seen: EXCEPT ALL in
        both directions. Floats and doubles may differ by rounding."""
        return check(self, wait)

    def drop(self, *, wait: float = 600.0) -> int:
        """Remove the view with all that it keeps; returns the bytes freed."""
        return self.warehouse.drop(self.name, wait=wait)

    @property
    def schema(self) -> StructType:
        """The columns of the result."""
        return self._query.schema

    @property
    def reads(self) -> frozenset[str]:
        """The sources and views that this one reads."""
        return self._planner.sources

    @property
    def sources(self) -> dict[str, SourceReader]:
        """What the view reads, by name."""
        return dict(self._sources)

    @property
    def below(self) -> frozenset[str]:
        """The views that this one reads."""
        return self.reads & self.warehouse.views.keys()

    @property
    def reader(self) -> ViewReader:
        """The view as a source of others."""
        return ViewReader(self.name, self._result.path, self._query.schema, self._folder / "table.json")

    # --- inside: what the view is

    def _define(self) -> None:
        known = self.warehouse._readers(self.name)
        self._query: Query = self._engine.query(self.name, self.query, known, self.warehouse._find)
        sources = known | self._query.found
        if not self._query.deterministic and self.refresh_policy != "FULL":
            raise QueryError(
                "NOT_DETERMINISTIC",
                f'view "{self.name}" gives a new answer on every run',
                at=self._query.nondeterministic_at,
                hint='remove the non-deterministic function, or use refresh_policy="FULL"',
            )
        can_shrink = frozenset(n for n, s in sources.items() if s.can_shrink)
        self._planner = Planner(self._query.root, can_shrink, keep_states=self.refresh_policy != "FULL")
        self._sources = {n: sources[n] for n in sorted(self._planner.sources)}
        self._engine.check_storable(self.name, self._query.schema)
        self._states = {k.name: State(self._folder / "states", k) for k in self._planner.kept}
        self._memory.clear()
        self._recall = Recall(self._memory, self._sources, self._states)
        self._result = Table(self._folder / "table", self._query.schema, feed=True)

    def _check_incremental(self) -> None:
        """Refuse a view of which every run would compute all that is not row by row again."""
        upkeep = self._planner.refresh(self._planner.worst).upkeep
        reasons = [u for u in upkeep if u.reason]
        if reasons and all(u.reason or u.method in ("read", "linear", "with the one above") for u in upkeep):
            raise QueryError(
                "NEVER_INCREMENTAL",
                f'view "{self.name}" would be computed anew on every run: {reasons[0].reason}',
                at=reasons[0].text,
                hint='use refresh_policy="AUTO", or change the query',
            )

    # --- inside: one refresh

    def _reload(self) -> None:
        """See what other processes did."""
        for table in (self._result, self._history.table, *(s.table for s in self._states.values())):
            table.reload()

    def _lease(self, wait: float) -> AbstractContextManager[None]:
        return lease(self._folder / "lease", f'view "{self.name}"', wait)

    def _refresh(self, full: bool, started: float, progress: Progress) -> RefreshReport:
        if self._query.reads_clock:
            self._define()
        self._settings = self._engine.settings()
        last = self._result.last_run()
        if last is not None and last["number"] > self._history.newest:
            self._history.add(last["record"])  # that run ended between its commit and its history
        since = Reached({n: last["positions"].get(n, 0) for n in self._sources} if last else {})
        until = Reached({name: source.discover() for name, source in self._sources.items()})
        reason = self._reason_to_load(full, last, since, until)
        if reason is not None and reason.code not in _ALLOWED and self.refresh_policy == "INCREMENTAL STRICT":
            raise StateError(
                "WOULD_RECOMPUTE",
                f'view "{self.name}" would be computed from scratch: {reason}',
                hint="refresh(full=True) does it once; the last good result stays until then",
            )
        have = self._still_good(reason, last)
        if have and last is not None and reason is not None:
            # The new definition first where the old one was, over the states that both have, and then on from there.
            plan = self._planner.load(have)
            report = self._run("full", reason, plan, Reached(), since, last, started, progress, have)
            if since == until:
                return report
            on = self._refresh(False, started, progress)
            return replace(on, method="full", code=report.code, reason=report.reason)
        if reason is not None:
            method, plan = ("initial" if last is None else "full"), self._planner.load()
            since = Reached()
        else:
            moved = {n for n in self._planner.sources if self._delta(n, since, until).rows}
            if not moved and last is not None and since == until:
                if not self._tidy:  # a process that ended after its commit has left something behind
                    self._clean()
                return self._report(last["number"], "unchanged", None, started, since, until, None, Measures())
            shrinking = {n for n in moved if self._delta(n, since, until).leaving}
            method = "incremental" if moved else "unchanged"
            situation = Situation(frozenset(moved), frozenset(shrinking))
            plan = self._planner.refresh(situation)
            if self.refresh_policy == "AUTO" and last is not None:
                cheaper = self._better_anew(plan, last, since, until)
                if cheaper is not None:
                    return self._run("full", cheaper, self._planner.load(), Reached(), until, last, started, progress)
            if last is not None and self._memory.possible:
                self._memory.begin(_identity(last))
                # Memory is a cache: without it the same refresh takes longer.
                with suppress(*self._engine.query_failures):
                    return self._run_with_memory(method, plan, since, until, last, started, progress)
                self._memory.clear()
        try:
            return self._run(method, reason, plan, since, until, last, started, progress)
        except self._engine.query_failures as problem:
            if plan.situation is None or self.refresh_policy == "INCREMENTAL STRICT":
                raise
            # Rows of different versions meet in an incremental run, and an expression may fail on a pair that
            # no version has. Whether the query itself fails, only the whole answer tells.
            failed = Reason("RUN_FAILED", str(problem).splitlines()[0])
            return self._run("full", failed, self._planner.load(), Reached(), until, last, started, progress)

    def _better_anew(self, plan: Plan, last: dict[str, Any], since: Reached, until: Reached) -> Reason | None:
        """Why not to work changes in, where earlier runs say that this takes longer."""
        if not plan.steps:
            return None
        known = Experience(**last.get("experience", {}))
        changed = sum(self._delta(n, since, until).rows for n in self._sources)
        everything = sum(s.snapshot(until.at(n)).rows for n, s in self._sources.items())
        self._memory.begin(_identity(last))
        probing = self._recall.plan(plan, since, until) if self._memory.possible else plan
        why = known.better_anew(_kind(probing), changed, everything)
        return None if why is None else Reason("CHEAPER", why)

    def _run_with_memory(
        self,
        method: str,
        plan: Plan,
        since: Reached,
        until: Reached,
        last: dict[str, Any],
        started: float,
        progress: Progress,
    ) -> RefreshReport:
        """Do a plan with rows looked up in memory; of what turns out not to fit, the next attempt knows."""
        while True:
            try:
                probing = self._recall.plan(plan, since, until)
                return self._run(method, None, probing, since, until, last, started, progress)
            except MemoryFull:
                continue

    def _reason_to_load(self, full: bool, last: dict[str, Any] | None, since: Reached, until: Reached) -> Reason | None:
        if last is None:
            return Reason("FIRST_RUN")
        if full:
            return Reason("REQUESTED")
        if self.refresh_policy == "FULL":
            return Reason("POLICY_FULL")
        settings = self._settings
        if last["settings"] != settings:
            changed = sorted(k for k in settings | last["settings"] if settings.get(k) != last["settings"].get(k))
            return Reason("SETTINGS_CHANGED", ", ".join(changed))
        for name, source in self._sources.items():
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
        if last["fingerprint"] != self._planner.fingerprint:
            return Reason("CLOCK" if self._query.reads_clock else "DEFINITION_CHANGED")
        if last["version"] != self._result.version:
            return Reason("RESULT_CHANGED")
        for name, state in self._states.items():
            if name not in last["states"] or not state.readable(last["states"][name]):
                return Reason("STATE_LOST", name)
        return Reason("RESULT_LOST") if self._result.missing() else None

    def _still_good(self, reason: Reason | None, last: dict[str, Any] | None) -> frozenset[str]:
        """The states of an earlier definition that a new one has too, where nothing else has changed."""
        if last is None or reason is None or reason.code not in ("DEFINITION_CHANGED", "CLOCK"):
            return frozenset()
        if not self._sources.keys() <= last["positions"].keys():
            return frozenset()
        found = (n for n, s in self._states.items() if n in last["states"] and s.readable(last["states"][n]))
        return frozenset(found)

    def _delta(self, name: str, since: Reached, until: Reached) -> Scan:
        return self._sources[name].delta(since.at(name), until.at(name))

    def _run(
        self,
        method: str,
        reason: Reason | None,
        plan: Plan,
        since: Reached,
        until: Reached,
        last: dict[str, Any] | None,
        started: float,
        progress: Progress,
        have: frozenset[str] = frozenset(),
    ) -> RefreshReport:
        if plan.situation is None:
            self._memory.clear()
        for name, state in self._states.items():
            if last is not None and (plan.situation is not None or name in have):
                state.table.rewind(last["states"][name])
            elif not state.sound():
                state.table.drop()
        pace = Pace(last["paces"], last.get("step_paces", {})) if last else Pace()
        expected = pace.runs.get(method)
        rows_in = {n: self._delta(n, since, until).rows for n in self._sources}
        why = str(reason) if reason else None
        progress(RunBegan(self.name, method, why, len(plan.steps), rows_in, expected))
        watch = Telling(self.name, method, plan, pace.steps.get(method, {}), progress)
        read = any(self.name in view.below for view in self.warehouse.views.values())
        try:
            run = self._engine.run(
                *(self.name, plan, self._sources, self._states, self._result, since, until),
                feed=read,
                watch=watch,
                memory=self._memory if self._memory.possible else None,
            )
        except BaseException:
            self._memory.forget()
            raise
        number = last["number"] + 1 if last else 1
        report = self._report(number, method, reason, started, since, until, plan, run.measures, expected)
        pace = pace.after(method, report.seconds, report.steps)
        built = sum(s for name, s in report.steps.items() if name.startswith("index ") and name != "index new rows")
        rows = rows_in if plan.situation else {n: s.snapshot(until.at(n)).rows for n, s in self._sources.items()}
        known = Experience(**last.get("experience", {})) if last else Experience()
        if plan.steps:
            known = known.after(_kind(plan), report.seconds - built, sum(rows.values()))
        record = report.record()
        with effect("result committed"):
            self._result.commit(
                run.result_files,
                overwrite=run.overwrite,
                remove=[] if run.overwrite else run.removed,
                changes=run.changes,
                run={
                    "number": number,
                    "positions": dict(until.positions),
                    "kinds": {n: s.kind for n, s in self._sources.items()},
                    "marks": {n: s.mark(until.at(n)) for n, s in self._sources.items()},
                    "states": {n: s.table.version for n, s in self._states.items()},
                    "fingerprint": self._planner.fingerprint,
                    "settings": self._settings,
                    "paces": pace.runs,
                    "step_paces": pace.steps,
                    "experience": {"seconds": known.seconds, "rows": known.rows},
                    "record": record,
                },
            )
        self._memory.settle((number, record["started"]))
        self._recall.ran(plan)
        self._history.add(record)
        self._clean()
        return report

    def _clean(self) -> None:
        """Remove what no kept version needs, and what runs left behind that never came to their commit."""
        with effect("leftovers removed"):
            self._result.clean(self.warehouse.retain)
            for state in self._states.values():
                state.table.clean(1)
            known = set(self._states)
            for folder in (self._folder / "states").glob("*"):
                if folder.name not in known:
                    shutil.rmtree(folder, ignore_errors=True)
        self._tidy = True

    def _tell_failure(self, problem: Exception, started: float) -> None:
        """Put a failed run into the history; the problem itself is what the caller must see."""
        with suppress(Exception):
            last = self._result.last_run()
            reached = Reached(last["positions"]) if last else Reached()
            report = self._report(
                (last["number"] if last else 0) + 1, "failed", None, started, reached, reached, None, Measures()
            )
            self._history.add(report.record() | {"error": str(problem)})

    def _report(
        self,
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
        rows_in = {n: self._delta(n, since, until).rows for n in self._sources}
        return RefreshReport(
            view=self.name,
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
            states={n: s.table.bytes() for n, s in self._states.items()},
            rows_read=measures.rows_read,
            bytes_read=measures.bytes_read,
            steps=measures.seconds,
            memory=self._memory.bytes(),
        )


def _kind(plan: Plan) -> str:
    """The kind of a run, of which each has its own price."""
    if plan.situation is None:
        return FULL
    return LOOKED_UP if any(indexes(step.rel) for step in plan.steps) else SCANNED


def _identity(last: dict[str, Any]) -> tuple[int, float]:
    """What tells a run of a view from every other."""
    return last["number"], last["record"]["started"]
