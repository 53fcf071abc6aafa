"""A Spark Declarative Pipelines project as Headrace runs it."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

from headrace.api import Warehouse
from headrace.api.removal import size_of
from headrace.errors import ConfigError
from headrace.pipelines.graph import Graph
from headrace.pipelines.naming import Naming
from headrace.pipelines.registry import read_definitions
from headrace.pipelines.settings import project_settings
from headrace.pipelines.spec import find_spec, load_spec, storage_folder
from headrace.pipelines.stream import Stream, lease_of
from headrace.runtime.lease import lease
from headrace.runtime.progress import Progress, silent
from headrace.runtime.report import PipelineReport
from headrace.runtime.vacuum import Vacuum
from headrace.spark.names import name_parts
from headrace.spark.session import session_with, start_session
from headrace.spark.streams import GONE, remove_at_once


class Project:
    """The files of a project, read; its materialized views are the views of ``warehouse``."""

    def __init__(self, spec: Path, spark: SparkSession | None, master: str | None) -> None:
        self.spec_path = spec.resolve()
        self.root = self.spec_path.parent
        loaded = load_spec(self.spec_path)
        self.name = loaded.name
        folder = storage_folder(loaded, self.spec_path) / "headrace"
        settings = project_settings(loaded.configuration, self.spec_path.name)
        conf = dict(loaded.configuration) | ({"spark.master": master} if master else {})
        self._own = spark is None
        if spark is None:
            self.spark = start_session(conf)
        else:
            self.spark = session_with(spark, {k: v for k, v in conf.items() if k != "spark.master"})
        if loaded.catalog:
            self.spark.catalog.setCurrentCatalog(loaded.catalog)
        if loaded.database:
            self.spark.catalog.setCurrentDatabase(loaded.database)
        self._naming = Naming.of(self.spark, loaded.catalog, loaded.database)
        self._definitions = read_definitions(self.spark, self._naming, loaded, self.root)
        self.warehouse = Warehouse(folder, self.spark, **settings)
        self._graph = Graph(self.spark, self._definitions, self.warehouse)

    @classmethod
    def open(cls, spec: Path | None = None, *, spark: SparkSession | None = None, master: str | None = None) -> Project:
        """Read a project: by its spec, or the nearest one above the working directory. ``spark`` is the session to work
        beside; without one a session is started, by ``master`` where it is given."""
        return cls(spec if spec is not None else find_spec(Path.cwd()), spark, master)

    @property
    def places(self) -> dict[str, str]:
        """Where each element is defined, as ``file:line`` from the project's root."""
        return {name: element.at for name, element in self._definitions.elements.items()}

    @property
    def notes(self) -> dict[str, tuple[str, ...]]:
        """What is not followed of each element's definition."""
        return {name: e.notes for name, e in self._definitions.elements.items() if e.notes}

    @property
    def streams(self) -> dict[str, Stream]:
        """Streaming tables and sinks by name."""
        return self._graph.streams

    def run(
        self,
        *,
        refresh: Collection[str] = (),
        full_refresh: Collection[str] = (),
        full_refresh_all: bool = False,
        wait: float = 600.0,
        progress: Progress = silent,
        parallel: int = 2,
    ) -> PipelineReport:
        """Bring all elements up to date, or only those that are named, each after those it reads, ``parallel`` of them
        side by side. Those in
        ``full_refresh`` are computed from scratch; a streaming table then reads its sources from the beginning."""
        if full_refresh_all and (refresh or full_refresh):
            raise ConfigError(
                "CONFLICTING_PIPELINE_REFRESH_OPTIONS",
                "a full refresh of all is asked for, and names are given besides",
                hint="give either --full-refresh-all, or names to --refresh and --full-refresh",
            )
        some, anew = ({self._name(n) for n in names} for names in (refresh, full_refresh))
        chosen = some | anew or None
        return self.warehouse.refresh(
            only=chosen, full=full_refresh_all or anew, wait=wait, progress=progress, parallel=parallel
        )

    def drop(self, name: str, *, wait: float = 600.0) -> int:
        """Remove a view, a streaming table or what is known of a sink, with all that it keeps, also a view that is not
        defined any more; returns the bytes freed. Refused while another one reads it."""
        name = self._name(name)
        if name not in self.streams:
            return self.warehouse.drop(name, wait=wait)
        reads = {n: v.reads for n, v in self.warehouse.views.items()} | {n: s.below for n, s in self.streams.items()}
        above = sorted(n for n, read in reads.items() if name in read)
        if above:
            raise ConfigError(
                "VIEW_IN_USE",
                f'"{name}" is read by {", ".join(above)}',
                hint="drop those first, or define them over something else",
            )
        return self.streams[name].drop(wait=wait)

    def vacuum(self, *, forgotten: bool = False, wait: float = 600.0) -> Vacuum:
        """Remove what no kept version of any view or streaming table needs. What the project does not define any more
        is told, and removed where ``forgotten`` asks for it."""
        done = self.warehouse.vacuum(forgotten=forgotten, wait=wait)
        freed = {name: stream.vacuum(wait=wait) for name, stream in self.streams.items()}
        known, sizes, dropped = {s.folder for s in self.streams.values()}, {}, done.dropped
        for folder in sorted(f for kind in ("tables", "sinks") for f in (self.warehouse.path / kind).glob("*/")):
            if GONE in folder.name:
                dropped += size_of([folder])
                shutil.rmtree(folder, ignore_errors=True)
            elif folder not in known:
                sizes[folder.name] = size_of([folder])
                if forgotten:
                    with lease(lease_of(folder), f'"{folder.name}"', wait):
                        remove_at_once(folder)
                    dropped += sizes[folder.name]
        return Vacuum({**done.freed, **freed}, {**done.forgotten, **sizes}, dropped)

    def _name(self, text: str) -> str:
        """The element that a person means."""
        parts = {*self.warehouse.views, *self.streams}
        name = self._naming.name(name_parts(self.spark, text)) if text not in parts else text
        fold = {p.lower(): p for p in parts}
        return name if name in parts else fold.get(name.lower(), name)

    def close(self) -> None:
        """End the session where this project started it."""
        if self._own:
            self.spark.stop()
