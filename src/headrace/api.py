"""What people touch: a warehouse, its sources and its views."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigError, QueryError, StateError
from headrace.ir.plan import Plan
from headrace.ir.time import Reached, Situation
from headrace.planner.explain import explain
from headrace.planner.simple import Planner
from headrace.runtime.report import OperatorReport, RefreshReport
from headrace.spark.engine import Engine, Measures, Query, State, Table
from headrace.spark.paths import file_name
from headrace.spark.sources.source import Scan, SourceDescription, SourceReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLICIES = ("INCREMENTAL", "FULL")


class Warehouse:
    """A folder that holds views, their states and what is known of their sources.

    ``spark`` is the session to work in; without one a local session is started.
    """

    def __init__(self, path: str | Path, spark: SparkSession | None = None) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._engine = Engine(spark)
        self.spark: SparkSession = self._engine.spark
        self.sources: dict[str, SourceReader] = {}
        self.views: dict[str, View] = {}

    def source(self, name: str, source: SourceDescription) -> None:
        """Register a base relation under the name that queries use."""
        _check_name("source", name)
        twin = next((n for n in self.sources if n != name and n.lower() == name.lower()), None)
        if twin is not None and not self._engine.case_sensitive:
            raise ConfigError(
                "NAME_TAKEN",
                f'source "{name}": a query could not tell it from source "{twin}"',
                hint="give it another name, or set spark.sql.caseSensitive=true",
            )
        self.sources[name] = source.open(name, self.path / "sources", self.spark)

    def table(self, name: str) -> DataFrame:
        """A stand-in for a source, empty but with its columns, to build a query as a DataFrame."""
        if name not in self.sources:
            raise ConfigError("SOURCE_UNKNOWN", f'there is no source "{name}"', hint=_known(self.sources))
        return self._engine.stand_in(name, self.sources[name].schema)

    def view(self, name: str, query: str | DataFrame, *, refresh_policy: str = "INCREMENTAL") -> View:
        """Define a view, or continue one that is there: the same definition goes on where it was."""
        _check_name("view", name)
        if refresh_policy not in POLICIES:
            raise ConfigError(
                "POLICY_UNKNOWN",
                f'view "{name}": there is no refresh policy {refresh_policy!r}',
                hint=f"use one of {', '.join(POLICIES)}",
            )
        view = View(self, name, query, refresh_policy)
        self.views[name] = view
        return view


class View:
    """A named query whose result is kept up to date."""

    def __init__(self, warehouse: Warehouse, name: str, query: str | DataFrame, policy: str) -> None:
        self.warehouse = warehouse
        self.name = name
        self.query = query
        self.policy = policy
        self._engine = warehouse._engine.fork()
        self._folder = warehouse.path / "views" / file_name(name)
        self._define()

    def refresh(self) -> RefreshReport:
        """Bring the result up to date with all the data that is there now."""
        started = time.perf_counter()
        if self._query.reads_clock:
            self._define()
        last = self._last()
        since = Reached(last["positions"]) if last else Reached()
        reason = self._reason_to_load(last)
        until = self._discover()
        reason = reason or self._cut(since)
        moved = {n for n in self._sources if reason is None and self._delta(n, since, until).rows}
        if reason is None and not moved:
            return self._report("unchanged", None, started, since, until, None, Measures())
        if reason is not None:
            method, plan = ("initial" if last is None else "full"), self._planner.load()
            since = Reached()
        else:
            shrinking = {n for n in moved if self._delta(n, since, until).leaving}
            method = "incremental"
            plan = self._planner.refresh(Situation(frozenset(moved), frozenset(shrinking)))
        try:
            measures = self._run(plan, since, until, last)
        except self._engine.query_failures as problem:
            if plan.situation is None:
                raise
            # Rows of different versions meet in an incremental run, and an expression may fail on a pair that
            # no version has. Whether the query itself fails, only the whole answer tells.
            method, reason = "full", f"the incremental run failed in Spark: {str(problem).splitlines()[0]}"
            plan, since = self._planner.load(), Reached()
            measures = self._run(plan, since, until, last)
        return self._report(method, None if last is None else reason, started, since, until, plan, measures)

    def read(self) -> DataFrame:
        """The result as of the last refresh."""
        if not self._result.exists or self._result.last_run() is None:
            raise StateError("NOT_REFRESHED", f'view "{self.name}" has no result yet', hint="call refresh() first")
        return self._engine.read(self._result)

    def recompute(self) -> DataFrame:
        """What Spark answers from scratch on the data that the view has seen, for checking. Lazy."""
        last = self._last()
        reached = Reached(last["positions"]) if last else Reached()
        return self._engine.batch_answer(self.query, self._sources, reached)

    def explain(self) -> str:
        """How the view is maintained: each operator's method, the states, and the reason for each recompute."""
        planner = self._planner
        plan = planner.refresh(planner.worst)
        sizes = {n: s.table.bytes() for n, s in self._states.items()}
        return explain(self.name, plan, planner.kept, sizes)

    # --- inside

    def _define(self) -> None:
        sources = self.warehouse.sources
        self._query: Query = self._engine.query(self.name, self.query, {n: s.schema for n, s in sources.items()})
        if not self._query.deterministic and self.policy != "FULL":
            raise QueryError(
                "NOT_DETERMINISTIC",
                f'view "{self.name}" gives a new answer on every run',
                at=self._query.nondeterministic_at,
                hint='remove the non-deterministic function, or use refresh_policy="FULL"',
            )
        can_shrink = frozenset(n for n, s in sources.items() if s.can_shrink)
        self._planner = Planner(self._query.root, can_shrink, keep_states=self.policy != "FULL")
        self._sources = {n: sources[n] for n in sorted(self._planner.sources)}
        self._engine.check_storable(self.name, self._query.schema)
        self._states = {k.name: State(self._folder / "states", k) for k in self._planner.kept}
        self._result = Table(self._folder / "table", self._query.schema)

    def _last(self) -> dict[str, Any] | None:
        return self._result.last_run() if self._result.exists else None

    def _reason_to_load(self, last: dict[str, Any] | None) -> str | None:
        if last is None:
            return "there is no result yet"
        if last["fingerprint"] != self._planner.fingerprint:
            clock = " (it reads the clock)" if self._query.reads_clock else ""
            return f"the definition of the view has changed{clock}"
        if self.policy == "FULL":
            return "the refresh policy is FULL"
        return None

    def _discover(self) -> Reached:
        return Reached({name: source.discover() for name, source in self._sources.items()})

    def _cut(self, since: Reached) -> str | None:
        return next((why for n, s in self._sources.items() if (why := s.cut(since.at(n)))), None)

    def _delta(self, name: str, since: Reached, until: Reached) -> Scan:
        return self._sources[name].delta(since.at(name), until.at(name))

    def _run(self, plan: Plan, since: Reached, until: Reached, last: dict[str, Any] | None) -> Measures:
        if plan.situation is not None and last is not None:
            for name, state in self._states.items():
                state.table.rewind(last["states"][name])
        run = self._engine.run(self.name, plan, self._sources, self._states, self._result, since, until)
        self._result.commit(
            run.result_files,
            overwrite=run.overwrite,
            run={
                "positions": dict(until.positions),
                "states": {n: s.table.version for n, s in self._states.items()},
                "fingerprint": self._planner.fingerprint,
                "seconds": run.measures.seconds,
            },
        )
        return run.measures

    def _report(
        self,
        method: str,
        reason: str | None,
        started: float,
        since: Reached,
        until: Reached,
        plan: Plan | None,
        measures: Measures,
    ) -> RefreshReport:
        rows_in = {n: self._delta(n, since, until).rows for n in self._sources}
        return RefreshReport(
            view=self.name,
            method=method,
            reason=reason,
            seconds=time.perf_counter() - started,
            rows_in=rows_in,
            rows_out=measures.published,
            published=measures.how or "nothing changed",
            operators=_operators(plan, measures, rows_in) if plan else (),
            state_bytes=sum(s.table.bytes() for s in self._states.values()),
            rows_read=measures.rows_read,
            steps=measures.seconds,
        )


def _operators(plan: Plan, measures: Measures, rows_in: dict[str, int]) -> tuple[OperatorReport, ...]:
    upkeep = plan.upkeep
    below: list[list[int]] = [[] for _ in upkeep]
    above: list[int] = []
    for place, line in enumerate(upkeep):
        del above[line.depth :]
        if above:
            below[above[-1]].append(place)
        above.append(place)
    first = {line.tvr: place for place, line in reversed(list(enumerate(upkeep)))}

    def rows(place: int) -> int | None:
        """How many rows an operator's delta has: counted on the way, or as many as its input has."""
        place = first[upkeep[place].tvr]
        line = upkeep[place]
        if line.operator == "Source":
            return rows_in.get(line.text.removeprefix("Source "))
        if line.operator == "Project" and line.method == "linear" and len(below[place]) == 1:
            return rows(below[place][0])
        return measures.rows.get(line.tvr)

    entries = []
    for place, line in enumerate(upkeep):
        step = measures.step_of.get(line.tvr)
        known = [n for n in map(rows, below[place]) if n is not None]
        entries.append(
            OperatorReport(
                operator=line.operator,
                text=line.text,
                method=line.method,
                rows_in=sum(known) if known else None,
                rows_out=rows(place),
                seconds=measures.seconds.get(step) if step else None,
                step=step,
                reason=line.reason,
                depth=line.depth,
            )
        )
    return tuple(entries)


def _check_name(kind: str, name: str) -> None:
    if not name:
        raise ConfigError("NAME", f"the name of a {kind} is empty", hint="give it any other text")


def _known(names: dict[str, SourceReader]) -> str:
    return f"the registered sources are: {', '.join(sorted(names)) or 'none'}"
