"""Spark sessions: one of our own when none is given, and one beside it in which plans are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
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
_RULES = "org.apache.spark.sql.catalyst.optimizer."
_WRONG = tuple(_RULES + rule for rule in ("PushProjectionThroughLimit", "PushProjectionThroughLimitAndOffset"))
# This one computes what is projected of rows in the driver while it plans, row by row and without generated code: more
# than half a second for a hundred thousand of them.
_SLOW = (_RULES + "ConvertToLocalRelation",)

_WORKING = {
    # Large plans are described at every job, for pages that few look at: in one form, not in four.
    "spark.sql.ui.explainMode": "simple",
    # The type of timestamps that a footer knows the range of, and that every reader knows.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_ERRORS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_CALL_SITE = ("callSite.short", "callSite.long")
_OPTIONAL: dict[int, list[str]] = {}

# For rows that one task handles: no broadcasts, no re-planning between stages that are not there.
_SINGLE = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Spark shuffles what it takes to be large, even where all of it is in one partition already.
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),
    # What is counted on the way is counted in this thread, and not by the scheduler, which knows attempts.
    "spark.sql.legacy.observeMetricsAggregateAllAttempts": "true",
}
# For rows that all cores handle in a second or two.
_MIDDLE = {"spark.sql.adaptive.enabled": "false"}

# Fit for small deltas on one machine, where Spark's own configuration says nothing else.
_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.buffer.pageSize": "1m",
    # A refresh has up to a hundred generated classes, and so has every other view.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_MEMORY = {"spark.driver.memory": "4g"}  # must be known before the JVM starts
# What launching the JVM sets by itself, as for a shell.
_NO_SHELL = {"spark.app.name": "headrace", "spark.ui.showConsoleProgress": "false"}


def start_session(conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session that is there, or a new one: with these settings first, then what spark-submit or spark-defaults.conf
    say, then ours, of a local session."""
    wanted = dict(conf or {})
    there = SparkSession.getActiveSession()
    if there is not None:  # its owner's settings stay as they are
        return session_with(there, {k: v for k, v in wanted.items() if k != "spark.master"}) if wanted else there
    builder = SparkSession.builder
    if SparkContext._gateway is None:
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # the JVM is there, with a name and settings of its own
        if not submitted and "SPARK_CONF_DIR" not in os.environ:
            wanted = {**_MEMORY, **wanted}
        launched = SparkConf(loadDefaults=False).setAll(list(wanted.items()))
        SparkContext._ensure_initialized(conf=launched)
        wanted = wanted if submitted else {**_NO_SHELL, **wanted}
    known = SparkConf()
    for key, value in {**_DEFAULTS, **wanted}.items():
        if key in wanted or not known.contains(key):
            builder = builder.config(key, value)
    return builder.getOrCreate()


def session_with(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """A copy of a session with other settings."""
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for key, value in conf.items():
        clone.conf.set(key, value)
    return clone


@contextmanager
def set_for_now(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session that hold for a while."""
    before = {key: spark.conf.get(key, None) for key in conf}
    try:
        for key, value in conf.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def reading_session(spark: SparkSession) -> SparkSession:
    """A copy of a session, with its functions and settings, in which queries are read and none is run."""
    clone = session_with(spark, _READING)
    mend(clone)
    return clone


def mend(session: SparkSession) -> None:
    """Turn off what makes Spark's optimiser give a wrong answer."""
    _exclude(session, _WRONG)


def _exclude(session: SparkSession, rules: Iterable[str]) -> None:
    excluded = session.conf.get(_EXCLUDED, "")
    session.conf.set(_EXCLUDED, ",".join([*([excluded] if excluded else []), *rules]))


def working_session(spark: SparkSession, size: str) -> SparkSession:
    """A copy of a session in which a run works. A ``small`` step works in a single partition, where no join needs a
    copy of a side, and of few rows finding a better plan takes longer than the worse one. A ``middle`` one is planned
    once: stages of a second need no planning between them. A ``large`` one is planned as Spark does."""
    if size == "small":
        return session_with(spark, {**_WORKING, **_SINGLE, _EXCLUDED: ",".join(_optional_rules(spark))})
    settings = dict(_WORKING)
    if size == "middle":
        settings |= {**_MIDDLE, "spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    session = session_with(spark, settings)
    _exclude(session, (*_WRONG, *_SLOW))
    return session


class WorkingSessions:
    """The sessions in which the runs of a view work. Copying one takes longer than a small step, so they are kept until
    the settings of the session that they were copied from are others."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._settings: Any = None
        self._made: dict[str, SparkSession] = {}

    def begin(self) -> None:
        """Look whether settings have changed."""
        now = self._spark._jsparkSession.sessionState().conf().getAllConfs()
        if self._settings is None or not self._settings.equals(now):
            self._settings = now
            self._made.clear()

    def get(self, size: str) -> SparkSession:
        if size not in self._made:
            self._made[size] = working_session(self._spark, size)
        return self._made[size]


def _optional_rules(spark: SparkSession) -> list[str]:
    """The rules of the optimiser that Spark lets one leave out, but for one that changes how a decimal is rounded."""
    jvm = id(spark._jvm)
    if jvm not in _OPTIONAL:
        optimizer = spark._jsparkSession.sessionState().optimizer()
        needed = {str(rule) for rule in _items(optimizer.nonExcludableRules())}
        found = {str(r.ruleName()) for batch in _items(optimizer.defaultBatches()) for r in _items(batch.rules())}
        _OPTIONAL[jvm] = sorted(r for r in found - needed if not r.endswith(".DecimalAggregates"))
    return _OPTIONAL[jvm]


def _items(seq: Any) -> list[Any]:
    return [seq.apply(i) for i in range(seq.size())]


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
def quiet_errors() -> Iterator[None]:
    """Keep PySpark from logging the errors of queries, each with its stack, for who catches them tells of them."""
    loggers = [PySparkLogger.getLogger(name) for name in _ERRORS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


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
