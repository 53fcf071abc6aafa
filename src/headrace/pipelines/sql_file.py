"""The statements of a SQL file, split and parsed by Spark, as elements and flows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType, _parse_datatype_json_string

from headrace.errors import QueryError
from headrace.pipelines.elements import INLINED, TABLE, VIEW, Definitions, Element, Flow, not_followed
from headrace.pipelines.naming import Naming


class SqlFile:
    """One file. ``SET`` and ``USE`` hold for the statements that follow them in it."""

    def __init__(self, spark: SparkSession, naming: Naming, path: Path) -> None:
        self._spark = spark
        self._naming = naming
        self._path = path
        self._conf: dict[str, str] = {}

    def define(self, text: str, into: Definitions) -> None:
        for plan, line in self._statements(text):
            self._define(plan, f"{self._path}:{line}", into)

    def _statements(self, text: str) -> Iterator[tuple[Any, int]]:
        jvm: Any = self._spark._jvm
        split = jvm.org.apache.spark.sql.pipelines.graph.SqlGraphRegistrationContext.splitSqlFileIntoQueries
        try:
            found = split(self._spark._jsparkSession, text, str(self._path))
        except ParseException as problem:
            message = str(problem).split("\n\nJVM stacktrace")[0].strip()
            raise QueryError(
                "SYNTAX",
                f"Spark does not understand a statement: {message}",
                at=str(self._path),
                hint="correct the statement; a file may hold several, with a semicolon between them",
            ) from problem
        for i in range(found.size()):
            statement = found.apply(i)
            yield statement.plan(), int(statement.queryOrigin().line().get())

    def _define(self, plan: Any, at: str, into: Definitions) -> None:
        match str(plan.getClass().getSimpleName()):
            case "CreateMaterializedViewAsSelect":
                self._table(VIEW, plan, at, into, query=str(plan.originalText()))
            case "CreateStreamingTableAsSelect":
                self._table(TABLE, plan, at, into, query=str(plan.originalText()))
            case "CreateStreamingTable":
                self._table(TABLE, plan, at, into, query=None)
            case "CreateViewCommand":
                name = plan.name()
                parts = [str(p.get()) for p in (name.catalog(), name.database()) if p.isDefined()]
                self._view((*parts, str(name.table())), plan, at, into)
            case "CreateView":
                self._view(_parts(plan.child().nameParts()), plan, at, into)
            case "CreateFlowCommand":
                self._flow(plan, at, into)
            case "SetCommand":
                self._set(plan, at)
            case "SetNamespaceCommand":
                self._naming = self._naming.within(_parts(plan.namespace()))
            case "SetCatalogCommand":
                self._naming = self._naming.within_catalog(str(plan.catalogName().toString()))
            case "CreateStreamingTableAutoCdc":
                raise auto_cdc(self._naming.name(_parts(plan.name().nameParts())), at)
            case other:
                raise QueryError(
                    "PIPELINE_SQL_GRAPH_ELEMENT_REGISTRATION_ERROR",
                    f"a pipeline's SQL file cannot hold this statement ({other})",
                    at=at,
                    hint="use CREATE MATERIALIZED VIEW, STREAMING TABLE, TEMPORARY VIEW or FLOW, SET, or USE",
                )

    def _table(self, kind: str, plan: Any, at: str, into: Definitions, query: str | None) -> None:
        name = self._naming.name(_parts(plan.name().nameParts()))
        spec = plan.tableSpec()
        layout = [str(plan.partitioning().apply(i).describe()) for i in range(plan.partitioning().size())]
        notes = not_followed(_optional(spec.provider()), layout)
        jvm: Any = self._spark._jvm
        as_java = jvm.scala.jdk.javaapi.CollectionConverters.asJava(spec.properties())
        into.add(
            Element(
                *(name, kind, at),
                properties=dict(as_java),
                schema=self._columns(plan),
                comment=_optional(spec.comment()),
                notes=notes,
            )
        )
        if query is not None:
            into.add_flow(Flow(name, name, query, at, self._naming, dict(self._conf)))

    def _columns(self, plan: Any) -> StructType | None:
        columns = [plan.columns().apply(i) for i in range(plan.columns().size())]
        if not columns:
            return None
        return StructType(
            [StructField(str(c.name()), _parse_datatype_json_string(c.dataType().json()), True) for c in columns]
        )

    def _view(self, parts: tuple[str, ...], plan: Any, at: str, into: Definitions) -> None:
        name = self._naming.name(parts)
        into.add(Element(name, INLINED, at))
        into.add_flow(Flow(name, name, str(plan.originalText().get()), at, self._naming, dict(self._conf)))

    def _flow(self, plan: Any, at: str, into: Definitions) -> None:
        name = ".".join(_parts(plan.name().nameParts()))
        operation = plan.flowOperation()
        kind = str(operation.getClass().getSimpleName())
        if kind != "InsertIntoStatement":
            raise auto_cdc(name, at)
        target = self._naming.name(_parts(operation.table().multipartIdentifier()))
        origin = operation.query().origin()
        query = str(origin.sqlText().get())[origin.startIndex().get() : origin.stopIndex().get() + 1]
        into.add_flow(Flow(name, target, query, at, self._naming, dict(self._conf)))

    def _set(self, plan: Any, at: str) -> None:
        pair = plan.kv()
        if not pair.isDefined() or not pair.get()._2().isDefined():
            raise QueryError(
                "PIPELINE_SQL_GRAPH_ELEMENT_REGISTRATION_ERROR",
                "SET without a value has nothing to set",
                at=at,
                hint="write SET key = value",
            )
        self._conf[str(pair.get()._1())] = str(pair.get()._2().get())


def auto_cdc(flow: str, at: str) -> QueryError:
    return QueryError(
        "AUTO_CDC",
        f'flow "{flow}" is an AUTO CDC flow, which Headrace does not run',
        at=at,
        hint="keep the changes as rows of a Folder(changes=True) or of a Delta table with its change feed on, and"
        " define a materialized view over it",
    )


def _optional(option: Any) -> str | None:
    return str(option.get()) if option.isDefined() else None


def _parts(seq: Any) -> tuple[str, ...]:
    return tuple(str(seq.apply(i)) for i in range(seq.size()))


__all__ = ["SqlFile", "auto_cdc"]
