"""A warehouse: its sources, its views, and the refresh of all of them."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.view import View
from headrace.errors import ConfigError, QueryError
from headrace.runtime.report import PipelineError, PipelineReport, RefreshReport
from headrace.spark.engine import Engine
from headrace.spark.paths import file_name
from headrace.spark.sources.automatic import source_paths
from headrace.spark.sources.source import SourceDescription, SourceReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLICIES = ("AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL")


class Warehouse:
    """A folder that holds views, their states and what is known of their sources.

    ``spark`` is the session to work in; without one a local session is started. ``retain`` is how many versions of
    each view's table stay readable.
    """

    def __init__(self, path: str | Path, spark: SparkSession | None = None, *, retain: int = 10) -> None:
        if retain < 1:
            raise ConfigError("RETAIN", "retain must be at least 1: the newest version of a view stays readable")
        self.path = Path(path)
        self.retain = retain
        self.path.mkdir(parents=True, exist_ok=True)
        self._engine = Engine(spark)
        self.spark: SparkSession = self._engine.spark
        self.sources: dict[str, SourceReader] = {}
        self.views: dict[str, View] = {}

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

    def view(self, name: str, query: str | DataFrame, *, refresh_policy: str = "AUTO") -> View:
        """Define a view, or continue one that is there: the same definition goes on where it was."""
        self._check_name("view", name)
        if refresh_policy not in POLICIES:
            raise ConfigError(
                "POLICY_UNKNOWN",
                f'view "{name}": there is no refresh policy {refresh_policy!r}',
                hint=f"use one of {', '.join(POLICIES)}",
            )
        view = View(self, name, query, refresh_policy)
        if name in self._below(view):
            raise QueryError(
                "CYCLE",
                f'view "{name}" would read itself, by way of {", ".join(sorted(view.below))}',
                hint="define it over other views",
            )
        self.views[name] = view
        return view

    def refresh(self, *, full: bool = False, wait: float = 600.0) -> PipelineReport:
        """Refresh all views, each after those it reads. One that fails keeps its last good result; so do the views
        above it, the others go on, and when all is done the first failure is raised with the report as its note."""
        refreshed: dict[str, RefreshReport] = {}
        failed: dict[str, Exception] = {}
        skipped: dict[str, str] = {}
        for name in TopologicalSorter({n: v.below for n, v in self.views.items()}).static_order():
            blocked = next((b for b in sorted(self.views[name].below) if b in failed or b in skipped), None)
            if blocked is not None:
                skipped[name] = skipped.get(blocked, blocked)
                continue
            try:
                refreshed[name] = self.views[name].refresh(full=full, wait=wait)
            except Exception as problem:
                failed[name] = problem
        report = PipelineReport(refreshed, failed, skipped)
        if failed:
            raise PipelineError(
                "VIEWS_FAILED",
                f"{len(failed)} of {len(self.views)} views could not be refreshed\n{report}",
                report=report,
                hint="mend what each says and refresh again: what was refreshed stays, the rest is tried anew",
            ) from next(iter(failed.values()))
        return report

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


def _known(names: dict[str, SourceReader]) -> str:
    return f"there are: {', '.join(sorted(names)) or 'none'}"
