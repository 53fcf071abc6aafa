"""Headrace keeps SQL results up to date on Apache Spark."""

from headrace.api import View, Warehouse
from headrace.api.service import Service
from headrace.errors import (
    ConfigError,
    HeadraceError,
    InternalError,
    QueryError,
    SourceError,
    StateError,
)
from headrace.ir.timeline import Timeline, runs
from headrace.runtime.by_clock import cron, deadline, every
from headrace.runtime.by_event import after_rows, downstream_of, on_change, on_demand
from headrace.runtime.goal import Goal, least_cost, least_latency
from headrace.runtime.report import OperatorReport, PipelineError, PipelineReport, RefreshReport
from headrace.spark.sources.delta_table import DeltaTable
from headrace.spark.sources.folder import Folder
from headrace.spark.sources.rows import Rows
from headrace.spark.sources.source import Scan, SourceReader

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "DeltaTable",
    "Folder",
    "Goal",
    "HeadraceError",
    "InternalError",
    "OperatorReport",
    "PipelineError",
    "PipelineReport",
    "QueryError",
    "RefreshReport",
    "Rows",
    "Scan",
    "Service",
    "SourceError",
    "SourceReader",
    "StateError",
    "Timeline",
    "View",
    "Warehouse",
    "__version__",
    "after_rows",
    "cron",
    "deadline",
    "downstream_of",
    "every",
    "least_cost",
    "least_latency",
    "on_change",
    "on_demand",
    "runs",
]
