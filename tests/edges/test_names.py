"""Names are the user's: any text names a source, a view or a column, wherever Spark can quote it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from maintained import Maintained
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

import headrace as hr

NAMES = [
    "my table",
    "a.b",
    "sélect",
    "order",
    "it's",
    "back`tick",
    'dou"ble',
    "../x",
    "/etc/passwd",
    "%41 100%",
    "--",
    "表 😀",
    "C0",
    "weight",
    "x" * 300,
]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def rows_of(spark: SparkSession, name: str, rows: list[tuple[int, str]], sql: str) -> DataFrame:
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    session.createDataFrame(rows, "k int, s string").createOrReplaceTempView(quoted(name))
    return session.sql(sql)


def below(folder: Path) -> set[Path]:
    return set(folder.iterdir())


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if i % 2 else ()) for i, n in enumerate(NAMES)]
)
def test_a_source_and_a_view_of_any_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    warehouse = hr.Warehouse(home / "warehouse", spark=spark)
    rows = hr.Rows("k int, s string", [(1, "a"), (2, "a")])
    warehouse.source(name, rows)
    warehouse.source("another", hr.Rows("k int"))
    sql = f"SELECT s, count(*) AS c FROM {quoted(name)} GROUP BY s"
    view = warehouse.view(f"{name} counted", sql)
    view.refresh()
    rows.update((2, "a"), (2, "b"))
    report = view.refresh()
    assert report.method == "incremental"
    assert report.rows_in == {name: 2}
    same_rows(view.read(), rows_of(spark, name, [(1, "a"), (2, "b")], sql))
    same_rows(view.recompute(), view.read())
    assert name in view.explain()
    upper = warehouse.view("upper", f"SELECT s FROM {quoted(view.name)} WHERE c > 0")
    upper.refresh()
    same_rows(upper.read(), view.read().select("s"))
    assert below(home) == {home / "warehouse"}
    assert {p.parent for p in below(home / "warehouse" / "views")} == {home / "warehouse" / "views"}


def test_a_folder_of_any_name_keeps_its_manifest_inside(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "0").write_text("1\n")
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    for i, name in enumerate(NAMES):
        (data / str(i)).write_text("1\n")
        warehouse.source(name, hr.Folder(data, schema="k int", format="csv"))
        assert warehouse.sources[name].discover() == i + 1
    assert below(tmp_path) == {data, tmp_path / "warehouse"}
    manifests = [p for p in below(tmp_path / "warehouse" / "sources") if p.suffix == ".json"]
    assert len(manifests) == len(NAMES)


def test_names_that_a_query_cannot_tell_apart(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = hr.Warehouse(tmp_path, spark=spark)
    warehouse.source("t", hr.Rows("k int", [(1,)]))
    warehouse.view("v", "SELECT k FROM T").refresh()
    for name in ("T", "V", "v"):
        with pytest.raises(hr.ConfigError) as caught:
            warehouse.source(name, hr.Rows("k int"))
        assert caught.value.code == "NAME_TAKEN"
    for name in ("T", "V", "t"):
        with pytest.raises(hr.ConfigError) as caught:
            warehouse.view(name, "SELECT 1 AS k")
        assert caught.value.code == "NAME_TAKEN"
    with pytest.raises(hr.ConfigError):
        warehouse.source("", hr.Rows("k int"))


def test_a_name_that_is_put_together(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = hr.Warehouse(tmp_path, spark=spark)
    warehouse.source("together", hr.Rows("k int", [(4,)]))
    view = warehouse.view("v", "SELECT k FROM IDENTIFIER('toge' || 'ther')")
    view.refresh()
    assert [r.k for r in view.read().collect()] == [4]


COLUMNS = pa.schema(
    [
        ("a b", pa.int32()),
        ("a.b", pa.string()),
        ("it's", pa.int64()),
        ("back`tick", pa.int32()),
        ('dou"ble', pa.string()),
        ("sélect 表", pa.int32()),
        ("order", pa.string()),
        ("weight", pa.int32()),
        ("rows", pa.int32()),
        ("c0", pa.int32()),
        ("x#1", pa.int32()),
        ("x#2", pa.int32()),
        ("r0", pa.int32()),
    ]
)
SOME = (1, "x", 2, 3, "y", 4, "o", 5, 6, 7, 8, 9, 10)
MORE = (1, "x", 20, None, "z", 4, "p", 50, 60, 70, 80, 90, 100)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM `t 1`",
        "SELECT `a.b`, sum(`it's`) AS `it's`, max(`back``tick`) AS `c0`, count(*) AS `rows`, sum(weight) AS weight "
        "FROM `t 1` GROUP BY `a.b`",
        "SELECT t.`sélect 表` AS `a b`, u.`x#1` AS `x#2`, t.`x#2` AS `x#1` FROM `t 1` t LEFT JOIN `t 1` u "
        "ON t.`order` = u.`order` AND t.`c0` < u.`r0`",
        'SELECT DISTINCT `dou"ble`, `weight`, `rows` FROM `t 1` WHERE `back``tick` IS NOT NULL',
    ],
)
def test_columns_of_any_name(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    case = Maintained(spark, tmp_path, {"t 1": COLUMNS})
    case.truth = _quoting(case)  # type: ignore[method-assign]
    case["t 1"].change(insert=[SOME, SOME, MORE])
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    case["t 1"].change(delete=[SOME], insert=[MORE])
    assert case.check(view, sql).method == "incremental"


def _quoting(case: Maintained) -> object:
    def truth(sql: str) -> DataFrame:
        session = SparkSession(case.spark.sparkContext, case.spark._jsparkSession.cloneSession())
        for name, table in case.tables.items():
            session.createDataFrame(table.arrow()).createOrReplaceTempView(quoted(name))
        return session.sql(sql)

    return truth


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s, count(*) AS c FROM t GROUP BY s",
        "SELECT k, max(s) AS s, sum(s.`x.y`) AS `x.y` FROM t GROUP BY k",
        "SELECT t.s, u.k FROM t LEFT JOIN t u ON t.s = u.s AND t.k < u.k",
        "SELECT k, array_agg(s.`it's`) AS `array` FROM t GROUP BY k",
    ],
)
def test_fields_inside_columns_of_any_name(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    rows = hr.Rows("k int, s struct<`a b`: int, `it's`: string, `x.y`: int, `1`: array<struct<`select`: int>>>")
    rows.insert((1, (1, "x", 2, [(3,)])), (2, (1, "x", 2, [(3,)])), (2, None))
    warehouse = hr.Warehouse(tmp_path, spark=spark)
    warehouse.source("t", rows)
    view = warehouse.view("v", sql)
    view.refresh()
    rows.change(delete=[(2, None)], insert=[(1, (None, "`", 4, [])), (3, (1, "x", 2, [(3,)]))])
    assert view.refresh().method == "incremental"
    same_rows(view.read(), view.recompute())


def test_a_column_called_change_type_without_changes(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "data").mkdir()
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    for i, kind in enumerate(["delete", "insert"]):
        pq.write_table(pa.table({"_change_type": [kind], "k": [i]}), tmp_path / "data" / f"{i}.parquet")
        if i == 0:
            warehouse.source("t", hr.Folder(tmp_path / "data"))
            view = warehouse.view("v", "SELECT _change_type, count(*) AS c FROM t GROUP BY _change_type")
        view.refresh()
    assert sorted(map(tuple, view.read().collect())) == [("delete", 1), ("insert", 1)]
