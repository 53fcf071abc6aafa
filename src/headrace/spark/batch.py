"""The answer from scratch: the user's own query, run by Spark on the net rows of the sources."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from headrace.ir.time import Reached
from headrace.spark.catalyst import Catalyst
from headrace.spark.sources.folder import FolderSource


def batch_answer(spark: SparkSession, query: str, sources: Mapping[str, FolderSource], at: Reached) -> DataFrame:
    """Lazily what Spark itself answers at a version."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, source in sources.items():
        source.table(at.at(name)).createOrReplaceTempView(f"headrace_{name}")
        plan = spark.table(f"headrace_{name}")._jdf.queryExecution().analyzed()
        Catalyst(session).frame(plan).createOrReplaceTempView(name)
        spark.catalog.dropTempView(f"headrace_{name}")
    return session.sql(query)
