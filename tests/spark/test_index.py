"""Rows looked up by key in memory, against Spark's own joins: in this process, and in Segments as executors have."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from indexed import Apart, Rows, Table, joined, values
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

both = pytest.mark.parametrize("made", [Table, Apart], ids=["here", "apart"])


@pytest.fixture(params=["NO_CODEGEN", "CODEGEN_ONLY"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """With and without generated code."""
    copy = spark.newSession()
    copy.conf.set("spark.sql.codegen.factoryMode", request.param)
    copy.conf.set("spark.sql.codegen.wholeStage", str(request.param != "NO_CODEGEN").lower())
    return copy


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
    outer = values(table.probed(left, outer=True))
    assert outer == joined(left, right, len(kinds), null_safe=False, how="left")
    assert table.java.records() == len(rows)
    assert table.java.distinct() == len({repr(row[: len(kinds)]) for row in rows})


@both
def test_numbers_of_every_size_come_back(spark: SparkSession, made: type[Table]) -> None:
    powers = {sign * (1 << n) + more for n in range(64) for sign in (1, -1) for more in (-1, 0, 1)}
    numbers = sorted(n for n in powers if -(1 << 63) <= n < 1 << 63)
    rows: Rows = [(n, -n if -n < 1 << 63 else None, n % 1000 / 8, n % 2 == 0) for n in numbers]
    table = made(spark, "k bigint, v bigint, d double, b boolean", 1)
    table.fill(rows)

    assert table.probe([(n,) for n in numbers]) == Counter(rows)
    assert table.java.distinct() == len(numbers)


@both
def test_rows_of_very_many_words(spark: SparkSession, made: type[Table]) -> None:
    columns = 300
    table = made(spark, "k bigint, " + ", ".join(f"c{i} bigint" for i in range(columns)), 1)
    rows: Rows = [
        (k, *(None if (i + k) % 7 == 0 else (-1) ** i * k**i % (1 << 62) for i in range(columns))) for k in (1, 5)
    ]
    table.fill(rows)

    assert table.probe([(1,), (5,), (9,)]) == Counter(rows)


@both
def test_weights_that_do_not_fit_into_a_byte(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, v string", 1)
    weights = [127, 128, 129, 1000, 40_000]
    table.fill([(n, "a") for n in weights], weights=weights, pends=True)
    found = table.probe([(n,) for n in weights], new=True, weighted=True)

    assert sum(w * times for (_, _, w), times in found.items()) == sum(weights)
    assert table.java.settle()
    assert table.probe([(n,) for n in weights]) == Counter({(n, "a"): n for n in weights})
    table.fill([(n, "a") for n in weights], weights=[1 - n for n in weights], pends=True)
    assert table.java.settle()
    assert table.probe([(n,) for n in weights]) == Counter({(n, "a"): 1 for n in weights})


@both
def test_small_numbers_take_little_memory(spark: SparkSession, made: type[Table]) -> None:
    table = made(spark, "k bigint, a bigint, b decimal(15,2), c date", 1)
    table.take(spark.range(200_000).selectExpr("id", "id % 1000", "cast(id as decimal(15,2))", "date '2020-01-01'"))

    assert table.java.bytes() < 36 * 200_000


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


def test_segments_are_what_one_index_is(spark: SparkSession) -> None:
    """Rows come and leave, some runs fail, and Segments are merged, once and again: both give the same all the time."""
    r, schema = random.Random(11), "k bigint, l string, v string"
    here, apart = Table(spark, schema, 2), Apart(spark, schema, 2)
    draw = lambda: (r.choice([None, *range(8)]), r.choice([None, "", "a"]), r.choice("xyz"))  # noqa: E731
    rows = [draw() for _ in range(60)]
    keys: Rows = [(k, text) for k in (None, *range(9)) for text in (None, "", "a")]
    for table in (here, apart):
        table.fill(rows)
    most = 0
    for turn in range(16):
        leaving = r.sample(rows, min(len(rows), r.choice([0, 0, 2, 5])))
        coming = [draw() for _ in range(r.choice([0, 1, 6]))]
        weights = [-1] * len(leaving) + [1] * len(coming) if leaving else None
        for table in (here, apart):
            if leaving or coming:
                table.fill([*leaving, *coming], weights=weights, pends=True)
        for new in (False, True) if turn % 3 == 0 else ():
            how = {"null_safe": turn % 2 == 0, "weighted": new and bool(leaving), "new": new}
            assert _netted(apart, keys, how) == _netted(here, keys, how), (turn, how)
        if turn % 5 == 4:
            for table in (here, apart):
                table.java.forget()
            continue
        for row in leaving:
            rows.remove(row)
        rows += coming
        assert here.java.settle()
        assert apart.java.settle()
        most = max(most, len(apart.java.rdds()))
        if turn % 3 == 1:
            assert apart.probe(keys, null_safe=True) == here.probe(keys, null_safe=True)
        assert (apart.java.records(), apart.java.distinct()) == (here.java.records(), here.java.distinct())
    assert 3 <= most <= 9, "Segments are added, and merged in time"
    apart.java.release()


def _netted(table: Table, keys: Rows, how: dict[str, bool]) -> Counter[Any]:
    """What is found, rows with weights added up."""
    found = table.probe(keys, **how)
    if not how["weighted"]:
        return found
    sums: Counter[Any] = Counter()
    for row, times in found.items():
        sums[row[:-1]] += times * row[-1]
    return Counter({row: n for row, n in sums.items() if n})


def test_what_is_lost_is_made_again(spark: SparkSession) -> None:
    table = Apart(spark, "k bigint, v string", 1)
    table.take(spark.range(1000).selectExpr("id % 100", "string(id)"))
    before = table.probe([(7,), (8,)])
    assert table.java.there()
    for rdd in table.java.rdds():
        rdd.unpersist(True)
    assert not table.java.there()
    assert table.probe([(7,), (8,)]) == before
    assert len(before) == 20
