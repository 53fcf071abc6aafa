"""An index in the memory of two executors, each a process of its own: against Spark's own joins, and when one of them
is killed. Prints a line for everything that holds."""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from indexed import Apart, Rows, joined, values
from pyspark.sql import SparkSession
from two_executors import executors, kill_one, registered, start, wait_for

from headrace.spark.jvm import give_executors, task_class

KEYS = {
    "one long": ("bigint",),
    "one string": ("string",),
    "composite": ("int", "string", "date"),
}
DRAW: dict[str, Any] = {
    "bigint": lambda r: r.choice([None, 2**62, *range(20)]),
    "int": lambda r: r.choice([None, *range(3)]),
    "string": lambda r: r.choice([None, "", "a", "ä" * 500, *"bcdef"]),
    "date": lambda r: __import__("datetime").date(2020, 1, r.randint(1, 3)),
}


def joins(spark: SparkSession) -> None:
    r = random.Random(5)
    for name, kinds in KEYS.items():
        columns = [*kinds, "string", "bigint"]
        schema = ", ".join(f"c{i} {k}" for i, k in enumerate(columns))
        rows = [tuple(DRAW[k](r) for k in columns) for _ in range(500)]
        left = spark.createDataFrame(
            [tuple(DRAW[k](r) for k in kinds) for _ in range(80)], ", ".join(f"k{i} {k}" for i, k in enumerate(kinds))
        )
        right = spark.createDataFrame(rows, schema)
        table = Apart(spark, schema, len(kinds))
        table.fill(rows)
        for null_safe in (False, True):
            for outer in (False, True):
                how = "left" if outer else "inner"
                found = values(table.probed(left, null_safe=null_safe, outer=outer))
                assert found == joined(left, right, len(kinds), null_safe=null_safe, how=how), (name, null_safe, outer)
        whole = values(table.probed(left).coalesce(1))  # in one task, which fetches parts from the other executor
        assert whole == joined(left, right, len(kinds), null_safe=False), name
        some = left.distinct()
        grouped = values(table.probed(some).groupBy("k0").count())  # planned anew between stages
        assert sum(row[1] for row in grouped) == sum(joined(some, right, len(kinds), null_safe=False).values())
        table.java.release()
        print("joined by", name, flush=True)


def weights(spark: SparkSession) -> None:
    table = Apart(spark, "k bigint, v string", 1)
    table.fill([(1, "a"), (1, "a"), (2, "b"), (None, "n")])
    table.fill([(1, "a"), (2, "c"), (None, "n"), (3, "d")], weights=[-1, 1, -1, 2], pends=True)
    keys: Rows = [(1,), (2,), (3,), (None,)]
    assert table.probe(keys, null_safe=True) == Counter({(1, "a"): 2, (2, "b"): 1, (None, "n"): 1})
    table.java.forget()
    assert table.probe(keys, null_safe=True, new=True) == Counter({(1, "a"): 2, (2, "b"): 1, (None, "n"): 1})
    table.fill([(1, "a"), (2, "c"), (None, "n"), (3, "d")], weights=[-1, 1, -1, 2], pends=True)
    sums: Counter[Any] = Counter()
    for (key, value, weight), times in table.probe(keys, null_safe=True, new=True, weighted=True).items():
        sums[key, value] += weight * times
    after = Counter({(1, "a"): 1, (2, "b"): 1, (2, "c"): 1, (3, "d"): 2})
    assert +sums == after
    assert table.java.settle()
    assert table.probe(keys, null_safe=True) == after
    assert (table.java.records(), table.java.distinct()) == (5, 3)
    table.fill([(3, "e")], weights=[-1], pends=True)
    assert not table.java.settle(), "a row that should leave is not there"
    table.java.release()
    print("weights, pending and settled", flush=True)


def merging(spark: SparkSession) -> None:
    table, most = Apart(spark, "k bigint, v bigint", 1), 0
    table.take(spark.range(20_000).selectExpr("id % 1000", "id"))
    for turn in range(20):
        gone = spark.range(turn * 10, turn * 10 + 10).selectExpr("id % 1000", "id", "-1L")
        came = spark.range(20_000 + turn * 10, 20_010 + turn * 10).selectExpr("id % 1000", "id", "1L")
        table.take(gone.union(came), weighted=True, pends=True)
        assert table.java.settle()
        most = max(most, len(table.java.rdds()))
    assert most <= 9
    assert table.java.records() == 20_000
    rows = table.probe([(k,) for k in range(1000)])
    assert rows == Counter({(i % 1000, i): 1 for i in range(200, 20_200)})
    table.java.release()
    print("merged", flush=True)


def used(spark: SparkSession) -> int:
    """Bytes that executors hold, in the memory that Spark has for storage."""
    each = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().values().iterator()
    total = 0
    while each.hasNext():
        one = each.next()
        total += one._1() - one._2()
    return int(total)


def memory(spark: SparkSession) -> None:
    before = used(spark)
    table = Apart(spark, "k bigint, v string", 1)
    table.take(spark.range(200_000).selectExpr("id", "repeat('x', 100)"))
    size = table.java.bytes()
    assert 0.9 * size <= used(spark) - before <= 1.2 * size, (size, used(spark) - before)
    table.java.release()
    wait_for(lambda: used(spark) - before < 0.1 * size, "memory is given back")
    print("measured and given back", flush=True)
    small = Apart(spark, "k bigint, v string", 1, limit=1_000_000)
    try:
        small.take(spark.range(200_000).selectExpr("id", "repeat('x', 100)"))
    except Exception as problem:
        assert "larger than it may be" in str(problem), problem  # noqa: PT017
    else:
        raise AssertionError("a limit holds")
    wait_for(lambda: used(spark) - before < 0.1 * size, "nothing is left of what did not fit")
    print("a limit holds", flush=True)


def killed_between(spark: SparkSession) -> None:
    table = Apart(spark, "k bigint, v bigint", 1)
    table.take(spark.range(100_000).selectExpr("id % 1000", "id"))
    table.fill([(5, 5), (5, -1)], weights=[-1, 1], pends=True)
    assert table.java.settle()
    expected = Counter({(5, i): 1 for i in (-1, *range(1005, 100_000, 1000))})
    assert table.probe([(5,)]) == expected
    assert table.java.there()
    kill_one()
    wait_for(lambda: not table.java.there(), "the driver knows what is lost")
    assert table.probe([(5,)]) == expected
    wait_for(lambda: registered(spark) == 2, "another executor")
    assert table.probe([(5,)]) == expected
    table.java.release()
    print("killed between probes", flush=True)


def killed_during(spark: SparkSession) -> None:
    table = Apart(spark, "k bigint, v bigint", 1)
    table.take(spark.range(100_000).selectExpr("id % 1000", "id"))
    found: list[int] = []
    asked = spark.range(0, 200_000, 1, 8).selectExpr("id % 1000 as k0")
    probing = Thread(target=lambda: found.append(table.probed(asked).count()))
    probing.start()
    time.sleep(1)
    kill_one()
    probing.join()
    assert found == [20_000_000], found
    table.java.release()
    print("killed during a probe", flush=True)


def killed_once_merged(spark: SparkSession) -> None:
    """What was merged does not know what it was made from."""
    wait_for(lambda: registered(spark) == 2, "another executor")
    table = Apart(spark, "k bigint, v bigint", 1)
    table.take(spark.range(1000).selectExpr("id % 100", "id"))
    for turn in range(9):
        table.take(spark.range(1000 + turn * 100, 1100 + turn * 100).selectExpr("id % 100", "id"), pends=True)
        assert table.java.settle()
    assert len(table.java.rdds()) == 1
    keys: Rows = [(k,) for k in range(100)]
    assert sum(table.probe(keys).values()) == 1900
    for _ in executors():
        kill_one()
        time.sleep(1)
    wait_for(lambda: registered(spark) == 2 and not table.java.there(), "other executors")
    try:
        found = table.probe(keys)
    except Exception as problem:
        assert "Checkpoint block" in str(problem), problem  # noqa: PT017
    else:
        raise AssertionError(f"{sum(found.values())} rows and no error")
    table.java.release()
    print("killed once merged", flush=True)


def not_made_again(spark: SparkSession, folder: Path) -> None:
    """Where even the rows are gone that an index was made from, it says so, also where Spark passes over lost files."""
    wait_for(lambda: registered(spark) == 2, "another executor")
    spark.range(1000).selectExpr("id % 100 as k", "id as v").repartition(4).write.parquet(str(folder / "gone"))
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    table = Apart(spark, "k bigint, v bigint", 1)
    table.take(spark.read.parquet(str(folder / "gone")))
    assert len(table.probe([(7,)])) == 10
    shutil.rmtree(folder / "gone")
    for _ in executors():
        kill_one()
        time.sleep(1)
    wait_for(lambda: registered(spark) == 2 and not table.java.there(), "other executors")
    try:
        found = table.probe([(k,) for k in range(100)])
    except Exception as problem:
        assert "not what it was" in str(problem), problem  # noqa: PT017
    else:
        raise AssertionError(f"{sum(found.values())} rows and no error")
    print("an error, and not fewer rows", flush=True)


def main() -> None:
    spark = start()
    assert task_class(spark._jvm, "Segments") is not None
    give_executors(spark._jvm, spark.sparkContext._jsc.sc())
    wait_for(lambda: registered(spark) == 2, "two executors")
    for check in (joins, weights, merging, memory, killed_between, killed_during, killed_once_merged):
        check(spark)
    not_made_again(spark, Path(sys.argv[1]))
    spark.stop()


if __name__ == "__main__":
    main()
