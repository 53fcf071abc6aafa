"""The door to Spark for the layers above: one object with what they need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.errors import QueryError
from headrace.ir.plan import Plan
from headrace.ir.probe import Index
from headrace.ir.time import Reached
from headrace.spark.batch import batch_answer
from headrace.spark.catalyst import Catalyst
from headrace.spark.compare import Difference, differences
from headrace.spark.delta_log import Table
from headrace.spark.execute import Run
from headrace.spark.history import History
from headrace.spark.measures import Measures, Watch
from headrace.spark.memory import Budget, Memory, MemoryFull
from headrace.spark.query import Open, Query
from headrace.spark.schema import storable
from headrace.spark.session import named_jobs, session_with, start_session
from headrace.spark.settings import meaning
from headrace.spark.sources.source import SourceReader
from headrace.spark.stand_in import stand_in
from headrace.spark.state import State


class Engine:
    """Spark for one view, or for the warehouse itself. Attributes are bound for one view's query."""

    query_failures = (PySparkException, Py4JJavaError)
    few: int | None = None  # rows up to which a step is done without tasks; tests let them be none

    def __init__(self, spark: SparkSession | None) -> None:
        self.spark = spark if spark is not None else start_session()

    @staticmethod
    def said(problem: Exception) -> str:
        """The first line of what a query's failure says; of one in Java, what its first cause says."""
        if isinstance(problem, Py4JJavaError):
            cause = problem.java_exception
            while cause.getCause() is not None:
                cause = cause.getCause()
            return str(cause.toString()).strip().splitlines()[0]
        return next(iter(str(problem).strip().splitlines()), type(problem).__name__)

    def fork(self, conf: Mapping[str, str]) -> Engine:
        """The same for another view, with settings of its own where it has some."""
        return Engine(session_with(self.spark, conf) if conf else self.spark)

    @property
    def case_sensitive(self) -> bool:
        return self.spark.conf.get("spark.sql.caseSensitive") == "true"

    def stand_in(self, name: str, schema: StructType) -> DataFrame:
        return stand_in(self.spark, name, schema)

    def query(self, name: str, query: str | DataFrame, sources: Mapping[str, SourceReader], open: Open) -> Query:
        self.catalyst = Catalyst(self.spark)
        return Query(self.catalyst, name, query, sources, open)

    def check_storable(self, view: str, schema: StructType) -> None:
        names = [f.name.lower() for f in schema]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise QueryError(
                "COLUMN_TWICE",
                f'view "{view}" has two columns named {twice[0]}',
                hint="give one of them another name",
            )
        for f in schema:
            if not storable(f.dataType):
                raise QueryError(
                    "TYPE_NOT_STORABLE",
                    f'view "{view}": a Delta table cannot hold column {f.name} of type {f.dataType.simpleString()}',
                    hint="cast it to another type",
                )

    def run(
        self,
        view: str,
        plan: Plan,
        sources: Mapping[str, SourceReader],
        states: Mapping[str, State],
        result: Table,
        since: Reached,
        until: Reached,
        *,
        feed: bool,
        fold: Collection[str] = (),
        watch: Watch | None = None,
        memory: Memory | None = None,
    ) -> Run:
        """Do a plan, and then fold some states."""
        with named_jobs(self.spark, f'headrace: view "{view}"'):
            tables = (sources, states, result)
            run = Run(self.catalyst, *tables, since, until, feed=feed, watch=watch, memory=memory, few=self.few)
            try:
                run.run(plan)
                run.fold(fold)
            finally:
                self.catalyst.end()
        return run

    def build(
        self,
        view: str,
        wanted: Sequence[Index],
        sources: Mapping[str, SourceReader],
        states: Mapping[str, State],
        result: Table,
        since: Reached,
        memory: Memory,
    ) -> None:
        """Build indexes as of the version from which a run will begin."""
        with named_jobs(self.spark, f'headrace: view "{view}"'):
            Run(self.catalyst, sources, states, result, since, since, memory=memory, few=self.few).build(wanted)

    def read(self, table: Table, version: int | None = None) -> DataFrame:
        """The rows of a table as it is now, or was at a version, in the user's session."""
        c = Catalyst(self.spark)  # of its own: a run may be using the view's in another thread
        return c.frame(c.parquet(table.paths(version), table.stored_schema(version)))

    def settings(self) -> dict[str, str]:
        """The settings that change what a query means."""
        return meaning(self.spark)

    def batch_answer(self, query: Query, sources: Mapping[str, SourceReader], at: Reached) -> DataFrame:
        return batch_answer(self.spark, query, sources, at)

    def differences(self, actual: DataFrame, expected: DataFrame, shown: int) -> tuple[Difference, Difference]:
        return differences(actual, expected, shown)


__all__ = ["Budget", "Engine", "History", "Measures", "Memory", "MemoryFull", "Query", "Run", "State", "Table"]
