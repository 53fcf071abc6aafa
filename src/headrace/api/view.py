"""A view: what it is, and how it is refreshed."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.api.check import check
from headrace.api.expected import Expected, Ran
from headrace.api.knowledge import Knowledge
from headrace.api.progressive import advance, explain_runs
from headrace.api.progressive import why as why_run
from headrace.api.recall import Recall
from headrace.api.refreshing import refresh
from headrace.api.replanning import Remembered, by_method, kept_by, plan_for, there
from headrace.api.replanning import why as why_refresh
from headrace.api.status import arrivals, last_run, position, unread
from headrace.cost.model import SMALL
from headrace.errors import ConfigError, HeadraceError, QueryError, StateError
from headrace.faults import effect
from headrace.ir.plan import Kept
from headrace.ir.time import Reached, Situation
from headrace.ir.timeline import Timeline
from headrace.planner.explain import explain, explain_data, explain_timeline, explain_why
from headrace.planner.rates import Rates
from headrace.planner.simple import Planner
from headrace.runtime.arrivals import KEPT, Prediction, predict
from headrace.runtime.arrivals import History as Arrivals
from headrace.runtime.check import Check
from headrace.runtime.goal import Goal
from headrace.runtime.lease import lease
from headrace.runtime.policy import Policy
from headrace.runtime.progress import Progress, silent
from headrace.runtime.report import RefreshReport
from headrace.runtime.status import LastRun, ViewStatus
from headrace.spark.engine import History, Memory, Query, State, Table
from headrace.spark.paths import file_name
from headrace.spark.sources.source import SourceReader
from headrace.spark.sources.view_table import ViewReader
from headrace.stats.estimate import Change

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from headrace.api.warehouse import Warehouse

_EXPECTED = 0.01  # of a source's rows change from run to run, as long as nobody knows better


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
        goal: Goal,
        comment: str | None,
        timeline: Timeline | None = None,
    ) -> None:
        self.warehouse = warehouse
        self.timeline = timeline
        self.name = name
        self.query = query
        self.refresh_policy = refresh_policy
        self.policy = policy
        self.goal = goal
        self.comment = comment
        self._engine = warehouse._engine.fork(conf)
        self._folder = warehouse.path / "views" / file_name(name)
        self._history = History(self._folder / "history")
        self._tidy = False
        self._quiet: deque[float] = deque(maxlen=KEPT)  # when refreshes found nothing, since one that found something
        self._memory = Memory(warehouse._budget, goal.memory)
        self._observer: Callable[[Ran], None] | None = None  # who is told of runs with what was expected of them
        self._define()
        if refresh_policy.startswith("INCREMENTAL"):
            self._check_incremental()

    def refresh(self, *, full: bool = False, wait: float = 600.0, progress: Progress = silent) -> RefreshReport:
        """Bring the result up to date with all the data that is there now. ``full`` computes it from scratch;
        ``wait`` is how many seconds to wait for another process that refreshes the view; ``progress`` is told of every
        step (``runtime.progress``). Of a view with a timeline it does the next run, as ``advance``."""
        return self._run(lambda: self._next(full, progress), wait)

    def advance(self, *, wait: float = 600.0, progress: Progress = silent) -> RefreshReport:
        """Do the next run of the view's timeline. One that delivers nothing works ahead on the data that is there, and
        keeps what later runs need; after the last the timeline begins again."""
        if self.timeline is None:
            raise ConfigError(
                "TIMELINE",
                f'view "{self.name}" has no timeline',
                hint="give one: timeline=hr.runs([...]), or refresh()",
            )
        return self._run(lambda: self._next(False, progress), wait)

    def _next(self, full: bool, progress: Progress) -> RefreshReport:
        return refresh(self, full, progress) if self.timeline is None else advance(self, progress, anew=full)

    def _run(self, run: Callable[[], RefreshReport], wait: float) -> RefreshReport:
        try:
            with self._lease(wait):
                return run()
        except OSError as problem:
            raise StateError(
                "STORAGE",
                f'view "{self.name}": files of the warehouse cannot be written or read: {problem}',
                hint="see to space and permissions, and refresh again; the view still reads as before",
            ) from problem

    def read(self, version: int | None = None) -> DataFrame:
        """The result as of the last refresh, or as of an earlier version of its table."""
        table = self._result.again()
        last = table.last_run()
        if last is None or not last.get("timeline", {"delivered": True})["delivered"]:
            raise StateError("NOT_REFRESHED", f'view "{self.name}" has no result yet', hint="call refresh() first")
        return self._engine.read(table, version)

    def recompute(self) -> DataFrame:
        """What Spark answers from scratch on the data that the view has seen, for checking. Lazy."""
        last = self._result.again().last_run()
        seen = last.get("timeline", {}).get("shown", last["positions"]) if last else {}
        reached = Reached(seen)
        return self._engine.batch_answer(self._query, self._sources, reached)

    def explain(self) -> str:
        """How the view is maintained: each operator's method, the states, and the reason for each recompute."""
        return (explain if self.timeline is None else explain_timeline)(self.explain_data())

    def why(self, operator: str) -> str:
        """Why operators are maintained as they are: for those whose text has these words, every way to their change in
        the next refresh, or in the runs of the timeline still to come, with its cost; an arrow is at the least."""
        return explain_why(why_run(self, operator) if self.timeline else why_refresh(self, operator))

    def explain_data(self, *, costs: bool = True) -> dict[str, Any]:
        """The same facts as plain data, for programs; without ``costs`` no source is looked at."""
        if self.timeline is not None:
            return explain_runs(self)
        planner = self._planner
        plan = planner.load() if self.refresh_policy == "FULL" else plan_for(self, planner.worst)
        sizes = {n: s.table.again().bytes() for n, s in self._states.items()}
        last = self._result.again().last_run()
        told = self._costs(last) if costs and self.refresh_policy != "FULL" else []
        return explain_data(
            *(self.name, plan, planner.kept, sizes),
            policy=self.refresh_policy,
            seconds=last["paces"] if last else {},
            memory=self._memory.bytes(),
            costs=told,
            kept_by=kept_by(self),
            methods=self._methods(last) if told else {},
        )

    def _methods(self, last: Mapping[str, Any] | None) -> dict[str, float]:
        """What the next delta costs by single methods, where there is enough data for seconds to tell something."""
        at = Reached({n: s.discover() for n, s in self._sources.items()})
        return by_method(self, last, at) if self._knowledge.everything(at) > SMALL else {}

    def _costs(self, last: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """What the ways to refresh are expected to cost for the delta that is expected next: as earlier ones were, or
        of every source a hundredth where there was none."""
        try:
            reached = Reached({n: position(last, n, s) if last else s.discover() for n, s in self._sources.items()})
            rows = {n: s.snapshot(reached.at(n)).rows for n, s in self._sources.items()}
        except HeadraceError:  # a source that cannot be read is told of elsewhere
            return []
        if not any(rows.values()):
            return []
        found = predict(arrivals(last))
        told = {n: Change(p.inserted.mean, 0.0, p.deleted.mean) for n, p in found.items() if p.inserted.sample}
        changes = told if any(told.values()) else {n: Change(_EXPECTED * r) for n, r in rows.items()}
        lost = frozenset(n for n, c in changes.items() if c.deletes)
        plan = plan_for(self, Situation(frozenset(n for n, c in changes.items() if c), lost))
        plans = [self._knowledge.load, plan]
        if self._memory.possible:
            probing = self._recall.probing(plan, reached)
            plans += [probing] if self._recall.large(probing) else []
        return Expected(self, last, reached, reached, changes).alternatives(plans)

    def history(self) -> DataFrame:
        """All runs, the failed ones too: when, how and why, rows by source, seconds by step, sizes."""
        return self._engine.read(self._history.table.again())

    def waiting(self) -> dict[str, int]:
        """Rows that are not read yet, by source; all of its rows where the view will have to be computed anew."""
        last = self._result.again().last_run()
        return {n: unread(s, position(last, n, s)) for n, s in self._sources.items()}

    def predict(self, horizon: float | None = None) -> dict[str, Prediction]:
        """The next delta of each source: its rows, the chance that there are any, and whether no more are expected, by
        what earlier runs found. ``horizon`` is the seconds from the last run to the next; without it the next is taken
        to be like those before it."""
        known = arrivals(self._result.again().last_run())
        return predict({name: known.get(name, Arrivals()) for name in self._sources}, horizon)

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
        self._planned: list[Remembered] = []  # by cost
        self._seen: deque[Remembered] = deque(maxlen=KEPT)  # sizes that came once
        self._decided: dict[str, Any] | None = None  # what to keep for changes that are usual
        self._result = Table(self._folder / "table", self._query.schema, feed=True, comment=self.comment)
        self._use(self._planner.kept if self.timeline is None else ())
        if self.timeline is None and self.refresh_policy != "FULL" and self._result.exists:
            with suppress(StateError):  # who refreshes or reads the view is told
                self._keep(there(self, self._result.last_run()))

    def _use(self, states: Iterable[Kept]) -> None:
        """Have these states; what was known of others, and in memory for them, is of no use."""
        self._states = {k.name: State(self._folder / "states", k) for k in states}
        self._memory.clear()
        self._knowledge = Knowledge(self._planner, self._sources, self._states)
        self._recall = Recall(
            *(self.name, self._memory, self._sources, self._states, self._knowledge),
            *(self.warehouse._shares, Rates(self.warehouse._prices), partial(plan_for, self)),
        )

    def _keep(self, states: tuple[Kept, ...]) -> None:
        """Have these states from now on."""
        if {k.name for k in states} != set(self._states):
            self._planner.adopt(states)
            self._use(states)

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

    # --- inside: files

    def _reload(self) -> None:
        """See what other processes did."""
        for table in (self._result, self._history.table, *(s.table for s in self._states.values())):
            table.reload()

    def _lease(self, wait: float) -> AbstractContextManager[None]:
        return lease(self._folder / "lease", f'view "{self.name}"', wait)

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
