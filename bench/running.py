"""What the benches share: a session, the queries to run, seconds, and whether two answers are the same."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any, Generic, TypeVar

import tpch
import typer
from pyspark.sql import SparkSession

from headrace.spark.finalizing import find_gone

T = TypeVar("T")

Scale = Annotated[float, typer.Option(help="Scale factor of TPC; 0.1 is 100 MB.")]
Queries = Annotated[str, typer.Option(help="A subset, as in 1,3,5.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write the results here as well.")]
Data = Annotated[Path, typer.Option(help="Where data is made and kept.")]
Cores = Annotated[int, typer.Option(min=1, help="For Spark, and for DuckDB where it takes part.")]
ALL_CORES = os.cpu_count() or 1
Heap = Annotated[str, typer.Option(help="The JVM's heap.")]


def session(cores: int, memory: str) -> SparkSession:
    """One session for both sides, set up as one would for plain Spark on one machine."""
    return (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("headrace bench")
        .config("spark.driver.memory", memory)
        .config("spark.sql.shuffle.partitions", cores)
        .config("spark.sql.codegen.cache.maxEntries", 5000)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "localhost")
        .getOrCreate()
    )


def chosen(
    queries: str, texts: Mapping[str, str] | None = None, usually: Sequence[int] | None = None
) -> dict[str, str]:
    """Some queries by their numbers, or those that are usually taken: of TPC-H all."""
    texts = tpch.queries() if texts is None else texts
    numbers = queries.split(",") if queries else usually or range(1, len(texts) + 1)
    try:
        return {name: texts[name] for name in (f"Q{int(number):02}" for number in numbers)}
    except (KeyError, ValueError):
        hint = f"name queries as in 1,3,5, from 1 to {len(texts)}"
        raise typer.BadParameter(hint, param_hint="--queries") from None


def release(spark: SparkSession, folder: Path) -> None:
    """Give back what one query kept, so that the next one finds the machine as this one did."""
    find_gone()  # views that nobody has any more
    spark.catalog.clearCache()
    for rdd in list(spark.sparkContext._jsc.getPersistentRDDs().values()):
        rdd.unpersist()
    shutil.rmtree(folder, ignore_errors=True)


def same_rows(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> bool:
    """EXCEPT ALL in both directions, floats equal up to rounding. No result has more than 30,000 rows."""

    def in_order(row: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(f"{value:.6g}" if isinstance(value, float) else repr(value) for value in row)

    def equal(a: Any, b: Any) -> bool:
        return math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else bool(a == b)

    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(equal, a, b))
        for a, b in zip(sorted(ours, key=in_order), sorted(theirs, key=in_order), strict=True)
    )


@dataclass(frozen=True)
class Timed(Generic[T]):
    """What an action gave, its wall-clock seconds, and the CPU seconds of Python and the JVM together."""

    value: T
    seconds: float
    cpu: float | None


def timed(action: Callable[[], T], spark: SparkSession | None = None) -> Timed[T]:
    cpu, start = cpu_seconds(spark), perf_counter()
    value = action()
    elapsed, cpu_after = perf_counter() - start, cpu_seconds(spark)
    used = None if cpu is None or cpu_after is None else round(cpu_after - cpu, 2)
    return Timed(value, round(elapsed, 4), used)


def cpu_seconds(spark: SparkSession | None) -> float | None:
    """None where the system has no /proc."""
    if spark is None:
        return process_time()
    gateway: Any = spark.sparkContext._gateway
    try:
        fields = Path(f"/proc/{gateway.proc.pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, AttributeError):
        return None
    return process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime, stime
