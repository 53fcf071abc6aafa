"""Folders of CSV and JSON files: the same law as for Parquet, and no line that is guessed at."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.spark.batch import net_rows

SCHEMA = "id int, kind string, price decimal(9,2)"
HEADER = {"header": "true"}
SQL = """SELECT k.label, count(*) AS n, sum(i.price) AS total, min(i.price) AS low
         FROM items i LEFT JOIN kinds k ON i.kind = k.kind GROUP BY k.label"""

Row = tuple[Any, ...]


def write_csv(file: Path, names: list[str], rows: list[Row]) -> None:
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(names)
        writer.writerows(rows)


def write_json(file: Path, names: list[str], rows: list[Row]) -> None:
    lines = [json.dumps({n: v for n, v in zip(names, r, strict=True) if v is not None}) for r in rows]
    file.write_text("\n".join(lines))


def code(call: Any) -> str:
    with pytest.raises(hr.HeadraceError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


def truth(spark: SparkSession, items: list[Row], kinds: list[Row]) -> DataFrame:
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    typed = session.createDataFrame([(i, k, str(p)) for i, k, p in items], "id int, kind string, price string")
    typed.selectExpr("id", "kind", "cast(price as decimal(9,2)) price").createOrReplaceTempView("items")
    session.createDataFrame(kinds, "kind string, label string").createOrReplaceTempView("kinds")
    return session.sql(SQL)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_view_over_a_random_history(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    draw = random.Random(5)
    write = write_csv if kind == "csv" else write_json
    options = HEADER if kind == "csv" else None
    items_at, kinds_at = tmp_path / "items [é] %41", tmp_path / "kinds"
    items_at.mkdir()
    kinds_at.mkdir()
    kinds: list[Row] = [("a", "x"), ("b", "y"), ("c, d\"e'", "x")]
    write(kinds_at / f"0.{kind}", ["kind", "label"], kinds)
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    warehouse.source("items", hr.Folder(items_at, changes=True, schema=SCHEMA, format=kind, options=options))
    warehouse.source("kinds", hr.Folder(kinds_at, schema="kind string, label string", format=kind, options=options))
    view = warehouse.view("v", SQL)
    rows: list[Row] = []
    names = ["id", "kind", "price", "_change_type"]
    for step in range(7):
        for part in range(draw.randint(0, 2)):
            changes: list[Row] = []
            for row in draw.sample(rows, min(len(rows), draw.randint(0, 4))):
                rows.remove(row)
                if draw.random() < 0.5:
                    new = (row[0], row[1], row[2] + 0.25)
                    rows.append(new)
                    changes += [(*row, "update_preimage"), (*new, "update_postimage")]
                else:
                    changes.append((*row, "delete"))
            for i in range(draw.randint(0, 5)):
                new = (step * 100 + part * 10 + i, draw.choice(["a", "b", "c, d\"e'", "é"]), draw.randint(1, 9) / 4)
                rows.append(new)
                changes.append((*new, "insert"))
            write(items_at / f"{step} {part}.{kind}", names, changes)
        if step == 4:
            kinds.append(("a", "w"))
            write(kinds_at / f"1.{kind}", ["kind", "label"], [("a", "w")])
        view.refresh()
        same_rows(view.read(), truth(spark, rows, kinds))
    assert view.refresh().method == "unchanged"


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_schema_must_be_declared(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    assert code(lambda: hr.Folder(tmp_path, format=kind).open("t", tmp_path, spark)) == "SCHEMA_UNKNOWN"
    assert code(lambda: hr.Folder(tmp_path, format="xml").open("t", tmp_path, spark)) == "FORMAT_UNKNOWN"
    loose = hr.Folder(tmp_path, format=kind, schema="a int", options={"mode": "PERMISSIVE"})
    assert code(lambda: loose.open("t", tmp_path, spark)) == "OPTION"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("csv", "id,kind,price\n2,b,2.5\nx,c,3\n", "FILE_CORRUPT"),
        ("csv", "id,kind,price\n2,b\n", "FILE_CORRUPT"),
        ("csv", "kind,id,price\nb,2,2.5\n", "FILE_SCHEMA"),
        ("json", '{"id": 2, "kind": "b"}\n{"id": 3, "ki', "FILE_CORRUPT"),
        ("json", '{"id": "two"}\n', "FILE_CORRUPT"),
    ],
)
def test_a_malformed_file_is_named(spark: SparkSession, tmp_path: Path, kind: str, text: str, expected: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write = write_csv if kind == "csv" else write_json
    write(data / "a good", ["id", "kind", "price"], [(1, "a", 1.5)])
    options = HEADER if kind == "csv" else None
    reader = hr.Folder(data, schema=SCHEMA, format=kind, options=options).open("t", tmp_path, spark)
    assert reader.discover() == 1
    write(data / "b good", ["id", "kind", "price"], [(1, "a", 1.5)])
    (data / "c bad").write_text(text)
    with pytest.raises(hr.SourceError) as caught:
        reader.discover()
    assert caught.value.code == expected
    assert "c bad" in str(caught.value)
    assert reader.snapshot(1).rows == 1
    (data / "c bad").unlink()
    assert reader.discover() == 2
    assert reader.snapshot(2).rows == 2


def test_deletes_are_checked(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "0.csv").write_text("1,a,insert\n2,,insert\n")
    reader = hr.Folder(data, changes=True, schema="r0 int, weight string", format="csv").open("t", tmp_path, spark)
    assert reader.discover() == 1
    (data / "1.csv").write_text("2,,delete\n1,b,delete\n")
    with pytest.raises(hr.SourceError) as caught:
        reader.discover()
    assert caught.value.code == "DELETE_OF_MISSING_ROW"
    assert "weight='b'" in str(caught.value)
    (data / "1.csv").write_text("2,,delete\n3,c,upsert\n")
    assert code(reader.discover) == "CHANGE_TYPE_UNKNOWN"
    (data / "1.csv").write_text("2,,delete\n")
    assert reader.discover() == 2
    assert [tuple(r) for r in net_rows(spark, reader, 2).collect()] == [(1, "a")]


def test_hidden_and_unfinished_files_are_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "_temporary" / "0").mkdir(parents=True)
    (data / "deep er").mkdir()
    (data / "1.csv").write_text("1\n")
    (data / "deep er" / "2").write_text("2\n")
    for name in ("_x.csv", ".x.csv", "x.csv.crc", "x.tmp", "x.inprogress", "x.csv._COPYING_", "_temporary/0/x.csv"):
        (data / name).write_text("not a number\n")
    reader = hr.Folder(data, schema="id int", format="csv").open("t", tmp_path, spark)
    assert reader.discover() == 2
    assert sorted(r.id for r in net_rows(spark, reader, 2).collect()) == [1, 2]


def test_two_processes_agree_on_the_order(spark: SparkSession, tmp_path: Path) -> None:
    """Two readers over one manifest stand for two processes: what one found first is first for both."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "b").write_text('{"id": 2}')
    folder = hr.Folder(data, schema="id int", format="json")
    one, other = folder.open("t", tmp_path, spark), folder.open("t", tmp_path, spark)
    assert one.discover() == 1
    (data / "a").write_text('{"id": 1}')
    assert other.discover() == 2
    (data / "0").write_text('{"id": 0}')
    assert one.discover() == other.discover() == 3
    for position, ids in ((1, [2]), (2, [1, 2]), (3, [0, 1, 2])):
        for reader in (one, other):
            assert sorted(r.id for r in net_rows(spark, reader, position).collect()) == ids
    assert folder.open("t", tmp_path, spark).snapshot(3).rows == 3


def test_readers_that_discover_at_once_find_each_file_once(spark: SparkSession, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    data = tmp_path / "data"
    data.mkdir()
    folder = hr.Folder(data, schema="id int", format="json")
    readers = [folder.open("t", tmp_path, spark) for _ in range(4)]
    for i in range(5):
        (data / str(i)).write_text(f'{{"id": {i}}}')
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda r: r.discover(), readers)) == [5] * 4
    assert all(r._files == readers[0]._files for r in readers)
