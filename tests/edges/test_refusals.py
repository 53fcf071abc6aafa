"""Bad input is refused with a code and a hint, and nothing is lost: the next good refresh works."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from maintained import Maintained
from pyspark.sql import SparkSession

import headrace as hr

T = pa.schema([("k", pa.int32()), ("s", pa.string())])
SQL = "SELECT s, count(*) AS c FROM t GROUP BY s"


@pytest.fixture
def case(spark: SparkSession, tmp_path: Path) -> Maintained:
    case = Maintained(spark, tmp_path, {"t": T})
    case["t"].change(insert=[(1, "a"), (2, "a"), (3, "b")])
    return case


def refuses(case: Maintained, view: hr.View, code: str, mend: Path | None = None) -> hr.HeadraceError:
    """The refresh fails with ``code``, the view reads as before, and after mending the next one works."""
    before = sorted(view.read().collect())
    with pytest.raises(hr.HeadraceError) as caught:
        view.refresh()
    assert caught.value.code == code
    assert sorted(view.read().collect()) == before
    if mend is not None:
        mend.unlink()
        case["t"].change(insert=[(9, "b")])
        case.check(view, SQL)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("SELECT * FROM nowhere", "NOT_RESOLVED", "nowhere"),
        ("SELECT nothing FROM t", "NOT_RESOLVED", "nothing"),
        ("SELEC k FROM t", "SYNTAX", "SELEC"),
        ("SELECT rand() AS r FROM t", "NOT_DETERMINISTIC", "rand"),
        ("SELECT uuid() AS u, k FROM t", "NOT_DETERMINISTIC", "uuid"),
        ("SELECT k, k FROM t", "COLUMN_TWICE", "k"),
        ("SELECT NULL AS n FROM t", "TYPE_NOT_STORABLE", "n"),
        ("SHOW TABLES", "NOT_A_QUERY", "command"),
    ],
)
def test_a_query_that_cannot_be_a_view(case: Maintained, sql: str, code: str, words: str) -> None:
    with pytest.raises(hr.QueryError) as caught:
        case.warehouse.view("v", sql)
    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE {t}",
        "INSERT INTO {t} VALUES (2)",
        "WITH q AS (SELECT 3 AS x) INSERT INTO {t} SELECT x FROM q",
        "TRUNCATE TABLE {t}",
        "CREATE TABLE {t}_2 AS SELECT 1 AS x",
    ],
)
def test_a_command_is_refused_and_not_carried_out(case: Maintained, sql: str) -> None:
    table = f"kept_{abs(hash(sql))}"
    case.spark.sql(f"CREATE TABLE {table} USING parquet AS SELECT 1 AS x")
    try:
        with pytest.raises(hr.QueryError) as caught:
            case.warehouse.view("v", sql.format(t=table))
        assert caught.value.code == "NOT_A_QUERY"
        assert [r["x"] for r in case.spark.table(table).collect()] == [1]
        assert not case.spark.catalog.tableExists(f"{table}_2")
    finally:
        case.spark.sql(f"DROP TABLE IF EXISTS {table}")


def test_sparks_message_and_position_are_kept(case: Maintained) -> None:
    with pytest.raises(hr.QueryError) as caught:
        case.warehouse.view("v", "SELECT k,\n  nothing FROM t")
    assert "UNRESOLVED_COLUMN" in str(caught.value)
    assert "line 2" in str(caught.value)


def test_a_non_deterministic_query_works_when_always_recomputed(case: Maintained) -> None:
    view = case.warehouse.view("v", "SELECT k, rand() >= 0 AS r FROM t", refresh_policy="FULL")
    view.refresh()
    case["t"].change(insert=[(4, "c")])
    report = view.refresh()
    assert report.method == "full"
    assert view.read().count() == 4


def test_a_folder_that_is_missing(case: Maintained, tmp_path: Path) -> None:
    with pytest.raises(hr.SourceError) as caught:
        case.warehouse.source("u", hr.Folder(tmp_path / "nowhere"))
    assert caught.value.code == "FOLDER_MISSING"


def test_a_folder_without_files_needs_a_schema(case: Maintained, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(hr.ConfigError) as caught:
        case.warehouse.source("u", hr.Folder(tmp_path / "empty"))
    assert caught.value.code == "SCHEMA_UNKNOWN"
    case.warehouse.source("u", hr.Folder(tmp_path / "empty", schema="k int"))
    view = case.warehouse.view("v", "SELECT count(*) AS c FROM u")
    view.refresh()
    assert view.read().collect()[0].c == 0


def test_a_file_with_another_schema(case: Maintained) -> None:
    view = case.warehouse.view("v", SQL)
    view.refresh()
    bad = case["t"].folder / "bad.parquet"
    pq.write_table(pa.table({"k": ["x"], "_change_type": ["insert"]}), bad)
    problem = refuses(case, view, "FILE_SCHEMA", bad)
    assert "bad.parquet" in str(problem)
    assert "k is string, not int" in str(problem)


def test_a_corrupt_file(case: Maintained) -> None:
    view = case.warehouse.view("v", SQL)
    view.refresh()
    bad = case["t"].folder / "bad.parquet"
    bad.write_bytes(b"PAR1 this is not Parquet PAR1")
    refuses(case, view, "FILE_CORRUPT", bad)


def test_an_unknown_change_type(case: Maintained) -> None:
    view = case.warehouse.view("v", SQL)
    view.refresh()
    bad = case["t"].folder / "bad.parquet"
    pq.write_table(pa.table({"k": pa.array([1], pa.int32()), "s": ["a"], "_change_type": ["upsert"]}), bad)
    refuses(case, view, "CHANGE_TYPE_UNKNOWN", bad)


def test_a_delete_of_a_row_that_is_not_there(case: Maintained) -> None:
    view = case.warehouse.view("v", SQL)
    view.refresh()
    bad = case["t"].folder / "bad.parquet"
    pq.write_table(pa.table({"k": pa.array([77], pa.int32()), "s": ["a"], "_change_type": ["delete"]}), bad)
    problem = refuses(case, view, "DELETE_OF_MISSING_ROW", bad)
    assert "k=77" in str(problem)


def test_a_file_that_changes_after_it_was_read(case: Maintained) -> None:
    view = case.warehouse.view("v", SQL)
    view.refresh()
    file = case["t"].folder / "001.parquet"
    content = file.read_bytes()
    file.write_bytes(content + b" ")
    refuses(case, view, "FILE_CHANGED")
    file.unlink()
    refuses(case, view, "FILE_VANISHED")


def test_an_error_of_sparks_leaves_the_last_good_result(case: Maintained) -> None:
    sql = "SELECT k, 10 DIV (k - 9) AS z FROM t"
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    before = sorted(view.read().collect())
    case["t"].change(insert=[(9, "z")])
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        view.refresh()
    assert sorted(view.read().collect()) == before
    case["t"].change(delete=[(9, "z")])
    case.check(view, sql)


def test_a_scalar_subquery_over_two_rows_is_sparks_error(case: Maintained) -> None:
    sql = "SELECT k, (SELECT k FROM t WHERE s = 'b') AS z FROM t"
    view = case.warehouse.view("v", sql)
    case.check(view, sql)
    case["t"].change(insert=[(8, "b")])
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        view.refresh()
    case["t"].change(delete=[(3, "b")])
    case.check(view, sql)


def test_names_are_checked(case: Maintained) -> None:
    with pytest.raises(hr.ConfigError):
        case.warehouse.view("", SQL)
    with pytest.raises(hr.ConfigError):
        case.warehouse.view("v", SQL, refresh_policy="SOMETIMES")
    with pytest.raises(hr.ConfigError):
        case.warehouse.table("nowhere")


def test_reading_before_the_first_refresh(case: Maintained) -> None:
    with pytest.raises(hr.StateError) as caught:
        case.warehouse.view("v", SQL).read()
    assert caught.value.code == "NOT_REFRESHED"
