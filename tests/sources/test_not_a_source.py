"""What cannot be a source is refused by name, with the reason; its near twin is read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr

Frame = Callable[[SparkSession, str], DataFrame]


def refused(warehouse: hr.Warehouse, query: Any, **options: Any) -> hr.HeadraceError:
    with pytest.raises(hr.HeadraceError) as caught:
        warehouse.view("v", query, **options)
    assert caught.value.hint
    return caught.value


@pytest.fixture
def warehouse(session: SparkSession, tmp_path: Path) -> hr.Warehouse:
    session.range(5).selectExpr("id", "id % 2 AS k").write.parquet(str(tmp_path / "p"))
    return hr.Warehouse(tmp_path / "warehouse", spark=session)


FRAMES: dict[str, tuple[Frame, str]] = {
    "rows of the session": (lambda s, p: s.createDataFrame([(1, 2)], "a int, b int"), "in this session"),
    "a checkpoint": (lambda s, p: s.read.parquet(p).localCheckpoint(), "in this session"),
    "an option by time": (
        lambda s, p: s.read.option("modifiedAfter", "2020-01-01T00:00:00").parquet(p),
        "modifiedafter",
    ),
    "corrupt files ignored": (lambda s, p: s.read.option("ignoreCorruptFiles", True).parquet(p), "ignoreCorruptFiles"),
    "lines dropped": (
        lambda s, p: s.read.schema("a int").option("mode", "dropmalformed").csv(p),
        "DROPMALFORMED",
    ),
    "a path twice": (lambda s, p: s.read.parquet(p, p), "twice"),
    "another format": (lambda s, p: s.read.format("binaryFile").load(p), "binaryfile"),
    "where a row is": (lambda s, p: s.read.parquet(p).select("id", "_metadata.file_path"), "_metadata"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_a_frame_that_is_no_source(warehouse: hr.Warehouse, tmp_path: Path, case: str) -> None:
    make, reason = FRAMES[case]
    problem = refused(warehouse, make(warehouse.spark, str(tmp_path / "p")))
    assert problem.code == "NOT_A_SOURCE"
    assert reason in problem.message


def test_constants_and_cached_frames_are_read(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    cached = warehouse.spark.read.parquet(str(tmp_path / "p")).cache()
    cached.count()
    view = warehouse.view("v", cached.crossJoin(warehouse.spark.range(3).toDF("x")).groupBy("k").count())
    view.refresh()
    assert sorted(map(tuple, view.read().collect())) == [(0, 9), (1, 6)]
    warehouse.spark.range(1).selectExpr("id", "id AS k").write.mode("append").parquet(str(tmp_path / "p"))
    assert view.refresh().method == "incremental"
    assert sorted(map(tuple, view.read().collect())) == [(0, 12), (1, 6)]
    cached.unpersist()


def test_a_table_of_another_database(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    spark = warehouse.spark

    def asked() -> hr.HeadraceError:
        spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))  # type: ignore[union-attr]
        told = {"url": "jdbc:derby:memory:headrace;create=true"}
        told["driver"] = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
        spark.range(3).write.format("jdbc").options(**told, dbtable="numbers").save()
        return refused(warehouse, spark.read.format("jdbc").options(**told, dbtable="numbers").load())

    with ThreadPoolExecutor(1) as pool:  # Derby changes the thread that starts it
        problem = pool.submit(asked).result()
    assert problem.code == "NOT_A_SOURCE"
    assert "another database" in problem.message


def test_a_stream(warehouse: hr.Warehouse) -> None:
    assert refused(warehouse, warehouse.spark.readStream.format("rate").load()).code == "STREAMING"


def test_the_file_of_a_row(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    sql = f"SELECT id, input_file_name() AS f FROM parquet.`{tmp_path}/p`"
    assert refused(warehouse, sql).code == "FILE_OF_ROW"
    assert refused(warehouse, sql, refresh_policy="FULL").code == "FILE_OF_ROW"
    frame = warehouse.spark.read.parquet(str(tmp_path / "p"))
    assert refused(warehouse, frame.select(F.input_file_name())).code == "FILE_OF_ROW"
    warehouse.view("v", f"SELECT id, 'input_file_name()' AS f FROM parquet.`{tmp_path}/p`")


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("SELECT * FROM parquet.`{p}/none`", "NOT_RESOLVED", "PATH_NOT_FOUND"),
        ("SELECT * FROM delta.`{p}`", "TABLE_MISSING", "no Delta table"),
        ("SELECT * FROM delta.`s3://bucket/t`", "NOT_A_SOURCE", "on s3"),
        ("SELECT * FROM delta.`{p}` VERSION AS OF 1", "NOT_A_SOURCE", "one version"),
        ("SELECT nothing\nFROM parquet.`{p}`", "NOT_RESOLVED", "line 1 pos 7"),
        ("SELECT id\nFROM parquet.`{p}` WHERE\n nothing = 1", "NOT_RESOLVED", "line 3 pos 1"),
        ("SELECT id FROM nowhere.t", "NOT_RESOLVED", "nowhere"),
        ("SELECT id FROM parquet.`{p}` WHERE id = = 1", "SYNTAX", "line 1, pos"),
    ],
)
def test_sql_that_names_nothing(warehouse: hr.Warehouse, tmp_path: Path, sql: str, code: str, words: str) -> None:
    problem = refused(warehouse, sql.format(p=tmp_path / "p"))
    assert problem.code == code
    assert words in problem.message, problem.message


def test_a_column_of_delta_that_is_not_there(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "d"), warehouse.spark.range(3).toArrow())
    problem = refused(warehouse, f"SELECT id\nFROM delta.`{tmp_path}/d`\nWHERE nothing = 1")
    assert (problem.code, "line 3 pos 6" in problem.message) == ("NOT_RESOLVED", True)
    warehouse.view("v", f"SELECT id FROM delta.`file:{tmp_path}/d`").refresh()


def test_a_stand_in_of_another_warehouse(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    other = hr.Warehouse(tmp_path / "other", spark=warehouse.spark)
    other.source("elsewhere", hr.Rows("a int", [(1,)]))
    problem = refused(warehouse, other.table("elsewhere"))
    assert (problem.code, "elsewhere" in problem.message) == ("NOT_A_SOURCE", True)


def test_a_name_that_is_taken(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    warehouse.source(str(tmp_path / "p"), hr.Rows("a int", [(1,)]))
    assert refused(warehouse, f"SELECT id FROM parquet.`{tmp_path}/p`").code == "NAME_TAKEN"


def test_what_a_view_publishes_is_read_by_its_name(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    first = warehouse.view("First one", f"SELECT k, count(*) AS n FROM parquet.`{tmp_path}/p` GROUP BY k")
    first.refresh()
    for query in (first.read(), f"SELECT * FROM delta.`{first._folder}/table`"):
        problem = refused(warehouse, query)
        assert (problem.code, "First one" in problem.message) == ("NOT_A_SOURCE", True)
    view = warehouse.view("v", warehouse.table("First one").select("n"))
    view.refresh()
    assert sorted(map(tuple, view.read().collect())) == [(2,), (3,)]


def test_a_delta_table_and_its_files_are_two_sources(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(str(tmp_path / "d"), warehouse.spark.range(3).toArrow())
    write_deltalake(str(tmp_path / "d"), warehouse.spark.range(5).toArrow(), mode="overwrite")
    assert DeltaTable(str(tmp_path / "d")).version() == 1
    both = warehouse.view(
        "v",
        f"""SELECT (SELECT count(*) FROM delta.`{tmp_path}/d`) AS live,
                                   (SELECT count(*) FROM parquet.`{tmp_path}/d`) AS stored""",
    )
    assert len(both.refresh().rows_in) == 2
    assert [tuple(r) for r in both.read().collect()] == [(5, 8)]


def test_a_file_that_vanishes_under_the_hand(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    """What was found and is gone when it is read is told: Spark would pass over it."""
    view = warehouse.view("v", f"SELECT k, count(*) AS n FROM parquet.`{tmp_path}/p` GROUP BY k")
    view.refresh()
    gone = next((tmp_path / "p").glob("part-*"))
    gone.unlink()
    with pytest.raises(hr.SourceError) as caught:
        view.recompute()
    assert caught.value.code == "FILE_VANISHED"
    assert view.refresh().code == "HISTORY_CUT"
    view.recompute()


def test_files_of_the_second_kind(warehouse: hr.Warehouse, tmp_path: Path) -> None:
    """Spark has two ways to read files. Whichever a session prefers, they are a source."""
    spark = warehouse.spark
    before = spark.conf.get("spark.sql.sources.useV1SourceList")
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        spark.range(4).selectExpr("id", "id % 2 AS k").write.partitionBy("k").json(str(tmp_path / "j"))
        frame = spark.read.json(str(tmp_path / "j"))
        assert "RelationV2" in str(frame._jdf.queryExecution().analyzed().toString())
        view = warehouse.view("v", frame.groupBy("k").count())
        sql = warehouse.view("w", f"SELECT id FROM json.`{tmp_path}/j` WHERE k = 1")
        view.refresh()
        sql.refresh()
        assert sorted(map(tuple, view.read().collect())) == [(0, 2), (1, 2)]
        assert sorted(map(tuple, sql.read().collect())) == [(1,), (3,)]
    finally:
        spark.conf.set("spark.sql.sources.useV1SourceList", before)
