"""A Spark session of a JVM that another process started: one Spark serves all processes of a test run."""

from __future__ import annotations

import os

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession


def gateway_of(spark: SparkSession) -> dict[str, str]:
    """What another process must have in its environment to attach itself."""
    gateway = spark.sparkContext._gateway.gateway_parameters  # type: ignore[union-attr]
    return {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": str(gateway.auth_token)}


def attach(gateway: dict[str, str] | None = None) -> SparkSession:
    """A session of its own in the JVM that these variables, or the environment, name. They do not stay in the
    environment: processes that this one starts have a Spark of their own unless they are told."""
    os.environ.update(gateway or {})
    connected = launch_gateway()
    for name in gateway or {}:
        del os.environ[name]
    jvm = connected.jvm
    context = jvm.org.apache.spark.SparkContext.getOrCreate()
    java = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    there = SparkContext(gateway=connected, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    return SparkSession(there, jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get().cloneSession())
