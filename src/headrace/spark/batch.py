"""The answer from scratch: the user's own query, run by Spark on the net rows of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.ir.expr import Attr
from headrace.ir.time import Reached
from headrace.spark.catalyst import Catalyst, items
from headrace.spark.leaves import leaves, over
from headrace.spark.query import Query, renamed
from headrace.spark.session import mend
from headrace.spark.sources.source import SourceReader
from headrace.spark.stand_in import FIELD_KEY, source_of, tag


def batch_answer(spark: SparkSession, query: Query, sources: Mapping[str, SourceReader], at: Reached) -> DataFrame:
    """Lazily what Spark itself answers at a version: its own plan of the query, with rows in the place of stand-ins."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    mend(session)
    c = Catalyst(session)
    others = []
    for leaf in leaves(c.jvm, query.analysed):
        name = source_of(leaf)
        if name is not None and name in sources:  # Spark drops the others, for no row of them can matter
            others.append((leaf, _rows(c, leaf, sources[name], at.at(name))))
    return c.frame(over(c.jvm, query.analysed, others))


def _rows(c: Catalyst, leaf: Any, source: SourceReader, at: int) -> Any:
    """The rows of a source under the exprIds of its stand-in."""
    plan = net_rows(c.spark, source, at)._jdf.queryExecution().analyzed()
    names = source.schema.names
    return renamed(c, plan, [names.index(str(tag(a, FIELD_KEY))) for a in items(leaf.output())], leaf)


def net_rows(session: SparkSession, source: SourceReader, at: int) -> DataFrame:
    """The rows of a source at a position as a plain table."""
    c = Catalyst(session)
    scan = source.snapshot(at)
    columns = source.schema.fields
    attrs = tuple(Attr(str(i), f.name, f.dataType.json()) for i, f in enumerate(columns))
    frame = scan.frame(c, attrs, range(len(columns)), len(columns)).rows().select(attrs)
    return c.frame(c.project([c.attr(a).withName(a.name) for a in attrs], frame.plan))
