"""The answer from scratch: the user's own query, run by Spark on the net rows of the sources."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from headrace.ir.expr import Attr
from headrace.ir.time import Reached
from headrace.spark.catalyst import Catalyst
from headrace.spark.names import quoted
from headrace.spark.session import mend
from headrace.spark.sources.source import SourceReader


def batch_answer(spark: SparkSession, query: str, sources: Mapping[str, SourceReader], at: Reached) -> DataFrame:
    """Lazily what Spark itself answers at a version."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    mend(session)
    for name, source in sources.items():
        net_rows(session, source, at.at(name)).createOrReplaceTempView(quoted(name))
    return session.sql(query)


def net_rows(session: SparkSession, source: SourceReader, at: int) -> DataFrame:
    """The rows of a source at a position as a plain table."""
    c = Catalyst(session)
    scan = source.snapshot(at)
    columns = source.schema.fields
    attrs = tuple(Attr(str(i), f.name, f.dataType.json()) for i, f in enumerate(columns))
    frame = scan.frame(c, attrs, range(len(columns)), len(columns)).rows().select(attrs)
    return c.frame(c.project([c.attr(a).withName(a.name) for a in attrs], frame.plan))
