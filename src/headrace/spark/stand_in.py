"""Stand-ins: while a query is read, an empty relation stands for each source, and its columns name what they are of."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from headrace.spark.leaves import kind

SOURCE_KEY, FIELD_KEY = "headrace.source", "headrace.field"


def stand_in(session: SparkSession, name: str, schema: StructType) -> DataFrame:
    """An empty relation that the optimiser keeps as a leaf and whose columns say where they come from."""
    fields = [StructField(f.name, f.dataType, True, {SOURCE_KEY: name, FIELD_KEY: f.name}) for f in schema]
    tagged = StructType(fields)
    return session.createDataFrame(session.sparkContext.emptyRDD(), tagged)


def source_of(leaf: Any) -> str | None:
    """The name of the source that a leaf stands for."""
    output = leaf.output() if kind(leaf) == "LogicalRDD" else None
    return tag(output.apply(0), SOURCE_KEY) if output is not None and output.size() else None


def tag(attribute: Any, key: str) -> str | None:
    """What a column of a stand-in says of itself: its own name may be one that the query gave it."""
    found = json.loads(attribute.metadata().json()).get(key)
    return str(found) if found is not None else None
