"""The public names, and nothing else; importing them starts no Spark."""

from __future__ import annotations

import subprocess
import sys

import headrace


def test_the_public_names() -> None:
    assert sorted(headrace.__all__) == [
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


def test_importing_starts_no_spark() -> None:
    code = "import headrace; from pyspark import SparkContext; assert SparkContext._active_spark_context is None"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_it_does_not_import_what_takes_long() -> None:
    code = "import sys, headrace.cli; print([m for m in ('pandas', 'pyspark.sql.connect', 'grpc') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
