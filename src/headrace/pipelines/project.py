"""A Spark Declarative Pipelines project as Headrace runs it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headrace.api import Warehouse
from headrace.pipelines.graph import Graph
from headrace.pipelines.naming import Naming
from headrace.pipelines.registry import read_definitions
from headrace.pipelines.spec import find_spec, load_spec, storage_folder
from headrace.pipelines.stream import Stream
from headrace.spark.session import start_session


class Project:
    """The files of a project, read; its materialized views are the views of ``warehouse``."""

    def __init__(self, spec: Path, spark: SparkSession | None, master: str | None) -> None:
        self.spec_path = spec.resolve()
        self.root = self.spec_path.parent
        loaded = load_spec(self.spec_path)
        self.name = loaded.name
        folder = storage_folder(loaded, self.spec_path) / "headrace"
        conf = dict(loaded.configuration) | ({"spark.master": master} if master else {})
        if spark is None:
            self.spark = start_session(conf)
        else:
            self.spark = SparkSession(spark.sparkContext, spark._jsparkSession.newSession())
            for key, value in conf.items():
                self.spark.conf.set(key, value)
        if loaded.catalog:
            self.spark.catalog.setCurrentCatalog(loaded.catalog)
        if loaded.database:
            self.spark.catalog.setCurrentDatabase(loaded.database)
        naming = Naming.of(self.spark, loaded.catalog, loaded.database)
        definitions = read_definitions(self.spark, naming, loaded, self.root)
        self.warehouse = Warehouse(folder, self.spark)
        self._graph = Graph(self.spark, definitions, self.warehouse)

    @classmethod
    def open(cls, spec: Path | None = None, *, spark: SparkSession | None = None, master: str | None = None) -> Project:
        """Read a project: by its spec, or the nearest one above the working directory. ``spark`` is the session to work
        beside; without one a session is started, by ``master`` where it is given."""
        return cls(spec if spec is not None else find_spec(Path.cwd()), spark, master)

    @property
    def streams(self) -> dict[str, Stream]:
        """Streaming tables and sinks by name."""
        return self._graph.streams
