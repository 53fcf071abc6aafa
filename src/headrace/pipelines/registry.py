"""Where the decorators of ``pyspark.pipelines`` and a project's SQL files put what they define."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.pipelines.cli import PipelineSpec
from pyspark.pipelines.flow import AutoCdcFlow
from pyspark.pipelines.flow import Flow as SparkFlow
from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context
from pyspark.pipelines.output import MaterializedView, Output, Sink, StreamingTable, Table, TemporaryView
from pyspark.pipelines.source_code_location import SourceCodeLocation
from pyspark.sql import SparkSession

from headrace.errors import ConfigError, HeadraceError, QueryError
from headrace.pipelines.elements import INLINED, SINK, TABLE, VIEW, Definitions, Element, Flow, not_followed
from headrace.pipelines.naming import Naming
from headrace.pipelines.session import no_mutations
from headrace.pipelines.sql_file import SqlFile, auto_cdc
from headrace.spark.names import name_parts

_KINDS: dict[type[Output], str] = {MaterializedView: VIEW, StreamingTable: TABLE, TemporaryView: INLINED, Sink: SINK}


class Registry(GraphElementRegistry):
    """Collects definitions; no query is looked at yet. Files are told relative to ``root``."""

    def __init__(self, spark: SparkSession, naming: Naming, root: Path) -> None:
        self.definitions = Definitions()
        self._spark = spark
        self._naming = naming
        self._root = root

    def register_output(self, output: Output) -> None:
        kind = _KINDS.get(type(output))
        at = self._place(output.source_code_location)
        if kind is None:
            raise ConfigError(
                "UNSUPPORTED_PIPELINES_DATASET_TYPE",
                f'"{output.name}" is a {type(output).__name__}, which Headrace does not know',
                at=at,
            )
        table = output if isinstance(output, Table) else None
        sink = output if isinstance(output, Sink) else None
        self.definitions.add(
            Element(
                self._name(output.name),
                kind,
                at,
                properties=dict(table.table_properties) if table else {},
                schema=table.schema if table else None,
                format=sink.format if sink else None,
                options=dict(sink.options) if sink else {},
                comment=output.comment,
                notes=not_followed(table.format, [*(table.partition_cols or ()), *(table.cluster_by or ())])
                if table
                else (),
            )
        )

    def register_flow(self, flow: SparkFlow) -> None:
        at = self._place(flow.source_code_location)
        target = self._name(flow.target)
        name = target if flow.name == flow.target else flow.name
        self.definitions.add_flow(Flow(name, target, flow.func, at, self._naming, dict(flow.spark_conf)))

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        raise auto_cdc(flow.name or flow.target, self._place(flow.source_code_location))

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        SqlFile(self._spark, self._naming, file_path).define(sql_text, self.definitions)

    def _name(self, text: str) -> str:
        return self._naming.name(name_parts(self._spark, text))

    def _place(self, place: SourceCodeLocation) -> str:
        file = Path(place.filename)
        shown = file.relative_to(self._root) if file.is_relative_to(self._root) else file
        return f"{shown}:{place.line_number}"


def read_definitions(spark: SparkSession, naming: Naming, spec: PipelineSpec, root: Path) -> Definitions:
    """What the files of a project define, as its spec lists them."""
    registry = Registry(spark, naming, root)
    with _folder(root), graph_element_registration_context(registry):
        for library in spec.libraries:
            for file in sorted(root.glob(library.include)):
                if file.is_file() and "__pycache__" not in file.parts:
                    _read(file, registry, spark, root)
    registry.definitions.check()
    return registry.definitions


def _read(file: Path, registry: Registry, spark: SparkSession, root: Path) -> None:
    shown = file.relative_to(root)
    if file.suffix == ".sql":
        registry.register_sql(file.read_text(encoding="utf-8"), shown)
    elif file.suffix == ".py":
        found = importlib.util.spec_from_file_location(file.stem, str(file))
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        module.__dict__["spark"] = spark
        try:
            with no_mutations():
                found.loader.exec_module(module)
        except (HeadraceError, KeyboardInterrupt):
            raise
        except Exception as problem:
            raise _failed(problem, file, shown) from problem
    else:
        raise ConfigError(
            "PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION",
            f"{shown} is neither a Python nor a SQL file",
            hint="correct the globs under libraries in the spec, or move the file",
        )


def _failed(problem: Exception, file: Path, shown: Path) -> QueryError:
    """A Python file that cannot be imported, with the line of it that failed last."""
    lines = []
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    if isinstance(problem, SyntaxError) and problem.lineno:
        lines.append(problem.lineno)
    code = problem.getCondition() if isinstance(problem, PySparkException) else None
    return QueryError(
        code or "DEFINITIONS_FILE",
        f"{shown} cannot be read: {type(problem).__name__}: {problem}",
        at=f"{shown}:{lines[-1]}" if lines else str(shown),
        hint="correct the file",
    )


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Work in a folder: paths in definitions are relative to the spec."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)
