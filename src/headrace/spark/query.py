"""Reading a user's query: SQL text or a DataFrame, over registered sources and over tables that it names itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.errors import ConfigError, QueryError
from headrace.ir.rel import Node
from headrace.spark.catalyst import Catalyst, items
from headrace.spark.from_spark import Reader
from headrace.spark.leaves import kind, leaves, over
from headrace.spark.names import is_command, parsed, quoted
from headrace.spark.session import active, quiet_errors, reading_session
from headrace.spark.sources.automatic import (
    FORMATS,
    NotASource,
    delta_path,
    file_table,
    is_pattern,
    path_in_sql,
    source_names,
)
from headrace.spark.sources.delta_table import DeltaTable
from headrace.spark.sources.source import SourceDescription, SourceReader
from headrace.spark.stand_in import source_of, stand_in

Open = Callable[[str, SourceDescription], SourceReader]

_CLOCK = re.compile(r"\b(current_date|current_timestamp|now|localtimestamp|current_time)\(", re.IGNORECASE)
_FILE = re.compile(r"\b(input_file_name|input_file_block_start|input_file_block_length)\(", re.IGNORECASE)


class Query:
    """A query as Spark understands it: its operators, its output, and whether the clock is part of it.

    ``sources`` can be named in it; ``open`` opens those that it names by path or by the catalog, which are ``found``.
    ``analysed`` is Spark's plan over stand-ins for all of them.
    """

    def __init__(
        self,
        catalyst: Catalyst,
        name: str,
        query: str | DataFrame,
        sources: Mapping[str, SourceReader],
        open: Open,
    ) -> None:
        self.name = name
        self.text = query if isinstance(query, str) else None
        self.found: dict[str, SourceReader] = {}
        self._described: dict[str, SourceDescription] = {}
        self._catalyst = catalyst
        self._sources = sources
        self._open = open
        self._jvm = catalyst.jvm
        session = reading_session(catalyst.spark)
        with active(session):
            execution = self._execution(session, query)
            self.analysed = execution.analyzed()
            self.deterministic = bool(self.analysed.deterministic())
            self.nondeterministic_at = None if self.deterministic else _nondeterministic(self.analysed)
            if self.nondeterministic_at and _FILE.search(self.analysed.toString()):
                raise QueryError(
                    "FILE_OF_ROW",
                    f'view "{name}" asks in which file a row is, which is not part of a table',
                    at=self.nondeterministic_at,
                    hint="leave it out: files of a table may be rewritten without any row changing",
                )
            self.reads_clock = bool(_CLOCK.search(self.analysed.toString()))
            self.schema: StructType = StructType.fromJson(json.loads(self.analysed.schema().json()))
            self.root: Node = Reader(catalyst).read(execution.optimizedPlan())

    def _execution(self, session: SparkSession, query: str | DataFrame) -> Any:
        if isinstance(query, str):
            try:
                with quiet_errors():  # what Spark says is told by the error below
                    execution = self._resolved(session, query)
            except (AnalysisException, ParseException) as problem:
                code = "SYNTAX" if isinstance(problem, ParseException) else "NOT_RESOLVED"
                raise QueryError(
                    code,
                    f'view "{self.name}": Spark does not understand the query: {_message(problem)}',
                    hint=f"the registered sources are: {', '.join(sorted(self._sources)) or 'none'}",
                ) from problem
        else:
            execution = self._execute(session, query._jdf.queryExecution().analyzed())
        logical = execution.analyzed()
        if logical.output().size() == 0:
            raise QueryError("NOT_A_QUERY", f'view "{self.name}" has no columns', hint="give a SELECT")
        if logical.isStreaming():
            raise QueryError("STREAMING", f'view "{self.name}" reads a stream', hint="read the table behind it")
        others = self._stand_ins(session, logical)
        return self._execute(session, over(self._jvm, logical, others)) if others else execution

    def _execute(self, session: SparkSession, plan: Any) -> Any:
        made = self._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
        return made.queryExecution()

    # --- SQL

    def _resolved(self, session: SparkSession, query: str) -> Any:
        """The query over stand-ins for the sources that its text names; for all of them where that is not enough, for
        a name can also be put together (``IDENTIFIER('a' || 'b')``)."""
        text = query.lower()
        named = [n for n in self._sources if any(spelling in text for spelling in _spellings(n.lower()))]
        for source in named:
            stand_in(session, source, self._sources[source].schema).createOrReplaceTempView(quoted(source))
        try:
            return self._with_paths(session, query)
        except AnalysisException as problem:
            rest = [n for n in self._sources if n not in named]
            if isinstance(problem, ParseException) or not rest:
                raise
            for source in rest:
                stand_in(session, source, self._sources[source].schema).createOrReplaceTempView(quoted(source))
            return self._with_paths(session, query)

    def _with_paths(self, session: SparkSession, query: str) -> Any:
        """The query with paths resolved that Spark does not know or would not remember: those of Delta tables, and
        patterns, of which it keeps what they match."""
        statement = parsed(session, query)
        if is_command(session, statement):  # Spark would carry it out
            raise QueryError("NOT_A_QUERY", f'view "{self.name}" is a command, not a query', hint="give a SELECT")
        others = []
        for leaf in leaves(self._jvm, statement):
            if kind(leaf) == "RelationTimeTravel":
                why = NotASource("a view follows a table, and never stays at one version", "leave out AS OF")
                raise self._refused(leaf.relation(), why)
            named = path_in_sql(leaf)
            if named is None:
                continue
            form, path = named
            if form == "delta":
                others.append((leaf, self._delta(session, leaf, path)))
            elif form in FORMATS and is_pattern(path):
                options = {str(k): str(v) for k, v in dict(leaf.options().asCaseSensitiveMap()).items()}
                others.append((leaf, _analysed(session.read.format(form).options(**options).load(path))))
        return self._execute(session, over(self._jvm, statement, others))

    def _delta(self, session: SparkSession, leaf: Any, path: str) -> Any:
        try:
            folder = delta_path(path)
        except NotASource as problem:
            raise self._refused(leaf, problem) from problem
        name = str(folder)
        self._find(name, DeltaTable(folder))
        return _analysed(stand_in(session, name, self.found[name].schema))

    # --- tables that are not registered

    def _stand_ins(self, session: SparkSession, plan: Any) -> list[tuple[Any, Any]]:
        """For each leaf that is a table of files its stand-in, under the exprIds that the leaf has."""
        tables = []
        for leaf in leaves(self._jvm, plan):
            given = source_of(leaf)
            if given is not None:
                if given not in self._sources and given not in self.found:
                    raise QueryError(
                        "NOT_A_SOURCE",
                        f'view "{self.name}" reads "{given}", which is not a source of this warehouse',
                        hint=f"the registered sources are: {', '.join(sorted(self._sources)) or 'none'}",
                    )
                continue
            try:
                table = file_table(leaf)
            except NotASource as problem:
                raise self._refused(leaf, problem) from problem
            if table is not None:
                tables.append((leaf, table))
        others = []
        for (leaf, table), name in zip(tables, source_names(t for _, t in tables), strict=True):
            if isinstance(self._described.get(name), DeltaTable):
                name = f"{name} as {table.format}"
            self._find(name, table)
            empty = _analysed(stand_in(session, name, table.schema))
            others.append((leaf, renamed(self._catalyst, empty, range(len(table.schema)), leaf)))
        return others

    def _find(self, name: str, table: SourceDescription) -> None:
        if self._described.setdefault(name, table) == table and name in self.found:
            return
        if name in self._sources:
            raise ConfigError(
                "NAME_TAKEN",
                f'view "{self.name}" reads {name} by itself, and another source is registered under that name',
                hint="register the other one under another name",
            )
        self.found[name] = self._open(name, table)

    def _refused(self, leaf: Any, problem: NotASource) -> QueryError:
        what = str(leaf.toString()).strip().splitlines()[0]
        what = what if len(what) <= 160 else what[:159] + "…"
        return QueryError(
            "NOT_A_SOURCE",
            f'view "{self.name}" reads {what}, which cannot be a source: {problem.reason}',
            at=what,
            hint=problem.hint,
        )


def renamed(c: Catalyst, plan: Any, places: Any, leaf: Any) -> Any:
    """Columns of a plan, by their places, under the names and exprIds that a leaf gives them."""
    given = plan.output()
    columns = [c.alias(given.apply(i), a) for i, a in zip(places, items(leaf.output()), strict=True)]
    return c.java(c.project(columns, plan))


def _analysed(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _spellings(name: str) -> set[str]:
    """A name as it can stand in a query: within quotes, a quote is written twice."""
    return {name, name.replace("`", "``"), name.replace('"', '""')}


def _nondeterministic(plan: Any) -> str:
    """The first expression that makes a plan non-deterministic, as text with its operator."""
    for child in items(plan.children()):
        if not child.deterministic():
            return _nondeterministic(child)
    return str(plan.toString()).strip().splitlines()[0]


def _message(problem: Exception) -> str:
    return str(problem).split("\n\nJVM stacktrace")[0].split(";\n'")[0].strip()
