"""Rows that come to the driver, and nothing that stays behind."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from headrace.spark.catalyst import Catalyst


def test_rows_leave_no_memory_behind(spark: SparkSession) -> None:
    """Arrow's memory is outside the heap: what is not freed is there for as long as the JVM is."""
    utils = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.util.ArrowUtils$")  # type: ignore[union-attr]
    allocator = utils.getField("MODULE$").get(None).rootAllocator()
    frame = spark.range(5_000).selectExpr("id", "repeat('x', 100) AS s")
    catalyst = Catalyst(spark)
    plan = catalyst.put(frame._jdf.queryExecution().analyzed())
    before = allocator.getAllocatedMemory()
    for _ in range(5):
        assert catalyst.collect(plan).arrow().num_rows == 5_000
    until = time.monotonic() + 30
    while allocator.getAllocatedMemory() > before and time.monotonic() < until:
        time.sleep(0.1)  # tests in another process use Arrow too
    assert allocator.getAllocatedMemory() <= before
