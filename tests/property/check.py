"""Compares Headrace with Spark: one warehouse, several views, one comparison of each after every batch."""

from __future__ import annotations

import re
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from oracle import same_rows
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from .cases import Trial
from .histories import History, arrow
from .tables import TABLES

SHOWN = 30

ORACLE_SETTINGS = {
    # Everything in one partition, and no broadcast: a query over tiny tables is then mostly one task.
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    # It loses the order below a limit: Spark's answer would be any rows (see test_functions.py).
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}"
        for rule in ("PushProjectionThroughLimit", "PushProjectionThroughLimitAndOffset")
    ),
}


@dataclass(frozen=True)
class Answer:
    """The rows of a DataFrame, collected once. `same_rows` asks it for what it would ask a DataFrame."""

    schema: StructType
    table: pa.Table

    @staticmethod
    def of(df: DataFrame) -> Answer:
        return Answer(df.schema, df.toArrow())

    @staticmethod
    def on_disk(view: Any) -> Answer:
        """What a view published, from its files: no job is needed to read them."""
        table = view._result
        parts = [pq.read_table(path, partitioning=None) for path in table.paths()]
        return Answer(table.schema, pa.concat_tables(parts) if parts else table.arrow_schema.empty_table())

    def toArrow(self) -> pa.Table:
        return self.table

    def text(self) -> str:
        rows = list(zip(*(column.to_pylist() for column in self.table.columns), strict=True))
        lines = [
            "  "
            + " | ".join(f"{f.name} {f.dataType.simpleString()}" for f in self.schema.fields)
            + f"   ({len(rows)} rows)"
        ]
        listed = sorted("  " + " | ".join("NULL" if v is None else str(v) for v in row) for row in rows)
        return "\n".join([*lines, *listed[:SHOWN], *(["  …"] if len(rows) > SHOWN else [])])


class Oracle:
    """Spark's own answer over the true rows, in a session that Headrace does not see."""

    def __init__(self, spark: SparkSession) -> None:
        self.session = spark.newSession()
        for name, setting in ORACLE_SETTINGS.items():
            self.session.conf.set(name, setting)

    def load(self, history: History, step: int) -> None:
        for name, rows in history.net(step).items():
            df = self.session.createDataFrame(arrow(TABLES[name], rows))
            df.coalesce(1).createOrReplaceTempView(name)

    def answer(self, sql: str) -> Answer:
        return Answer.of(self.session.sql(sql))


@dataclass(frozen=True)
class Failure:
    """A view that is not what Spark says."""

    sql: str
    trial: Trial
    step: int
    kind: str
    message: str
    expected: str
    got: str = ""
    plan: str = ""

    def __str__(self) -> str:
        return self.text()

    def text(self, *, plan: bool = False) -> str:
        made = f"the view is made after batch {self.trial.first}; " if self.trial.first else ""
        made += f"memory is {self.trial.memory}, the goal {self.trial.goal}, steps {self.trial.steps}"
        parts = [
            f"{self.kind} after batch {self.step}",
            self.sql,
            self.trial.history.text(tables_in(self.sql)) + f"\n{made}",
            self.message.rstrip(),
            f"expected:\n{self.expected}",
            f"got:\n{self.got}" if self.got else "",
            f"plan:\n{self.plan}" if plan and self.plan else "",
        ]
        return "\n".join(part for part in parts if part) + "\n"

    def code(self) -> str:
        """A test for `test_regressions.py`."""
        first = f", first={self.trial.first}" if self.trial.first else ""
        memory = f", memory={self.trial.memory!r}" if self.trial.memory != "on" else ""
        goal = f", goal={self.trial.goal!r}" if self.trial.goal != "least_latency" else ""
        steps = f", steps={self.trial.steps!r}" if self.trial.steps != "small" else ""
        history = self.trial.history.code(tables_in(self.sql))
        return f"check(\n    {self.sql!r},\n    {history}{first}{memory}{goal}{steps},\n)\n"


@dataclass
class Outcome:
    """What a trial came to. A query that Spark itself cannot answer is discarded."""

    cases: int = 0
    refreshes: int = 0
    oracle_seconds: float = 0.0
    refresh_seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    discarded: list[tuple[str, str]] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.cases += other.cases
        self.refreshes += other.refreshes
        self.oracle_seconds += other.oracle_seconds
        self.refresh_seconds += other.refresh_seconds
        self.failures += other.failures
        self.discarded += other.discarded


@dataclass
class _View:
    """One query of a trial, until it fails."""

    sql: str
    name: str
    handle: Any = None
    done: bool = False


def run_trial(spark: SparkSession, oracle: Oracle, trial: Trial, root: Path) -> Outcome:
    """Refresh every view after every batch and compare."""
    import headrace as hr

    outcome = Outcome(cases=len(trial.queries))
    history = trial.history
    views = [_View(sql, f"v{number}") for number, sql in enumerate(trial.queries, 1)]
    warehouse: Any = None
    for step in range(len(history.batches)):
        history.write(step, root / "sources")
        if step < trial.first:
            continue
        if warehouse is None:
            limit = 0 if trial.memory == "off" else None
            warehouse = hr.Warehouse(str(root / "warehouse"), spark=spark, memory=limit)
            warehouse._budget.eager = True
            if trial.memory == "apart":  # as in a cluster, where Spark itself knows what is taken
                warehouse._budget.apart, warehouse._budget.storage = True, None
            for name in TABLES:
                folder = hr.Folder(str(root / "sources" / name), changes=name not in history.plain)
                warehouse.source(name, folder)
        oracle.load(history, step)
        for view in views:
            if not view.done:
                outcome.add(_advance(warehouse, oracle, trial, view, step))
    return outcome


def _advance(warehouse: Any, oracle: Oracle, trial: Trial, view: _View, step: int) -> Outcome:
    """Refresh one view and compare it."""
    outcome = Outcome()
    started = time.perf_counter()
    try:
        expected = oracle.answer(view.sql)
    except (PySparkException, Py4JJavaError) as error:  # the second where Spark itself stumbles, as over listagg
        view.done = True
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        outcome.discarded.append((view.sql, condition or type(error).__name__))
        return outcome
    finally:
        outcome.oracle_seconds += time.perf_counter() - started

    def failure(kind: str, message: str, got: str = "") -> None:
        view.done = True
        found = Failure(view.sql, trial, step, kind, message, expected.text(), got, _plan_of(view.handle))
        outcome.failures.append(found)

    started = time.perf_counter()
    try:
        if view.handle is None:
            view.handle = warehouse.view(view.name, view.sql, goal=trial.goal)
            if trial.steps == "large":
                view.handle._engine.few = -1
            if trial.memory == "lost":
                _forgetful(view.handle._memory, Random(len(view.sql)))
        view.handle.refresh()
        last = step == len(trial.history.batches) - 1
        got = Answer.of(view.handle.read()) if last else Answer.on_disk(view.handle)
        outcome.refreshes += 1
    except Exception as error:
        failure(f"{type(error).__name__}: {_cause(error)}", _short_traceback(error))
        return outcome
    finally:
        outcome.refresh_seconds += time.perf_counter() - started
    try:
        same_rows(cast(DataFrame, got), cast(DataFrame, expected))
    except AssertionError as error:
        failure("a wrong answer", str(error), got.text())
    return outcome


def _forgetful(memory: Any, random: Random) -> None:
    """Let a view lose what it has in memory now and then, in the middle of a run."""
    get = memory.get

    def lost(index: Any) -> Any:
        held = get(index)
        if held is not None and random.random() < 0.1:
            held.java.release()
        return held

    memory.get = lost


def tables_in(sql: str) -> list[str]:
    return [name for name in TABLES if re.search(rf"\b{name}\b", sql)]


def _plan_of(view: Any) -> str:
    try:
        return str(view.explain())
    except Exception as error:
        return f"no explanation: {error}"


def _cause(error: Exception) -> str:
    """One line that says what went wrong; of an error in the JVM, its deepest cause."""
    lines = str(error).strip().splitlines() or ["no message"]
    causes = [line for line in lines if line.startswith(("Caused by: ", ": "))]
    return (causes or lines[:1])[-1].removeprefix("Caused by").removeprefix(": ")[:300]


def _short_traceback(error: Exception) -> str:
    """The whole error without the frames of the JVM."""
    lines = "".join(traceback.format_exception(error)).split("JVM stacktrace:")[0].splitlines()
    return "\n".join(line[:500] for line in lines if not line.startswith(("\tat ", "\t...")))
