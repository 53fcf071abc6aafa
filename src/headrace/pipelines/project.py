"""A Spark Declarative Pipelines project as Headrace runs it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

from headrace.api import Warehouse
from headrace.errors import ConfigError
from headrace.pipelines.graph import Graph
from headrace.pipelines.naming import Naming
from headrace.pipelines.registry import read_definitions
from headrace.pipelines.spec import find_spec, load_spec, storage_folder
from headrace.pipelines.stream import Stream
from headrace.runtime.progress import Progress, silent
from headrace.runtime.report import PipelineReport
from headrace.spark.names import name_parts
from headrace.spark.session import session_with, start_session


class Project:
    """The files of a project, read; its materialized views are the views of ``warehouse``."""

    def __init__(self, spec: Path, spark: SparkSession | None, master: str | None) -> None:
        self.spec_path = spec.resolve()
        self.root = self.spec_path.parent
        loaded = load_spec(self.spec_path)
        self.name = loaded.name
        folder = storage_folder(loaded, self.spec_path) / "headrace"
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
        self.warehouse = Warehouse(folder, self.spark)
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
    ) -> PipelineReport:
        """Bring all elements up to date, or only those that are named, each after those it reads. Those in
        ``full_refresh`` are computed from scratch; a streaming table then reads its sources from the beginning."""
        if full_refresh_all and (refresh or full_refresh):
            raise ConfigError(
                "CONFLICTING_PIPELINE_REFRESH_OPTIONS",
                "a full refresh of all is asked for, and names are given besides",
                hint="give either --full-refresh-all, or names to --refresh and --full-refresh",
            )
        some, anew = ({self._name(n) for n in names} for names in (refresh, full_refresh))
        chosen = some | anew or None
        return self.warehouse.refresh(only=chosen, full=full_refresh_all or anew, wait=wait, progress=progress)

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
