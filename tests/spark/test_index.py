"""Rows looked up by key in memory, against Spark's own joins: in this process, and in Segments as executors have them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst
from headrace.spark.jvm import task_class

Rows = list[tuple[Any, ...]]


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
        java: Any = spark._jvm.headrace
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

    def probe(
        self, rows: Rows, *, null_safe: bool = False, new: bool = False, weighted: bool = False, outer: bool = False
    ) -> Counter[Any]:
        """Each row's key with what was found for it, and its weight where that is asked for."""
        kinds = ", ".join(f"k{i} {a.type}" for i, a in enumerate(self.attrs[: self.keys]))
        asked = self.spark.createDataFrame(rows, kinds)
        plan = self.c.put(asked._jdf.queryExecution().analyzed())
        output = plan.output()
        weight = Attr("weight1", "weight", "bigint") if weighted else None
        on = [output.apply(i) for i in range(self.keys)]
        how = {"null_safe": null_safe, "new": new, "outer": outer, "apart": self.apart}
        made = self.c.probe(self.java, on, self.attrs[self.keys :], weight, plan, **how)
        return Counter(_value(r) for r in self.c.frame(made).collect())


class Apart(Table):
    """The same in Segments."""

    apart = True


PARTS = 3
both = pytest.mark.parametrize("made", [Table, Apart], ids=["here", "apart"])


@pytest.fixture(params=["NO_CODEGEN", "CODEGEN_ONLY"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """With and without generated code."""
    copy = spark.newSession()
    copy.conf.set("spark.sql.codegen.factoryMode", request.param)
    copy.conf.set("spark.sql.codegen.wholeStage", str(request.param != "NO_CODEGEN").lower())
    return copy


def joined(left: DataFrame, right: DataFrame, keys: int, *, null_safe: bool) -> Counter[Any]:
    pairs = [(F.col(f"k{i}"), right[right.columns[i]]) for i in range(keys)]
    on = [a.eqNullSafe(b) if null_safe else a == b for a, b in pairs]
    rest = [right[c] for c in right.columns[keys:]]
    return Counter(_value(r) for r in left.join(right, on).select(*[f"k{i}" for i in range(keys)], *rest).collect())


KINDS = {
    "bigint": lambda r: r.choice([None, 0, 1, -1, 2**62, *range(20)]),
    "int": lambda r: r.choice([None, *range(10)]),
    "string": lambda r: r.choice([None, "", "a", "ä", "a" * 3000, *"bcdef"]),
    "date": lambda r: None if r.random() < 0.2 else __import__("datetime").date(2020, 1, r.randint(1, 9)),
    "decimal(20,2)": lambda r: None if r.random() < 0.2 else __import__("decimal").Decimal(r.randint(-5, 5)),
    "double": lambda r: r.choice([None, 0.5, -1.25, 1e300]),
    "array<int>": lambda r: r.choice([None, [], [1], [1, None, 3]]),
}


@both
@pytest.mark.parametrize("kinds", [("bigint",), ("string",), ("date",), ("int", "string"), ("decimal(20,2)", "bigint")])
def test_a_probe_is_a_join(session: SparkSession, kinds: tuple[str, ...], made: type[Table]) -> None:
    r = random.Random(repr(kinds))
    columns = [*kinds, "double", "string", "array<int>"]
    schema = ", ".join(f"c{i} {k}" for i, k in enumerate(columns))
    rows = [tuple(KINDS[k](r) for k in columns) for _ in range(400)]
    asked = [tuple(KINDS[k](r) for k in kinds) for _ in range(60)]
    table = made(session, schema, len(kinds))
    table.fill(rows)
    left = session.createDataFrame(asked, ", ".join(f"k{i} {k}" for i, k in enumerate(kinds)))
    right = session.createDataFrame(rows, schema)
    for null_safe in (False, True):
        found = table.probe(asked, null_safe=null_safe)

        assert found == joined(left, right, len(kinds), null_safe=null_safe)
        assert found
    assert table.java.records() == len(rows)
    assert table.java.distinct() == len({repr(row[: len(kinds)]) for row in rows})


def _value(row: Row) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in row)


@both
def test_what_is_pending_is_new_and_then_settled(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1)
    table.fill([(1, "a"), (1, "a"), (2, "b"), (None, "n")])
    table.fill([(1, "a"), (2, "c"), (None, "n"), (3, "d")], weights=[-1, 1, -1, 2], pends=True)
    keys: Rows = [(1,), (2,), (3,), (None,)]

    assert table.probe(keys) == Counter({(1, "a"): 2, (2, "b"): 1})
    new = table.probe(keys, null_safe=True, new=True, weighted=True)
    sums: Counter[Any] = Counter()
    for (key, value, weight), times in new.items():
        sums[key, value] += weight * times
    assert +sums == Counter({(1, "a"): 1, (2, "b"): 1, (2, "c"): 1, (3, "d"): 2})

    assert table.java.settle()
    after = table.probe(keys, null_safe=True)
    assert after == Counter({(1, "a"): 1, (2, "b"): 1, (2, "c"): 1, (3, "d"): 2})


@both
def test_what_was_pending_can_be_forgotten(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1)
    table.fill([(1, "a")])
    table.fill([(1, "b")], pends=True)
    table.java.forget()

    assert table.probe([(1,)], new=True) == Counter({(1, "a"): 1})


@both
def test_a_row_that_should_leave_and_is_not_there_is_told(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v double", 1)
    table.fill([(1, 0.0)])
    table.fill([(1, -0.0)], weights=[-1], pends=True)

    assert not table.java.settle()


@both
def test_memory_does_not_grow_with_what_has_left(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1)
    rows = spark.range(20_000).select("id", F.repeat(F.lit("x"), 100).alias("v"))
    table.take(rows)
    before = table.java.bytes()
    for _ in range(4):
        table.take(rows.withColumn("weight", F.lit(-1).cast("bigint")), weighted=True, pends=True)
        assert table.java.settle()
        table.take(rows, pends=True)
        assert table.java.settle()

    assert table.java.records() == 20_000
    assert table.java.bytes() <= 2.5 * before
    assert len(table.probe([(i,) for i in range(0, 20_000, 97)])) == len(range(0, 20_000, 97))


@both
def test_a_row_larger_than_a_page(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1)
    table.fill([(1, "x" * 3_000_000), (1, "y"), (2, "z" * 2_000_000)])

    assert {(k, len(v)) for k, v in table.probe([(1,), (2,)])} == {(1, 3_000_000), (1, 1), (2, 2_000_000)}


@both
def test_a_limit_holds(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1, limit=100_000)

    with pytest.raises(Py4JJavaError, match="larger than it may be"):
        table.fill([(i, "x" * 1000) for i in range(1000)])


@both
def test_one_that_was_released_gives_an_error_and_not_no_rows(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1)
    table.fill([(1, "a")])
    table.java.release()

    assert table.java.bytes() == 0
    with pytest.raises(Exception, match="released"):
        table.probe([(1,)])
