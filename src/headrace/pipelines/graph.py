"""From definitions to views, tables and sinks that can be refreshed: every element after those it reads.

An element is made ready when something asks for it, so the order of files does not matter, and what asks in a circle
is found on the way. Ready means: the session has a temporary view by its name. For a temporary view of the project
that is its query, which Spark inlines; for all others it is a stand-in without rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.api import Warehouse
from headrace.errors import HeadraceError, QueryError
from headrace.pipelines.elements import INLINED, SINK, VIEW, Definitions, Element, Flow
from headrace.pipelines.session import reading
from headrace.pipelines.settings import table_policy, view_settings
from headrace.pipelines.stream import Stream, StreamingTable, StreamSink
from headrace.spark.names import Named, Qualified, is_command, name_parts, named_tables, parsed, quoted, renamed
from headrace.spark.paths import file_name
from headrace.spark.session import set_for_now
from headrace.spark.sources.delta_table import DeltaTable
from headrace.spark.streams import StreamFlow, StreamTable, merged_schema

_STREAM = "headrace.stream."


class Graph:
    """The elements of a project as a warehouse has them, and the streams beside it."""

    def __init__(self, spark: SparkSession, definitions: Definitions, warehouse: Warehouse) -> None:
        self.streams: dict[str, Stream] = {}
        self._spark = spark
        self._definitions = definitions
        self._warehouse = warehouse
        self._fold: Callable[[str], str] = str if spark.conf.get("spark.sql.caseSensitive") == "true" else str.lower
        self._names = {self._fold(name): name for name in definitions.elements}
        self._below: dict[str, set[str]] = {}
        self._inlined: dict[str, set[str]] = {}
        self._way: list[str] = []
        for name in definitions.elements:
            self._ready(name)

    # --- what functions and queries read

    def _asked(self, name: str) -> Element | None:
        """An element that the one in hand reads, made ready; None where the name is none of the project's."""
        known = self._names.get(self._fold(name))
        if known is None:
            return None
        element = self._definitions.elements[known]
        self._ready(known)
        if self._way:
            self._below[self._way[-1]] |= self._below[known] if element.kind == INLINED else {known}
            if element.kind == INLINED:
                self._inlined[self._way[-1]] |= {known} | self._inlined[known]
        return element

    def _table(self, flow: Flow, name: str, *, stream: bool) -> str:
        parts = name_parts(self._spark, name)
        element = self._asked(flow.naming.name(parts))
        if element is None:
            return name
        return quoted(self._readable(element, flow, stream=stream))

    def _text(self, flow: Flow, query: str) -> str:
        def name(table: Named) -> tuple[str, ...] | None:
            element = self._asked(flow.naming.name(table.parts))
            if element is None:
                return flow.naming.elsewhere(table.parts)
            found = (self._readable(element, flow, stream=table.streaming),)
            return None if table.parts == found else found

        try:
            if is_command(self._spark, parsed(self._spark, query)):
                raise QueryError(
                    "UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND",
                    f'flow "{flow.name}" runs a command, and a pipeline only defines: {query.strip()[:80]}',
                    at=flow.at,
                    hint="give spark.sql a query",
                )
            tables, columns = named_tables(self._spark, query)
        except AnalysisException:
            return query  # Spark tells what is wrong with it when it is run
        return renamed(query, tables, name, self._shorter(flow, tables, columns))

    def _shorter(self, flow: Flow, tables: list[Named], columns: list[Qualified]) -> dict[Qualified, tuple[int, str]]:
        """Columns that are written with the long name of an element, which its temporary view does not have."""
        found: dict[Qualified, tuple[int, str]] = {}
        for table in tables:
            element = self._names.get(self._fold(flow.naming.name(table.parts)))
            for column in columns if element is not None and not table.aliased else ():
                for count in range(2, len(column.parts)):
                    if self._names.get(self._fold(flow.naming.name(column.parts[:count]))) == element:
                        found.setdefault(column, (count, table.parts[-1]))
        return found

    def _readable(self, element: Element, flow: Flow, *, stream: bool) -> str:
        """The name of the temporary view through which an element is read."""
        if element.kind == SINK:
            raise QueryError("TABLE_OR_VIEW_NOT_FOUND", f'"{element.name}" is a sink and cannot be read', at=flow.at)
        if not stream or element.kind == INLINED:
            return element.name
        if element.kind == VIEW:
            raise QueryError(
                "STREAM_OF_VIEW",
                f'flow "{flow.name}" reads materialized view "{element.name}" as a stream, and its rows change',
                at=flow.at,
                hint="read it without STREAM in a materialized view, or read the streaming table below it",
            )
        return _STREAM + element.name

    # --- making ready

    def _ready(self, name: str) -> None:
        if name in self._way:
            circle = [*self._way[self._way.index(name) :], name]
            raise QueryError(
                "PIPELINE_GRAPH_NOT_TOPOLOGICALLY_SORTED",
                f"there is a cycle: {' reads '.join(circle)}",
                at=self._definitions.elements[name].at,
                hint="define one of them without the other",
            )
        if name in self._below:
            return
        element = self._definitions.elements[name]
        self._way.append(name)
        self._below[name] = set()
        self._inlined[name] = set()
        try:
            match element.kind:
                case "temporary view":
                    self._inline(element)
                case "materialized view":
                    self._view(element)
                case "streaming table":
                    self._stream_table(element)
                case _:
                    self._sink(element)
        finally:
            self._way.pop()

    def _inline(self, element: Element) -> None:
        (flow,) = self._definitions.into(element)
        with self._told(flow), set_for_now(self._spark, flow.conf):
            self._frame(flow).createOrReplaceTempView(quoted(element.name))

    def _view(self, element: Element) -> None:
        (flow,) = self._definitions.into(element)
        with self._told(flow):
            query = self._text(flow, flow.query) if isinstance(flow.query, str) else self._frame(flow)
            settings = view_settings(element)
            view = self._warehouse.view(element.name, query, conf=self._conf(flow), comment=element.comment, **settings)
            self._check_schema(element, view.schema)
        self._warehouse.table(element.name).createOrReplaceTempView(quoted(element.name))

    def _stream_table(self, element: Element) -> None:
        flows = self._definitions.into(element)
        frames = [self._streaming(flow, element) for flow in flows]
        schema = self._declared(element) or merged_schema(element.name, [f.schema for f in frames])
        folder = self._warehouse.path / "tables" / file_name(element.name)
        table = StreamTable(self._spark, element.name, folder, schema, element.comment)
        stream = StreamingTable(element.name, frozenset(self._below[element.name]), self._flows(flows), table)
        stream.policy = table_policy(element)
        self._feed(stream)
        table.exist()
        self._warehouse.source(element.name, DeltaTable(table.table.path))
        self._warehouse.table(element.name).createOrReplaceTempView(quoted(element.name))
        table.stream().createOrReplaceTempView(quoted(_STREAM + element.name))

    def _sink(self, element: Element) -> None:
        flows = self._definitions.into(element)
        for flow in flows:
            self._streaming(flow, element)
        checkpoints = self._warehouse.path / "sinks" / file_name(element.name)
        below = frozenset(self._below[element.name])
        kind = str(element.format)
        self._feed(StreamSink(element.name, below, self._flows(flows), self._spark, kind, element.options, checkpoints))

    def _feed(self, stream: Stream) -> None:
        self.streams[stream.name] = stream
        self._warehouse.feeds[stream.name] = stream

    def _flows(self, flows: list[Flow]) -> tuple[StreamFlow, ...]:
        return tuple(StreamFlow(f.name, partial(self._frame, f), f.conf) for f in flows)

    def _streaming(self, flow: Flow, element: Element) -> DataFrame:
        with self._told(flow):
            frame = self._frame(flow)
            if not frame.isStreaming:
                raise QueryError(
                    "INVALID_FLOW_QUERY_TYPE.BATCH_RELATION_FOR_STREAMING_TABLE",
                    f'flow "{flow.name}" is not a stream, and {element.kind} "{element.name}" takes streams only',
                    hint="read with spark.readStream or FROM STREAM …, or make it a materialized view",
                )
            return frame

    def _frame(self, flow: Flow) -> DataFrame:
        if isinstance(flow.query, str):
            return self._spark.sql(self._text(flow, flow.query))
        with reading(_Reads(self, flow)):
            frame = flow.query()
        if not isinstance(frame, DataFrame):
            raise QueryError(
                "NOT_A_QUERY",
                f'flow "{flow.name}" gives a {type(frame).__name__}, not a DataFrame',
                hint="return a DataFrame from the function",
            )
        return frame

    def _conf(self, flow: Flow) -> dict[str, str]:
        """The settings with which a view is computed: its own, and before them those of the temporary views in it."""
        found: dict[str, tuple[str, Flow]] = {}
        for name in sorted(self._inlined[flow.target]):
            (inner,) = self._definitions.into(self._definitions.elements[name])
            for key, value in inner.conf.items():
                if key not in flow.conf and found.setdefault(key, (value, inner))[0] != value:
                    raise QueryError(
                        "SETTINGS_CONFLICT",
                        f'view "{flow.target}" reads temporary views "{found[key][1].name}" and "{inner.name}", for'
                        f" which {key} is set to {found[key][0]} and to {value}",
                        hint=f"set {key} for the view itself",
                    )
        return {**{key: value for key, (value, _) in found.items()}, **flow.conf}

    # --- checks

    def _declared(self, element: Element) -> StructType | None:
        if element.schema is None or isinstance(element.schema, StructType):
            return element.schema
        declared = StructType.fromDDL(element.schema)
        assert isinstance(declared, StructType)
        return declared

    def _check_schema(self, element: Element, found: StructType) -> None:
        declared = self._declared(element)
        if declared is None:
            return
        wanted, given = ([(f.name, f.dataType) for f in schema] for schema in (declared, found))
        if wanted != given:
            raise QueryError(
                "UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA",
                f'materialized view "{element.name}" is declared as ({declared.simpleString()[7:-1]}),'
                f" and its query gives ({found.simpleString()[7:-1]})",
                hint="cast the columns in the query, or correct the schema",
            )

    @contextmanager
    def _told(self, flow: Flow) -> Iterator[None]:
        """Say of every problem which flow it is in."""
        try:
            yield
        except HeadraceError as problem:
            if problem.at and problem.at.split(" ")[0].count(":") and problem.code != "NOT_DETERMINISTIC":
                raise
            where = f"{problem.at}  [{flow.at}]" if problem.at else flow.at
            raise type(problem)(problem.code, problem.message, at=where, hint=problem.hint) from problem
        except PySparkException as problem:
            message = str(problem).split("\n\nJVM stacktrace")[0].split(";\n'")[0].strip()
            raise QueryError(
                "NOT_RESOLVED",
                f'flow "{flow.name}": Spark does not understand the query: {message}',
                at=flow.at,
                hint=f"the project defines: {', '.join(self._definitions.elements)}",
            ) from problem
        except Exception as problem:
            if isinstance(flow.query, str):
                raise
            raise QueryError(
                "FLOW_FAILED",
                f'the function of flow "{flow.name}" failed: {type(problem).__name__}: {problem}',
                at=flow.at,
                hint="correct the function",
            ) from problem


class _Reads:
    """What the function of one flow reads."""

    def __init__(self, graph: Graph, flow: Flow) -> None:
        self._graph = graph
        self._flow = flow

    def table(self, name: str, *, stream: bool) -> str:
        return self._graph._table(self._flow, name, stream=stream)

    def text(self, query: str) -> str:
        return self._graph._text(self._flow, query)
