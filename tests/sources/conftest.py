"""A session with a database of its own, so that tables of one test are not those of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    name = "db_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name)[-40:]
    own = spark.newSession()
    own.sql(f"CREATE DATABASE {name} LOCATION '{tmp_path / 'db'}'")
    own.sql(f"USE {name}")
    yield own
    own.sql(f"DROP DATABASE {name} CASCADE")
