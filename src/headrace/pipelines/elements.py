"""What a project's files define: elements (things that have rows) and flows (queries that write to them).

The words are Spark's. Codes of errors are Spark's error classes, so that its users find them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headrace.errors import ConfigError, QueryError
from headrace.pipelines.naming import Naming

VIEW = "materialized view"
TABLE = "streaming table"
INLINED = "temporary view"
SINK = "sink"


@dataclass(frozen=True)
class Element:
    """``at`` is where it is defined, as ``file:line``. A sink has a format and options, a table may have a schema and a
    comment. ``notes`` tell what of its definition is not followed."""

    name: str
    kind: str
    at: str
    properties: Mapping[str, str] = field(default_factory=dict)
    schema: StructType | str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    notes: tuple[str, ...] = ()


def not_followed(format: str | None, layout: Sequence[str]) -> tuple[str, ...]:
    """What of a table's definition Headrace passes over: it writes Delta tables, and lays their files out itself."""
    notes = [f"format {format}: it is kept as a Delta table"] if format and format.lower() != "delta" else []
    if layout:
        notes.append(f"partitioned or clustered by {', '.join(layout)}: its files are laid out by its own keys")
    return tuple(notes)


@dataclass(frozen=True)
class Flow:
    """A query that writes to an element: SQL text, or a function that gives a DataFrame. ``naming`` tells what names
    mean in it, ``conf`` are settings that hold for it alone."""

    name: str
    target: str
    query: str | Callable[[], DataFrame]
    at: str
    naming: Naming
    conf: Mapping[str, str] = field(default_factory=dict)


class Definitions:
    """All elements and flows of a project, each name once."""

    def __init__(self) -> None:
        self.elements: dict[str, Element] = {}
        self.flows: dict[str, Flow] = {}

    def add(self, element: Element) -> None:
        other = self.elements.get(element.name)
        if other is not None:
            raise ConfigError(
                "PIPELINE_DUPLICATE_IDENTIFIERS.OUTPUT",
                f'{element.kind} "{element.name}" has the name of a {other.kind} defined at {other.at}',
                at=element.at,
                hint="give one of them another name",
            )
        self.elements[element.name] = element

    def add_flow(self, flow: Flow) -> None:
        other = self.flows.get(flow.name)
        if other is not None:
            raise ConfigError(
                "PIPELINE_DUPLICATE_IDENTIFIERS.FLOW",
                f'flow "{flow.name}" into "{flow.target}" has the name of a flow defined at {other.at}',
                at=flow.at,
                hint="give one of them another name",
            )
        self.flows[flow.name] = flow

    def into(self, element: Element) -> list[Flow]:
        return [f for f in self.flows.values() if f.target == element.name]

    def check(self) -> None:
        """Every flow has a target, every element as many flows as it may have, and there is something to do."""
        for flow in self.flows.values():
            if flow.target not in self.elements:
                raise ConfigError(
                    "TABLE_OR_VIEW_NOT_FOUND",
                    f'flow "{flow.name}" writes to "{flow.target}", which is not defined in this project',
                    at=flow.at,
                    hint="create it with create_streaming_table or create_sink, or correct the target",
                )
        for element in self.elements.values():
            flows = self.into(element)
            if not flows and element.kind != SINK:
                raise ConfigError(
                    "PIPELINE_DATASET_WITHOUT_FLOW",
                    f'no query writes to {element.kind} "{element.name}"',
                    at=element.at,
                    hint="attach a query to its definition, or define a flow that writes to it",
                )
            if len(flows) > 1 and element.kind in (VIEW, INLINED):
                raise QueryError(
                    "MATERIALIZED_VIEW_WITH_MULTIPLE_QUERIES",
                    f'{element.kind} "{element.name}" has {len(flows)} queries: {", ".join(f.name for f in flows)}',
                    at=flows[1].at,
                    hint="only streaming tables and sinks take several flows",
                )
        if not any(e.kind in (VIEW, TABLE) for e in self.elements.values()):
            raise ConfigError(
                "RUN_EMPTY_PIPELINE",
                "the project defines no materialized view and no streaming table",
                hint="see that the globs under libraries in the spec match its files",
            )
