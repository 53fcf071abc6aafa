"""An index over rows that a test makes: in this process, or in Segments as executors have them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst
from headrace.spark.jvm import task_class

Rows = list[tuple[Any, ...]]
PARTS = 3


class Table:
    """An index over rows of ``schema``, of which the first ``keys`` columns are the key."""

    apart = False

    def __init__(self, spark: SparkSession, schema: str, keys: int, limit: int = 1 << 30) -> None:
        assert task_class(spark._jvm, "Segments" if self.apart else "Probe") is not None
        self.spark, self.schema, self.keys = spark, schema, keys
        self.c = Catalyst(spark)
        names = [f.split()[0] for f in schema.split(", ")]
        kinds = [f.split(None, 1)[1] for f in schema.split(", ")]
        self.attrs = [Attr(f"index.{n}", n, k) for n, k in zip(names, kinds, strict=True)]
        given = (keys, len(names) - keys, *((PARTS,) if self.apart else ()), limit)
        java: Any = spark._jvm.headrace  # type: ignore[union-attr]
        self.java = java.Segments(*given) if self.apart else java.Index(*given)

    def fill(self, rows: Rows, *, weights: list[int] | None = None, pends: bool = False) -> None:
        given = [(*r, w) for r, w in zip(rows, weights, strict=True)] if weights else rows
        schema = f"{self.schema}, weight bigint" if weights else self.schema
        self.take(self.spark.createDataFrame(given, schema).repartition(2), weighted=bool(weights), pends=pends)

    def take(self, frame: DataFrame, *, weighted: bool = False, pends: bool = False) -> None:
        if pends:
            self.java.begin(1 << 40)
        plan = self.c.put(frame._jdf.queryExecution().analyzed())
        self.c.fill([(plan, self.java, weighted)], pends=pends, local=not self.apart)

    def probe(self, rows: Rows, *, weighted: bool = False, **how: bool) -> Counter[Any]:
        """Each row's key with what was found for it, and its weight where that is asked for."""
        kinds = ", ".join(f"k{i} {a.type}" for i, a in enumerate(self.attrs[: self.keys]))
        return values(self.probed(self.spark.createDataFrame(rows, kinds), weighted=weighted, **how))

    def probed(
        self,
        asked: DataFrame,
        *,
        weighted: bool = False,
        null_safe: bool = False,
        new: bool = False,
        outer: bool = False,
    ) -> DataFrame:
        """The same of any rows, the first columns of which are the key."""
        plan = self.c.put(asked._jdf.queryExecution().analyzed())
        output = plan.output()
        weight = Attr("weight1", "weight", "bigint") if weighted else None
        on = [output.apply(i) for i in range(self.keys)]
        how = {"null_safe": null_safe, "new": new, "outer": outer, "apart": self.apart}
        return self.c.frame(self.c.probe(self.java, on, self.attrs[self.keys :], weight, plan, **how))


class Apart(Table):
    """The same in Segments."""

    apart = True


def values(frame: DataFrame) -> Counter[Any]:
    return Counter(_value(r) for r in frame.collect())


def joined(left: DataFrame, right: DataFrame, keys: int, *, null_safe: bool, how: str = "inner") -> Counter[Any]:
    """What Spark's own join says; the keys of ``left`` are k0, k1, …"""
    pairs = [(F.col(f"k{i}"), right[right.columns[i]]) for i in range(keys)]
    on = [a.eqNullSafe(b) if null_safe else a == b for a, b in pairs]
    rest = [right[c] for c in right.columns[keys:]]
    return values(left.join(right, on, how).select(*[f"k{i}" for i in range(keys)], *rest))


def _value(row: Row) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in row)
