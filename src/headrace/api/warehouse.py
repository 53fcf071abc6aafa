"""A warehouse: its sources, its views, and the refresh of all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.feed import Feed
from headrace.api.prices import known_prices
from headrace.api.removal import remove_folder, vacuum
from headrace.api.shares import Shares
from headrace.api.status import statuses
from headrace.api.view import View
from headrace.api.wave import Wave
from headrace.errors import ConfigError, QueryError
from headrace.ir.timeline import Timeline
from headrace.runtime.goal import Goal, parse_goal
from headrace.runtime.memory_size import MemorySize, in_bytes
from headrace.runtime.policy import Policy
from headrace.runtime.policy_text import parse
from headrace.runtime.progress import Progress, silent
from headrace.runtime.report import PipelineError, PipelineReport
from headrace.runtime.status import ViewStatus
from headrace.runtime.timeline_text import at_its_times, parse_timeline
from headrace.runtime.vacuum import Vacuum
from headrace.spark.engine import Budget, Engine
from headrace.spark.paths import file_name
from headrace.spark.sources.automatic import source_paths
from headrace.spark.sources.source import SourceDescription, SourceReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLICIES = ("AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL")


class Warehouse:
    """A folder that holds views, their states and what is known of their sources.

    ``spark`` is the session to work in; without one a local session is started. ``retain`` is how many versions of
    each view's table stay readable. ``memory`` is what all views together may take to look rows up by key between
    refreshes ("2g", or bytes; 0 for none); without it, a quarter of the heap of Spark's JVM, or of what the
    executors of a cluster have for storage.
    """

    def __init__(
        self, path: str | Path, spark: SparkSession | None = None, *, retain: int = 10, memory: MemorySize | None = None
    ) -> None:
        if retain < 1:
            raise ConfigError("RETAIN", "retain must be at least 1: the newest version of a view stays readable")
        self.path = Path(path)
        self.retain = retain
        self.path.mkdir(parents=True, exist_ok=True)
        self._engine = Engine(spark)
        self.spark: SparkSession = self._engine.spark
        self._prices = known_prices(self.path, self.spark.sparkContext.defaultParallelism)
        self._shares = Shares()
        self._budget = Budget(self.spark, None if memory is None else in_bytes(memory))
        self.sources: dict[str, SourceReader] = {}
        self.views: dict[str, View] = {}
        self.feeds: dict[str, Feed] = {}

    def source(self, name: str, source: SourceDescription) -> None:
        """Register a base relation under the name that queries use."""
        self._check_name("source", name)
        self.sources[name] = self._open(name, source)

    def table(self, name: str) -> DataFrame:
        """A stand-in for a source or a view, empty but with its columns, to build a query as a DataFrame."""
        readers = self._readers("")
        if name not in readers:
            raise ConfigError("SOURCE_UNKNOWN", f'there is no source or view "{name}"', hint=_known(readers))
        return self._engine.stand_in(name, readers[name].schema)

    def view(
        self,
        name: str,
        query: str | DataFrame,
        *,
        policy: Policy | str | None = None,
        refresh_policy: str = "AUTO",
        conf: Mapping[str, str] | None = None,
        goal: Goal | str | None = None,
        comment: str | None = None,
        timeline: Timeline | str | None = None,
    ) -> View:
        """Define a view, or continue one that is there: the same definition goes on where it was.

        ``policy`` says when a service refreshes it (``every("10 min") | after_rows(1000)``, also as text); without one
        that is when anything it reads has changed. ``refresh_policy`` says how. ``conf`` are settings of Spark's that
        hold for this view alone. ``goal`` is what to refresh it for (``least_latency(memory="2g")``, also as text).
        ``comment`` is what its table says of itself. ``timeline`` (``runs(["14:00", "24:00"], weights=[0.3, 1])``) lets
        early runs work ahead on what has come, at their price, for a result that is due later (``advance``); as text
        that is ``14:00 x0.3, 24:00``. Without a policy a service does them at these times of the day."""
        self._check_name("view", name)
        if refresh_policy not in POLICIES:
            raise ConfigError(
                "POLICY_UNKNOWN",
                f'view "{name}": there is no refresh policy {refresh_policy!r}',
                hint=f"use one of {', '.join(POLICIES)}",
            )
        ahead = parse_timeline(timeline) if isinstance(timeline, str) else timeline
        when = parse(policy) if isinstance(policy, str) else policy
        when = at_its_times(ahead) if when is None and ahead is not None else when
        what = parse_goal(goal) if isinstance(goal, str) else goal or Goal()
        view = View(self, name, query, refresh_policy, when, conf or {}, what, comment, ahead)
        if name in self._below(view):
            raise QueryError(
                "CYCLE",
                f'view "{name}" would read itself, by way of {", ".join(sorted(view.below))}',
                hint="define it over other views",
            )
        self.views[name] = view
        return view

    def refresh(
        self,
        *,
        only: Collection[str] | None = None,
        full: bool | Collection[str] = False,
        wait: float = 600.0,
        progress: Progress = silent,
        parallel: int = 2,
    ) -> PipelineReport:
        """Refresh all views, each after those it reads and ``parallel`` of them side by side, and feeds where there are
        some. One that fails keeps its last good result; so do those above it, the others go on, and when all is done
        the first failure is raised with the report as its note.

        ``only`` names those to refresh: what they read stays as it is unless it is named too. ``full`` computes all of
        them from scratch, or those that it names. A feed that reads one which begins anew must begin anew too."""
        parts: dict[str, View | Feed] = {**self.feeds, **self.views}
        chosen = frozenset(parts) if only is None else self._known(only)
        anew = set(self._known(full) if not isinstance(full, bool) else chosen if full else ())
        below = self._graph()
        for name in TopologicalSorter(below).static_order():
            if name in self.feeds and any(b in anew and b in self.feeds for b in below[name]):
                anew.add(name)
        wave = Wave(
            *(parts, below, chosen | anew, frozenset(anew)), wait=wait, progress=progress, parallel=max(parallel, 1)
        )
        report = wave.run()
        if report.failed:
            raise PipelineError(
                "VIEWS_FAILED",
                f"{len(report.failed)} of {len(chosen | anew)} views could not be refreshed\n{report}",
                report=report,
                hint="mend what each says and refresh again: what was refreshed stays, the rest is tried anew",
            ) from next(iter(report.failed.values()))
        return report

    def status(self, *, only: Collection[str] | None = None) -> dict[str, ViewStatus]:
        """How all views stand, or those in ``only``, each after those it reads. New data is looked for, none is run."""
        chosen = frozenset(self.views) if only is None else self._known(only) & self.views.keys()
        needed = chosen.union(*(self._below(self.views[name]) for name in chosen))
        found = statuses(self.views[name] for name in self._in_order() if name in needed)
        return {name: status for name, status in found.items() if name in chosen}

    def drop(self, name: str, *, wait: float = 600.0) -> int:
        """Remove a view with all that it keeps, also one that is not defined any more; returns the bytes freed."""
        folder = self.path / "views" / file_name(name)
        above = sorted(n for n, v in self.views.items() if name in v.below)
        if above:
            raise ConfigError(
                "VIEW_IN_USE",
                f'view "{name}" is read by {", ".join(above)}',
                hint="drop those first, or define them over something else",
            )
        if name not in self.views and not folder.is_dir():
            raise ConfigError("VIEW_UNKNOWN", f'there is no view "{name}"', hint=_known(self.views))
        freed = remove_folder(folder, f'view "{name}"', wait) if folder.is_dir() else 0
        dropped = self.views.pop(name, None)
        if dropped is not None:
            dropped._memory.clear()
            self._shares.withdraw(name)
        return freed

    def vacuum(self, *, forgotten: bool = False, wait: float = 600.0) -> Vacuum:
        """Remove what no kept version of any view needs. Folders of views that are not defined any more are told, and
        removed where ``forgotten`` asks for it."""
        return vacuum(self.path / "views", list(self.views.values()), forgotten=forgotten, wait=wait)

    def _in_order(self) -> Iterable[str]:
        """The views, each after those it reads."""
        return TopologicalSorter({n: v.below for n, v in self.views.items()}).static_order()

    def _graph(self) -> dict[str, frozenset[str]]:
        """What each view and each feed reads of the others."""
        parts = {**{n: f.below for n, f in self.feeds.items()}, **{n: v.reads for n, v in self.views.items()}}
        return {name: frozenset(below & parts.keys()) for name, below in parts.items()}

    def _known(self, names: Collection[str]) -> frozenset[str]:
        for name in names:
            if name not in self.views and name not in self.feeds:
                raise ConfigError(
                    "VIEW_UNKNOWN", f'there is no view "{name}"', hint=_known({**self.feeds, **self.views})
                )
        return frozenset(names)

    def _open(self, name: str, source: SourceDescription) -> SourceReader:
        return source.open(name, self.path / "sources", self.spark)

    def _find(self, name: str, source: SourceDescription) -> SourceReader:
        """Open a table that a query names by itself. What a view publishes is read under the view's name, so that it
        is refreshed first."""
        folder = str((self.path / "views").absolute())
        inside = next((p for p in source_paths(source) if p.startswith(folder + "/")), None)
        if inside is not None:
            place = inside[len(folder) + 1 :].split("/")[0]
            view = next((n for n in self.views if file_name(n) == place), place)
            raise QueryError(
                "NOT_A_SOURCE",
                f'the query reads {inside}, which belongs to view "{view}"',
                hint=f'read the view by its name: "{view}" in SQL, table("{view}") in a DataFrame',
            )
        return self._open(name, source)

    def _readers(self, name: str) -> dict[str, SourceReader]:
        """What a view by that name can read: the sources, and all other views."""
        return self.sources | {n: v.reader for n, v in self.views.items() if n != name}

    def _below(self, view: View) -> set[str]:
        """All views that a view reads, by way of others too."""
        found: set[str] = set()
        waiting = set(view.below)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting |= self.views[name].below
        return found

    def _check_name(self, kind: str, name: str) -> None:
        if not name:
            raise ConfigError("NAME", f"the name of a {kind} is empty", hint="give it any other text")
        others: dict[str, object] = {**self.sources, **self.views}
        same = self.sources if kind == "source" else self.views
        fold = str if self._engine.case_sensitive else str.lower
        twin = next((n for n in others if fold(n) == fold(name) and not (n == name and n in same)), None)
        if twin is not None:
            other = "source" if twin in self.sources else "view"
            raise ConfigError(
                "NAME_TAKEN",
                f'{kind} "{name}": a query could not tell it from {other} "{twin}"',
                hint="give it another name, or set spark.sql.caseSensitive=true where they differ in case",
            )


def _known(names: Collection[str]) -> str:
    return f"there are: {', '.join(sorted(names)) or 'none'}"
