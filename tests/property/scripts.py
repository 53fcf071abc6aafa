"""What the scripts of this folder share: a Spark session for tiny data."""

from __future__ import annotations

import logging
import os
import sys

from conftest import SETTINGS
from pyspark.sql import SparkSession


def session() -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("headrace random queries")
    for name, value in {**SETTINGS, "spark.driver.memory": "4g"}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return spark
