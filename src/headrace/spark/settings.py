"""The settings of a session that change what a query means: results under one setting are not those under another."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

_MEANING = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.groupByOrdinal",
    "spark.sql.orderByOrdinal",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enforceReservedKeywords",
)
_LEGACY = "spark.sql.legacy."


def meaning(spark: SparkSession) -> dict[str, str]:
    """Each setting that counts, with its value; those from before only where somebody set them."""
    jvm: Any = spark._jvm
    # As one text: going through the map would cost three round trips for each of its entries.
    text = jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(
        spark._jsparkSession.conf().getAllAsJava()
    )
    legacy = {key: value for key, value in json.loads(text).items() if key.startswith(_LEGACY)}
    return {key: str(spark.conf.get(key)) for key in _MEANING} | legacy
