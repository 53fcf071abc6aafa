"""Tables without registration: a path, a table of the catalog or a DataFrame over them is a source by itself."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession
from sources.kept import Kept

import headrace as hr


def rows(session: SparkSession, *ids: int) -> DataFrame:
    return session.createDataFrame([(i, "abc"[i % 3], i * 1.5) for i in ids], "id int, kind string, price double")


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "orc", "text"])
def test_a_path(session: SparkSession, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "my söld `things'"
    first, second = rows(session, *range(6)), rows(session, 7, 8)
    if form == "text":
        first, second = first.selectExpr("kind AS value"), second.selectExpr("kind AS value")
    first.write.format(form).save(str(folder))
    column = {"csv": "_c1", "text": "value"}.get(form, "kind")
    path = str(folder).replace("`", "``")
    kept = Kept(session, tmp_path, f"SELECT {column} AS k, count(*) AS n FROM {form}.`{path}` GROUP BY 1")
    kept.check("initial", "FIRST_RUN")
    second.write.format(form).mode("append").save(str(folder))
    report = kept.check("incremental")
    assert report.rows_in == {str(folder): 2}
    assert f"Source {folder}" in kept.view.explain()
    assert kept.view.refresh().method == "unchanged"


def test_a_table_of_the_catalog(session: SparkSession, tmp_path: Path) -> None:
    session.sql("CREATE TABLE sales (id int, kind string, price double) USING parquet")
    session.sql("CREATE TABLE labels (kind string, label string) USING csv OPTIONS (header 'true', sep ';')")
    session.sql("INSERT INTO labels VALUES ('a', 'first;one'), ('b', NULL)")
    database = session.catalog.currentDatabase()
    query = f"""SELECT l.label, count(*) AS n, sum(s.price) AS total
                FROM sales s LEFT JOIN spark_catalog.{database}.labels l ON s.kind = l.kind GROUP BY l.label"""
    kept = Kept(session, tmp_path, query)
    kept.check("initial", "FIRST_RUN")
    rows(session, *range(9)).write.insertInto("sales")
    report = kept.check("incremental")
    assert report.rows_in == {f"spark_catalog.{database}.sales": 9, f"spark_catalog.{database}.labels": 0}
    session.sql("INSERT INTO labels VALUES ('c', '')")
    kept.check("incremental")


def test_files_that_are_replaced_or_removed(session: SparkSession, tmp_path: Path) -> None:
    """A cut is told and computed anew, and what comes after it is incremental again."""
    session.sql("CREATE TABLE t USING parquet AS SELECT id, id % 3 AS k FROM range(10)")
    query = "SELECT k, count(*) AS n, max(id) AS top FROM t GROUP BY k"
    kept = Kept(session, tmp_path, query)
    kept.check("initial", "FIRST_RUN")
    session.sql("INSERT OVERWRITE t SELECT id, id % 2 AS k FROM range(4)")
    assert "replaced or removed" in str(kept.check("full", "HISTORY_CUT").reason)
    session.sql("INSERT INTO t VALUES (100, 1)")
    kept.check("incremental")
    session.sql("TRUNCATE TABLE t")
    kept.check("full", "HISTORY_CUT")
    session.sql("INSERT INTO t VALUES (5, 5)")
    kept.check("incremental")
    strict = Kept(session, tmp_path, query, refresh_policy="INCREMENTAL STRICT")
    assert strict.view.refresh().method == "unchanged"
    session.sql("INSERT OVERWRITE t VALUES (6, 6)")
    with pytest.raises(hr.StateError) as caught:
        strict.view.refresh()
    assert caught.value.code == "WOULD_RECOMPUTE"
    assert [tuple(r) for r in strict.view.read().collect()] == [(5, 1, 5)]


def test_a_file_changed_in_place(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    (folder / "a.json").write_text('{"k": 1}\n{"k": 2}\n')
    (folder / "b.json").write_text('{"k": 3}\n')
    kept = Kept(session, tmp_path, f"SELECT sum(k) AS s FROM json.`{folder}`")
    kept.check("initial", "FIRST_RUN")
    with (folder / "a.json").open("a") as out:
        out.write('{"k": 40}\n')
    kept.check("full", "HISTORY_CUT")
    (folder / "b.json").unlink()
    kept.check("full", "HISTORY_CUT")


def test_a_file_no_view_has_read_cuts_nothing(session: SparkSession, tmp_path: Path) -> None:
    """It was found, and it failed; once it is gone the view goes on from where it was."""
    folder = tmp_path / "lines"
    folder.mkdir()
    (folder / "a.json").write_text('{"k": 1}\n')
    session.sql(f"CREATE TABLE j (k int) USING json OPTIONS (mode 'FAILFAST') LOCATION '{folder}'")
    kept = Kept(session, tmp_path, "SELECT sum(k) AS s FROM j")
    kept.check("initial", "FIRST_RUN")
    (folder / "b.json").write_text('{"k": "no number"}\n')
    with pytest.raises(hr.SourceError) as caught:
        kept.view.refresh()
    assert caught.value.code == "FILE_CORRUPT"
    assert "b.json" in str(caught.value)
    (folder / "b.json").write_text('{"k": 5}\n')
    kept.check("incremental")


def test_lines_that_do_not_fit_are_read_as_spark_reads_them(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.csv").write_text("id,price\n1,2.5\nx,3.5\n7\n\n")
    frame = session.read.schema("id int, price double, _corrupt_record string").option("header", True).csv(str(folder))
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=session)
    view = warehouse.view("v", frame)
    view.refresh()
    same_rows(view.read(), frame)
    assert view.read().where("_corrupt_record IS NOT NULL").count() == 2
    (folder / "b.csv").write_text("id,price\n4,what\n")
    assert view.refresh().method == "incremental"
    again = session.read.schema(frame.schema).option("header", True).csv(str(folder))
    same_rows(view.read(), again)


def test_columns_that_spark_infers_and_several_paths(session: SparkSession, tmp_path: Path) -> None:
    """What was inferred is settled: a later line that does not fit is read as under a schema that was given."""
    for name, text in (("one", "the id,größe\n1,2.5\n"), ("two", "the id,größe\n2,\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text(text)
    paths = [str(tmp_path / "one"), str(tmp_path / "two")]
    frame = session.read.csv(paths, header=True, inferSchema=True)
    assert [f.dataType.simpleString() for f in frame.schema] == ["int", "double"]
    view = hr.Warehouse(tmp_path / "warehouse", spark=session).view("v", frame)
    assert list(view.refresh().rows_in) == [", ".join(paths) + " (header=true, inferschema=true)"]
    (tmp_path / "one" / "b.csv").write_text("the id,größe\n3,huge\n")
    assert view.refresh().method == "incremental"
    same_rows(view.read(), session.read.csv(paths, header=True, schema=frame.schema))
    assert view.read().where("`größe` IS NULL").count() == 2


@pytest.mark.parametrize("glob", ["*", "{one,two}", "???"])
def test_a_pattern_matches_what_comes_later(session: SparkSession, tmp_path: Path, glob: str) -> None:
    rows(session, 1, 2).write.parquet(str(tmp_path / "in" / "one"))
    kept = Kept(session, tmp_path, f"SELECT kind, sum(price) AS p FROM parquet.`{tmp_path}/in/{glob}` GROUP BY kind")
    frame = session.read.parquet(f"{tmp_path}/in/{glob}").groupBy("kind").count()
    second = kept.warehouse.view("w", frame)
    kept.check("initial", "FIRST_RUN")
    second.refresh()
    rows(session, 3).write.parquet(str(tmp_path / "in" / "two"))
    kept.check("incremental")
    assert second.refresh().rows_in == {f"{tmp_path}/in/{glob}": 1}


def test_only_the_files_that_spark_reads(session: SparkSession, tmp_path: Path) -> None:
    """Hidden ones, other folders and names that a filter leaves out do not count; any ending does."""
    folder = tmp_path / "t"
    rows(session, 1).coalesce(1).write.json(str(folder))
    (folder / "_hidden.json").write_text("broken")
    (folder / ".hidden").write_text("broken")
    (folder / "empty").write_text("")
    (folder / "below").mkdir()
    (folder / "below" / "x.json").write_text('{"id": 7}')
    (folder / "data").write_text('{"id": 2}\n{"id": 3}')
    kept = Kept(session, tmp_path, f"SELECT id FROM json.`{folder}`")
    assert kept.check("initial", "FIRST_RUN").rows_in == {str(folder): 3}
    deep = session.read.option("recursiveFileLookup", True).option("pathGlobFilter", "*.json").json(str(folder))
    view = kept.warehouse.view("deep", deep.select("id"))
    view.refresh()
    assert sorted(r.id for r in view.read().collect()) == [1, 7]


def test_a_dataframe_over_files_and_registered_sources(session: SparkSession, tmp_path: Path) -> None:
    rows(session, 1, 2, 3).write.parquet(str(tmp_path / "sales"))
    session.sql("CREATE TABLE kinds (kind string, label string) USING json")
    session.sql("INSERT INTO kinds VALUES ('a', 'A'), ('b', 'B')")
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=session)
    given = hr.Rows("label string, weight int", [("A", 10), ("B", 20)])
    warehouse.source("weights", given)

    def frame(weights: DataFrame) -> DataFrame:
        sales = session.read.parquet(str(tmp_path / "sales")).cache()
        joined = sales.join(session.table("kinds"), "kind").join(weights, "label")
        return joined.groupBy("label").agg({"weight": "sum", "price": "max"})

    def truth() -> DataFrame:
        return frame(session.createDataFrame(held, "label string, weight int"))

    held = [("A", 10), ("B", 20)]
    view = warehouse.view("v", frame(warehouse.table("weights")))
    view.refresh()
    same_rows(view.read(), truth())
    rows(session, 4, 6, 9).write.mode("append").parquet(str(tmp_path / "sales"))
    given.insert(("A", 5))
    held.append(("A", 5))
    assert view.refresh().method == "incremental"
    session.catalog.clearCache()
    same_rows(view.read(), truth())
    same_rows(view.recompute(), truth())


def test_views_of_the_catalog_and_of_the_session(session: SparkSession, tmp_path: Path) -> None:
    rows(session, *range(5)).write.parquet(str(tmp_path / "p"))
    session.sql("CREATE TABLE t (id int, note string) USING csv")
    session.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    session.sql(f"CREATE VIEW lasting AS SELECT id, kind FROM parquet.`{tmp_path}/p` WHERE id > 0")
    session.sql("CREATE TEMPORARY VIEW passing AS SELECT l.kind, t.note FROM lasting l JOIN t ON l.id = t.id")
    kept = Kept(session, tmp_path, "SELECT kind, count(note) AS n FROM passing GROUP BY kind")
    kept.check("initial", "FIRST_RUN")
    rows(session, 7, 8).write.mode("append").parquet(str(tmp_path / "p"))
    session.sql("INSERT INTO t VALUES (7, 'seven'), (3, 'three')")
    kept.check("incremental")


def test_registered_names_come_first(session: SparkSession, tmp_path: Path) -> None:
    session.sql("CREATE TABLE t USING parquet AS SELECT 'catalog' AS x")
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=session)
    warehouse.source("t", hr.Rows("x string", [("registered",)]))
    one = warehouse.view("one", "SELECT x FROM t")
    both = warehouse.view("both", f"SELECT x FROM t UNION ALL SELECT x FROM {session.catalog.currentDatabase()}.t")
    above = warehouse.view("above", "SELECT count(*) AS n FROM both")
    warehouse.refresh()
    assert [r.x for r in one.read().collect()] == ["registered"]
    assert sorted(r.x for r in both.read().collect()) == ["catalog", "registered"]
    assert [r.n for r in above.read().collect()] == [2]


def test_one_source_however_often_it_is_named(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    rows(session, *range(6)).write.parquet(str(folder))
    query = f"""WITH few AS (SELECT * FROM parquet.`{folder}` WHERE id < 4)
                SELECT a.kind, count(*) AS n FROM few a JOIN parquet.`file:{folder}/` b ON a.kind = b.kind
                WHERE a.price > (SELECT min(price) FROM parquet.`{folder}`)
                  AND b.id IN (SELECT id FROM few) GROUP BY a.kind"""
    kept = Kept(session, tmp_path, query)
    assert kept.check("initial", "FIRST_RUN").rows_in == {str(folder): 6}
    rows(session, 1, 2, 2).write.mode("append").parquet(str(folder))
    kept.check("incremental")


def test_the_same_files_read_in_two_ways(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.csv").write_text("1,2\n3,4\n")
    read = session.read
    ways = [read.schema("a int, b int").csv(str(folder)), read.schema("b int, a int").csv(str(folder))]
    ways.append(read.schema("a int, b int").option("header", True).csv(str(folder)))
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=session)
    together = ways[0].unionAll(ways[1].select("a", "b")).unionAll(ways[2])
    view = warehouse.view("v", together)
    assert len(view.refresh().rows_in) == 3
    assert sorted(map(tuple, view.read().collect())) == [(1, 2), (2, 1), (3, 4), (3, 4), (4, 3)]
    for i, expected in ((0, [(1,), (3,)]), (1, [(2,), (4,)])):
        single = warehouse.view("w", ways[i].select("a"))
        assert single.refresh().method == ("full" if i else "initial")
        assert sorted(map(tuple, single.read().collect())) == expected


def test_a_delta_table_by_its_path(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "läke of `items`"
    write_deltalake(str(folder), rows(session, *range(6)).toArrow())
    path = str(folder).replace("`", "``")
    query = f"""WITH d AS (SELECT * FROM delta.`{path}`)
                SELECT kind, count(*) AS n FROM d WHERE id < (SELECT max(id) FROM delta.`{path}`) GROUP BY kind"""
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=session)
    view = warehouse.view("v", query)

    def check(method: str) -> None:
        assert view.refresh().method == method
        session.createDataFrame(hr_table(folder)).createOrReplaceTempView("d")
        same_rows(
            view.read(),
            session.sql("SELECT kind, count(*) AS n FROM d WHERE id < (SELECT max(id) FROM d) GROUP BY kind"),
        )
        same_rows(view.recompute(), view.read())

    check("initial")
    write_deltalake(str(folder), rows(session, 8, 9).toArrow(), mode="append")
    check("incremental")
    from deltalake import DeltaTable

    DeltaTable(str(folder)).delete("id < 2")
    check("incremental")
    assert list(view.refresh().rows_in) == [str(folder)]


def hr_table(folder: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(str(folder)).to_pyarrow_table()


def test_a_later_process_goes_on(session: SparkSession, tmp_path: Path) -> None:
    session.sql("CREATE TABLE t USING parquet PARTITIONED BY (k) AS SELECT id, id % 3 AS k FROM range(10)")
    query = "SELECT k, sum(id) AS s FROM t GROUP BY k"
    Kept(session, tmp_path, query).check("initial", "FIRST_RUN")
    session.sql("INSERT INTO t VALUES (100, 7)")
    Kept(session, tmp_path, query).check("incremental")
    saved = list((tmp_path / "warehouse" / "sources").glob("*.files.json"))
    assert len(saved) == 1
    assert len(json.loads(saved[0].read_text())["files"]) >= 4
    session.sql("ALTER TABLE t DROP PARTITION (k = 7)")
    Kept(session, tmp_path, query).check("full", "HISTORY_CUT")


def test_columns_that_change(session: SparkSession, tmp_path: Path) -> None:
    """Columns that are added are passed over until the view is defined anew; one that is gone is told."""
    session.sql("CREATE TABLE t (id int, k int) USING parquet")
    session.sql("INSERT INTO t VALUES (1, 1)")
    kept = Kept(session, tmp_path, "SELECT * FROM t")
    kept.check("initial", "FIRST_RUN")
    session.sql("ALTER TABLE t ADD COLUMNS (more string)")
    session.sql("INSERT INTO t VALUES (2, 2, 'x')")
    assert kept.view.refresh().method == "incremental"
    assert kept.view.read().columns == ["id", "k"]
    again = Kept(session, tmp_path, "SELECT * FROM t")
    again.check("full", "DEFINITION_CHANGED")
    session.sql("DROP TABLE t")
    session.sql("CREATE TABLE t (id string, more string) USING parquet")
    session.sql("INSERT INTO t VALUES ('a', 'b')")
    with pytest.raises(hr.SourceError) as caught:
        again.view.refresh()
    assert caught.value.code == "SOURCE_SCHEMA"
    session.sql("DROP TABLE t")
    with pytest.raises(hr.SourceError) as caught:
        again.view.refresh()
    assert caught.value.code == "TABLE_MISSING"


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_random_histories(session: SparkSession, tmp_path: Path, form: str) -> None:
    """Appends and overwrites of tables and partitions, whatever comes: Spark's answer, and never a silent recompute."""
    draw = random.Random(form)
    session.sql(
        f"CREATE TABLE facts (id int, price double, kind string, day date) USING {form} PARTITIONED BY (kind, day)"
    )
    session.sql(f"CREATE TABLE kinds (kind string, label string) USING {form}")
    session.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    query = """SELECT k.label, f.day, count(*) AS n, sum(f.id) AS s, max(f.price) AS top
               FROM facts f LEFT JOIN kinds k ON f.kind = k.kind GROUP BY k.label, f.day"""
    kept = Kept(session, tmp_path, query)
    kept.check("initial", "FIRST_RUN")

    def facts(count: int) -> str:
        kinds, days = ["NULL", "'a'", "'b/c'", "'d e'"], ["NULL", "DATE'2024-02-29'", "DATE'1999-12-31'"]
        made = [(draw.randint(0, 99), draw.randint(0, 9), draw.choice(kinds), draw.choice(days)) for _ in range(count)]
        return ", ".join(f"({i}, {price}.5D, {kind}, {day})" for i, price, kind, day in made)

    filled = False
    for _ in range(6):
        cut = draw.random() < 0.3
        if draw.random() < 0.4:
            session.sql(f"INSERT INTO kinds VALUES ('{draw.choice(['a', 'b/c', 'x'])}', 'l{draw.randint(0, 3)}')")
        session.sql(f"INSERT {'OVERWRITE' if cut else 'INTO'} facts VALUES {facts(draw.randint(1, 5))}")
        report = kept.view.refresh()
        assert report.method == "incremental" or (report.code == "HISTORY_CUT" and cut and filled)
        filled = True
        same_rows(kept.view.read(), kept.truth())
    same_rows(kept.view.recompute(), kept.truth())
