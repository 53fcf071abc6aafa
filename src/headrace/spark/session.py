"""Spark sessions: one of our own when none is given, and one beside it in which plans are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

# Tricks of the optimiser that belong to one execution, and texts that must not be cut short.
_READING = {
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
    "spark.sql.debug.maxToStringFields": "1000000",
    "spark.sql.maxMetadataStringLength": "1000000",
    # Files in the form in which Spark tells most of them.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,kafka,orc,parquet,text",
}


# Of SELECT (SELECT …) FROM (… ORDER BY … LIMIT n) this one puts the limit above the join that the subquery becomes, and
# the order, which a join does not keep, is then dropped as useless: any n rows come out.
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_WRONG = tuple(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("PushProjectionThroughLimit", "PushProjectionThroughLimitAndOffset")
)

_WORKING = {
    # Large plans are described at every job, for pages that few look at: in one form, not in four.
    "spark.sql.ui.explainMode": "simple",
    # The type of timestamps that a footer knows the range of, and that every reader knows.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_CALL_SITE = ("callSite.short", "callSite.long")

# For rows that one task handles: no broadcasts, no re-planning between stages that are not there.
_SINGLE = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


def start_session() -> SparkSession:
    """A local session with settings fit for small deltas."""
    return (
        SparkSession.builder.appName("headrace")
        .master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.buffer.pageSize", "1m")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )


def reading_session(spark: SparkSession) -> SparkSession:
    """A copy of a session, with its functions and settings, in which queries are read and none is run."""
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for key, value in _READING.items():
        clone.conf.set(key, value)
    mend(clone)
    return clone


def mend(session: SparkSession) -> None:
    """Turn off what makes Spark's optimiser give a wrong answer."""
    excluded = session.conf.get(_EXCLUDED, "")
    session.conf.set(_EXCLUDED, ",".join([*([excluded] if excluded else []), *_WRONG]))


def working_session(spark: SparkSession, *, single: bool) -> SparkSession:
    """A copy of a session in which a run works. In a single partition no join needs a copy of a side."""
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for key, value in {**_WORKING, **(_SINGLE if single else {})}.items():
        clone.conf.set(key, value)
    return clone


@contextmanager
def named_jobs(spark: SparkSession, name: str) -> Iterator[None]:
    """Give the jobs of this thread a name in Spark's own pages. Without one, Spark walks the stack for every RDD."""
    context = spark.sparkContext
    before = {key: context.getLocalProperty(key) for key in _CALL_SITE}
    for key in _CALL_SITE:
        context.setLocalProperty(key, name)
    try:
        yield
    finally:
        for key, value in before.items():
            context.setLocalProperty(key, value)  # type: ignore[arg-type]


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make a session the one whose settings Spark's own code looks at."""
    jvm = session._jvm
    assert jvm is not None
    registry = jvm.org.apache.spark.sql.classic.SparkSession
    before = registry.getActiveSession()
    registry.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            registry.setActiveSession(before.get())
        else:
            registry.clearActiveSession()


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows with a schema, made in the JVM: a local relation needs no Python worker."""
    jvm: Any = spark._jvm
    kinds = spark._jsparkSession.parseDataType(schema.json())
    return DataFrame(spark._jsparkSession.createDataFrame(jvm.java.util.ArrayList(), kinds), spark)
