"""Partitioned tables: the columns, types and values of directories are Spark's, whatever is in their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sources.kept import Kept

import headrace as hr

VALUES = """VALUES
    (1, 7, DATE'2024-02-29', 'a b/c', 1.25BD, TIMESTAMP'2024-03-31 02:30:00.5', true),
    (2, -1, DATE'1582-10-15', 'ü=%41\\'"', -2.50BD, TIMESTAMP'1970-01-01 00:00:00', false),
    (3, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 12, DATE'9999-12-31', '017', 3.00BD, TIMESTAMP'2024-12-31 23:59:59.999999', true)
    AS t(id, number, day, word, amount, moment, flag)"""
PARTS = ("number", "day", "word", "amount", "moment", "flag")


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_the_types_that_spark_finds(session: SparkSession, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "t"
    # Of a directory's name Spark takes whole seconds for a time, and anything finer for text.
    rows = session.sql(f"SELECT * EXCEPT (moment), date_trunc('second', moment) AS moment FROM {VALUES}")
    rows.write.format(form).partitionBy(*PARTS).save(str(folder))
    first = "_c0" if form == "csv" else "id"
    kept = Kept(session, tmp_path, f"SELECT {first} AS id, {', '.join(PARTS)} FROM {form}.`{folder}`")
    kept.check("initial", "FIRST_RUN")
    kinds = {f.name: f.dataType.simpleString() for f in kept.view.read().schema}
    assert [kinds[p] for p in PARTS] == ["int", "date", "string", "double", "timestamp", "string"]
    rows.where("id > 1").write.format(form).partitionBy(*PARTS).mode("append").save(str(folder))
    assert kept.check("incremental").rows_in == {str(folder): 3}


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_the_types_that_a_table_declares(session: SparkSession, tmp_path: Path, form: str) -> None:
    session.sql(
        f"""CREATE TABLE t (id int, number bigint, day date, word string, amount decimal(5,2), moment timestamp,
            flag boolean) USING {form} PARTITIONED BY ({", ".join(PARTS)})"""
    )
    session.sql(f"INSERT INTO t SELECT * FROM {VALUES}")
    kept = Kept(
        session, tmp_path, "SELECT word, day, count(*) AS n, sum(number) AS s, max(flag) AS f FROM t GROUP BY 1, 2"
    )
    every = kept.warehouse.view("all", "SELECT * FROM t")
    kept.check("initial", "FIRST_RUN")
    every.refresh()
    session.sql(f"INSERT INTO t SELECT * FROM {VALUES} WHERE id <> 2")
    kept.check("incremental")
    assert every.refresh().method == "incremental"
    assert every.read().exceptAll(session.table("t")).count() == 0
    assert session.table("t").exceptAll(every.read()).count() == 0


def test_a_partition_filter_reads_only_its_files(session: SparkSession, tmp_path: Path) -> None:
    session.sql("CREATE TABLE t (id int, k int) USING parquet PARTITIONED BY (k)")
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    kept = Kept(session, tmp_path, "SELECT id FROM t WHERE k >= 2")
    kept.check("initial", "FIRST_RUN")
    session.sql("INSERT INTO t VALUES (4, 1), (5, 4)")
    kept.check("incremental")


def test_partitions_that_are_elsewhere(session: SparkSession, tmp_path: Path) -> None:
    """The catalog says where a partition is; one that it drops is gone, though its files are there still."""
    session.sql(f"CREATE TABLE t (id int, k int) USING parquet PARTITIONED BY (k) LOCATION '{tmp_path / 't'}'")
    session.sql("INSERT INTO t VALUES (1, 1)")
    session.sql("SELECT CAST(7 AS int) AS id").write.parquet(str(tmp_path / "far away"))
    kept = Kept(session, tmp_path, "SELECT k, sum(id) AS s FROM t GROUP BY k")
    kept.check("initial", "FIRST_RUN")
    session.sql(f"ALTER TABLE t ADD PARTITION (k = 9) LOCATION '{tmp_path / 'far away'}'")
    kept.check("incremental")
    assert sorted(map(tuple, kept.view.read().collect())) == [(1, 1), (9, 7)]
    session.sql("ALTER TABLE t DROP PARTITION (k = 1)")
    kept.check("full", "HISTORY_CUT")
    assert sorted(map(tuple, kept.view.read().collect())) == [(9, 7)]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_partition_column_that_is_in_the_files_too(session: SparkSession, tmp_path: Path, form: str) -> None:
    """The directory's value counts, at the place where the files have the column."""
    rows = session.sql("SELECT 1 AS a, 5 AS k, 2 AS b")
    rows.write.format(form).option("header", True).save(str(tmp_path / "t" / "k=8"))
    kept = Kept(session, tmp_path, f"SELECT * FROM {form}.`{tmp_path}/t` WITH (header 'true')")
    kept.check("initial", "FIRST_RUN")
    assert [tuple(map(int, r)) for r in kept.view.read().collect()] == [(1, 8, 2)]
    rows.write.format(form).option("header", True).mode("append").save(str(tmp_path / "t" / "k=9"))
    kept.check("incremental")


def test_a_value_of_another_type(session: SparkSession, tmp_path: Path) -> None:
    """The type was settled when the view was defined; a directory that does not fit is told, not guessed at."""
    rows = session.sql("SELECT 1 AS a")
    rows.write.json(str(tmp_path / "t" / "k=8"))
    kept = Kept(session, tmp_path, f"SELECT a, k FROM json.`{tmp_path}/t`")
    kept.check("initial", "FIRST_RUN")
    rows.write.json(str(tmp_path / "t" / "k=many"))
    with pytest.raises(hr.SourceError) as caught:
        kept.view.refresh()
    assert caught.value.code == "SOURCE_SCHEMA"
    assert [tuple(r) for r in kept.view.read().collect()] == [(1, 8)]
    Kept(session, tmp_path, kept.query).check("full", "DEFINITION_CHANGED")
    rows.write.json(str(tmp_path / "t" / "k=3" / "l=4"))
    with pytest.raises(hr.SourceError):
        kept.view.refresh()
