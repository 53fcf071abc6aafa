"""Expressions in words that no other expression has.

Catalyst prints constants as they are: 'null' like NULL, two texts like one with a comma, 1 like 1L. Its SQL tells them
apart; it leaves out which of the attributes of one name is meant, and that the printed text says. So the two together
say all, and a view whose constants have changed is noticed to be another one.
"""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headrace.spark.catalyst import items

# A text in quotes, which stays; or else what comes before the name of a column, or a number that Spark gave out.
_VARYING = re.compile(r"('(?:[^'\\]|\\.)*')|(?:(?:`(?:[^`]|``)*`|[A-Za-z_]\w*)\.)+(?=[`A-Za-z_])|#\d+L?", re.DOTALL)


def exact(expression: Any) -> str:
    """The SQL of a Catalyst expression, with plain names for columns; nothing where SQL has no words for it."""
    try:
        return plain(expression.sql())
    except (Py4JJavaError, PySparkException):
        return ""


def exact_plan(plan: Any) -> str:
    """All expressions of one operator, and the rows of one that has its own."""
    if plan.getClass().getSimpleName() == "LocalRelation":
        return plain(plan.toSQL("rows")) if plan.data().nonEmpty() else ""
    return "; ".join(exact(e) for e in items(plan.expressions()))


def plain(sql: str) -> str:
    """SQL without what differs between two readings of one query."""
    return _VARYING.sub(lambda found: found[1] or "", sql)
