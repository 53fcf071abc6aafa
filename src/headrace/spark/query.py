"""Reading a user's query: SQL text, or a DataFrame over stand-ins for the sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from headrace.errors import QueryError
from headrace.ir.rel import Node
from headrace.spark.catalyst import Catalyst, items
from headrace.spark.from_spark import FIELD_KEY, SOURCE_KEY, Reader
from headrace.spark.names import quoted
from headrace.spark.session import active, reading_session

_CLOCK = re.compile(r"\b(current_date|current_timestamp|now|localtimestamp|current_time)\(", re.IGNORECASE)


class Query:
    """A query as Spark understands it: its operators, its output, and whether the clock is part of it."""

    def __init__(
        self, catalyst: Catalyst, name: str, query: str | DataFrame, schemas: Mapping[str, StructType]
    ) -> None:
        self.name = name
        self.text = query if isinstance(query, str) else None
        spark = catalyst.spark
        session = reading_session(spark)
        with active(session):
            execution = _execution(session, name, query, schemas)
            analysed = execution.analyzed()
            if analysed.isStreaming():
                raise QueryError("STREAMING", f'view "{name}" reads a stream', hint="read the table behind it")
            self.deterministic = bool(analysed.deterministic())
            self.nondeterministic_at = None if self.deterministic else _nondeterministic(analysed)
            self.reads_clock = bool(_CLOCK.search(analysed.toString()))
            self.schema: StructType = StructType.fromJson(_json(analysed.schema().json()))
            self.root: Node = Reader(catalyst).read(execution.optimizedPlan())


def analysed(session: SparkSession, query: str | DataFrame, schemas: Mapping[str, StructType]) -> Any:
    """A query as Spark resolves it, over stand-ins for the sources."""
    if isinstance(query, str):
        return _resolved(session, query, schemas).analyzed()
    return query._jdf.queryExecution().analyzed()


def stand_in(session: SparkSession, name: str, schema: StructType) -> DataFrame:
    """An empty relation that the optimiser keeps as a leaf and whose columns say where they come from."""
    fields = [StructField(f.name, f.dataType, True, {SOURCE_KEY: name, FIELD_KEY: f.name}) for f in schema]
    tagged = StructType(fields)
    return session.createDataFrame(session.sparkContext.emptyRDD(), tagged)


def _execution(session: SparkSession, name: str, query: str | DataFrame, schemas: Mapping[str, StructType]) -> Any:
    if isinstance(query, str):
        try:
            execution = _resolved(session, query, schemas)
        except (AnalysisException, ParseException) as problem:
            kind = "SYNTAX" if isinstance(problem, ParseException) else "NOT_RESOLVED"
            raise QueryError(
                kind,
                f'view "{name}": Spark does not understand the query: {_message(problem)}',
                hint=f"the registered sources are: {', '.join(sorted(schemas)) or 'none'}",
            ) from problem
    else:
        plan = query._jdf.queryExecution().analyzed()
        jvm: Any = session._jvm
        execution = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan).queryExecution()
    logical = execution.analyzed()
    if "CommandResult" in execution.commandExecuted().toString() or logical.output().size() == 0:
        raise QueryError("NOT_A_QUERY", f'view "{name}" is a command, not a query', hint="give a SELECT")
    return execution


def _resolved(session: SparkSession, query: str, schemas: Mapping[str, StructType]) -> Any:
    """The query over stand-ins for the sources that its text names; for all of them where that is not enough, for a
    name can also be put together (``IDENTIFIER('a' || 'b')``)."""
    text = query.lower()
    named = [n for n in schemas if any(spelling in text for spelling in _spellings(n.lower()))]
    for source in named:
        stand_in(session, source, schemas[source]).createOrReplaceTempView(quoted(source))
    try:
        return session.sql(query)._jdf.queryExecution()
    except AnalysisException as problem:
        rest = [n for n in schemas if n not in named]
        if isinstance(problem, ParseException) or not rest:
            raise
        for source in rest:
            stand_in(session, source, schemas[source]).createOrReplaceTempView(quoted(source))
        return session.sql(query)._jdf.queryExecution()


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


def _json(text: str) -> Any:
    import json

    return json.loads(text)
