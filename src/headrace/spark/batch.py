"""The answer from scratch: the user's own query, run by Spark on the net rows of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.ir.expr import Attr
from headrace.ir.time import Reached
from headrace.spark.catalyst import Catalyst, items
from headrace.spark.from_spark import FIELD_KEY, SOURCE_KEY
from headrace.spark.jvm import java_class
from headrace.spark.query import analysed
from headrace.spark.session import mend, session_with
from headrace.spark.sources.source import SourceReader


def batch_answer(
    spark: SparkSession, query: str | DataFrame, sources: Mapping[str, SourceReader], at: Reached
) -> DataFrame:
    """Lazily what Spark itself answers at a version: its plan of the query, with rows of sources where it has stand-ins
    for them."""
    session = session_with(spark, {})
    mend(session)
    c = Catalyst(session)
    jvm: Any = session._jvm
    leaves = java_class(jvm, "Leaves").newInstance()
    plan = analysed(session, query, {name: source.schema for name, source in sources.items()})
    for leaf in leaves.find(plan, SOURCE_KEY):
        output = items(leaf.output())
        name = output[0].metadata().getString(SOURCE_KEY)
        rows = net_rows(session, sources[name], at.at(name))._jdf.queryExecution().analyzed()
        columns = {a.name(): a for a in items(rows.output())}
        named = [c.alias(c.put(columns[a.metadata().getString(FIELD_KEY)]), c.put(a)) for a in output]
        leaves.put(leaf, c.java(c.project(named, c.put(rows))))
    return c.frame(c.put(leaves.replaced()))


def net_rows(session: SparkSession, source: SourceReader, at: int) -> DataFrame:
    """The rows of a source at a position as a plain table."""
    c = Catalyst(session)
    scan = source.snapshot(at)
    columns = source.schema.fields
    attrs = tuple(Attr(str(i), f.name, f.dataType.json()) for i, f in enumerate(columns))
    frame = scan.frame(c, attrs, range(len(columns)), len(columns)).rows().select(attrs)
    return c.frame(c.project([c.attr(a).withName(a.name) for a in attrs], frame.plan))
