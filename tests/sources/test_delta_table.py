"""A Delta table as a source: every version equals what Delta itself reads, by whichever way its log tells."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from oracle import same_rows
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.spark.batch import net_rows
from headrace.spark.sources.delta_table import DeltaTableReader

ITEMS = pa.schema([("id", pa.int64()), ("kind", pa.string()), ("price", pa.int32())])
KINDS = pa.schema([("kind", pa.string()), ("label", pa.string())])
SQL = """SELECT k.label, count(*) AS n, sum(i.price) AS total, max(i.price) AS top
         FROM items i JOIN kinds k ON i.kind = k.kind GROUP BY k.label"""
FEED = {"delta.enableChangeDataFeed": "true"}


def items(*rows: tuple[Any, ...]) -> pa.Table:
    return pa.table([pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), ITEMS, strict=True)], schema=ITEMS)


def opened(path: Path, spark: SparkSession) -> DeltaTableReader:
    return hr.DeltaTable(path).open("t", path.parent / f"kept {path.name}", spark)


def frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    return spark.createDataFrame(rows)


def truth(spark: SparkSession, tables: dict[str, Path], sql: str) -> DataFrame:
    """Spark's answer over what the delta library reads."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, path in tables.items():
        session.createDataFrame(DeltaTable(str(path)).to_pyarrow_table()).createOrReplaceTempView(name)
    return session.sql(sql)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(hr.SourceError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


# --- random histories


@pytest.mark.parametrize(
    ("feed", "partitioned", "seed"),
    [
        (False, False, 1),
        (True, True, 4),
        pytest.param(True, False, 2, marks=pytest.mark.long),
        pytest.param(False, True, 3, marks=pytest.mark.long),
    ],
)
def test_a_view_over_a_random_history(
    spark: SparkSession, tmp_path: Path, feed: bool, partitioned: bool, seed: int
) -> None:
    draw = random.Random(seed)
    at, kinds = tmp_path / "items é", tmp_path / "kinds"
    values = ["a", "b", "ü / %25", None] if partitioned else ["a", "b", "c", None]
    rows = [(i, draw.choice(values), draw.randint(1, 9)) for i in range(20)]
    write_deltalake(
        at, items(*rows), partition_by=["kind"] if partitioned else None, configuration=FEED if feed else None
    )
    write_deltalake(kinds, pa.table({"kind": values, "label": ["x", "y", "x", "z"]}, schema=KINDS))
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    warehouse.source("items", hr.DeltaTable(at))
    warehouse.source("kinds", hr.DeltaTable(kinds))
    view = warehouse.view("v", SQL)
    view.refresh()
    next_id = 100
    for step in range(9):
        for _ in range(draw.choice([1, 1, 2])):
            table = DeltaTable(str(at))
            new = [(next_id + i, draw.choice(values), draw.randint(1, 9)) for i in range(draw.randint(1, 4))]
            next_id += 10
            match draw.choice(["append", "append", "update", "delete", "merge", "overwrite", "compact", "restore"]):
                case "append":
                    write_deltalake(at, items(*new), mode="append")
                case "update":
                    table.update(predicate=f"id % 3 = {draw.randint(0, 2)}", updates={"price": "price + 1"})
                case "delete":
                    table.delete(f"id % 4 = {draw.randint(0, 3)}")
                case "merge":
                    old = [(i, draw.choice(values), 5) for i in draw.sample(range(20), 4)]
                    merge = table.merge(items(*old, *new), "s.id = t.id", source_alias="s", target_alias="t")
                    merge.when_matched_update_all().when_not_matched_insert_all().execute()
                case "overwrite":
                    write_deltalake(at, items(*rows[: draw.randint(1, 20)]), mode="overwrite")
                case "compact":
                    table.optimize.compact()
                case "restore" if table.version():
                    table.restore(draw.randint(0, table.version() - 1))
        if step == 4:
            DeltaTable(str(at)).create_checkpoint()
            write_deltalake(kinds, pa.table({"kind": ["a"], "label": ["w"]}, schema=KINDS), mode="append")
        report = view.refresh()
        assert report.method in ("incremental", "unchanged")
        same_rows(view.read(), truth(spark, {"items": at, "kinds": kinds}, SQL))
    again = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    again.source("items", hr.DeltaTable(at))
    again.source("kinds", hr.DeltaTable(kinds))
    assert again.view("v", SQL).refresh().method == "unchanged"


# --- the contract, read directly


def weigh(scan_rows: DataFrame) -> Counter[Any]:
    return Counter(map(tuple, scan_rows.collect()))


def test_every_version_can_be_read_again(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1), (2, "b", 2)))
    write_deltalake(at, items((3, "a", 3)), mode="append")
    DeltaTable(str(at)).delete("id = 1")
    reader = opened(at, spark)
    assert reader.discover() == 3
    assert reader.snapshot(0).rows == 0
    for position in (1, 2, 3):
        known = DeltaTable(str(at), version=position - 1).to_pyarrow_table()
        assert reader.snapshot(position).rows == known.num_rows
        same_rows(net_rows(spark, reader, position), frame(spark, known))
    assert reader.delta(3, 3).rows == 0
    assert (reader.delta(1, 2).rows, reader.delta(1, 2).leaving) == (1, 0)
    assert (reader.delta(0, 3).rows, reader.delta(0, 3).leaving) == (2, 0)
    assert (reader.delta(2, 3).rows - 2 * reader.delta(2, 3).leaving) == -1


def test_the_change_feed_is_shorter_than_the_files(spark: SparkSession, tmp_path: Path) -> None:
    rows = items(*[(i, "a", 1) for i in range(100)])
    deltas = {}
    for name, settings in (("plain", None), ("feed", FEED)):
        at = tmp_path / name
        write_deltalake(at, rows, configuration=settings)
        DeltaTable(str(at)).update(predicate="id = 7", updates={"price": "9"})
        reader = opened(at, spark)
        scan = reader.delta(1, 2)
        deltas[name] = (scan.rows, scan.leaving)
    assert deltas == {"plain": (200, 100), "feed": (2, 1)}


def test_moving_rows_between_files_is_no_change(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    for i in range(4):
        write_deltalake(at, items((i, "a", i)), mode="append")
    DeltaTable(str(at)).optimize.compact()
    reader = opened(at, spark)
    assert reader.discover() == 5
    assert reader.delta(4, 5).rows == 0
    same_rows(net_rows(spark, reader, 5), net_rows(spark, reader, 4))
    assert reader.delta(2, 5).rows == 2


def test_a_file_that_is_added_again_is_no_change(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)))
    actions = (at / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (at / "_delta_log" / f"{1:020}.json").write_text("\n".join(a for a in actions if a.startswith('{"add"')))
    reader = opened(at, spark)
    assert reader.discover() == 2
    assert reader.delta(1, 2).rows == 0
    assert reader.snapshot(2).rows == 1


def test_an_append_reads_no_old_file(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)))
    old = next(at.glob("*.parquet"))
    write_deltalake(at, items((2, "a", 2)), mode="append")
    reader = opened(at, spark)
    old.write_bytes(b"not to be read")
    scan = reader.delta(1, 2)
    assert (scan.rows, scan.leaving) == (1, 0)
    reader.snapshot = lambda _: scan  # type: ignore[method-assign]
    assert weigh(net_rows(spark, reader, 2)) == {(2, "a", 2): 1}


def test_partition_values_have_their_types(spark: SparkSession, tmp_path: Path) -> None:
    noon = dt.datetime(2024, 2, 29, 12, 30, 1, 500000, tzinfo=dt.timezone.utc)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "n": (pa.int32(), [1, 2, 3]),
        "a": (pa.int64(), [-5, None, 7]),
        "d": (pa.date32(), [dt.date(2020, 1, 1), None, dt.date(1999, 12, 31)]),
        "t": (pa.timestamp("us", tz="UTC"), [noon, None, noon]),
        "m": (pa.decimal128(9, 2), [Decimal("1.50"), None, Decimal("20.01")]),
        "b": (pa.bool_(), [True, None, False]),
        "s x": (pa.string(), ["a=b/c d%20é'\\\"\n", None, "__HIVE"]),
        "z": (pa.string(), ["p", "q", None]),
    }
    table = pa.table({k: pa.array(v, kind) for k, (kind, v) in columns.items()})
    at = tmp_path / "t"
    write_deltalake(at, table, partition_by=["a", "d", "t", "m", "b", "s x"])
    reader = opened(at, spark)
    same_rows(net_rows(spark, reader, 1), frame(spark, table))
    assert reader.schema.names == list(columns)


@pytest.mark.parametrize(
    "condition", ["kind = 'a'", "kind IS NULL", "kind <> 'a' OR price > 1", "length(kind) + id > 2 AND kind LIKE '% %'"]
)
def test_filters_on_partition_columns(spark: SparkSession, tmp_path: Path, condition: str) -> None:
    at = tmp_path / "t"
    rows = [(i, kind, i % 3) for i, kind in enumerate(["a", None, "b c", "ü", "a", None, "b c"])]
    write_deltalake(at, items(*rows), partition_by=["kind"])
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    warehouse.source("t", hr.DeltaTable(at))
    sql = f"SELECT kind, price, id FROM t WHERE {condition}"
    view = warehouse.view("v", sql)
    view.refresh()
    same_rows(view.read(), truth(spark, {"t": at}, sql))
    DeltaTable(str(at)).update(predicate="id % 2 = 0", updates={"price": "price + 1"})
    assert view.refresh().method == "incremental"
    same_rows(view.read(), truth(spark, {"t": at}, sql))


def test_a_partition_column_in_the_middle_and_a_change_type_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    rows = pa.table({"_change_type": ["delete", "insert"], "p": [1, 2], "z": ["x", "y"]})
    write_deltalake(at, rows, partition_by=["p"])
    DeltaTable(str(at)).delete("p = 1")
    reader = opened(at, spark)
    scan = reader.delta(1, 2)
    assert (scan.rows, scan.leaving) == (1, 1)
    reader.snapshot = lambda _: reader.delta(1, 2)  # type: ignore[method-assign]
    with pytest.raises(Exception, match="negative weight"):
        net_rows(spark, reader, 2).collect()
    same_rows(net_rows(spark, opened(at, spark), 1), frame(spark, rows))


def test_odd_characters_in_paths(spark: SparkSession, tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain", tmp_path / "50 %25 é [x] {y} #?"
    write_deltalake(plain, items((1, "a %41", 1), (2, "é+b", 2)), partition_by=["kind"])
    shutil.copytree(plain, odd)
    reader = opened(odd, spark)
    same_rows(net_rows(spark, reader, 1), frame(spark, items((1, "a %41", 1), (2, "é+b", 2))))


def test_files_at_absolute_paths(spark: SparkSession, tmp_path: Path) -> None:
    at, moved = tmp_path / "t", tmp_path / "else where"
    write_deltalake(at, items((1, "a", 1)))
    moved.mkdir()
    file = next(at.glob("*.parquet"))
    file.rename(moved / file.name)
    log = at / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace(file.name, (moved / file.name).as_uri()))
    same_rows(net_rows(spark, opened(at, spark), 1), frame(spark, items((1, "a", 1))))


def test_added_columns_are_null_in_old_files(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)))
    early = opened(at, spark)
    wide = items((2, "b", 2)).append_column("more", pa.array(["x"]))
    write_deltalake(at, wide, mode="append", schema_mode="merge")
    assert early.discover() == 2
    assert early.schema.names == ["id", "kind", "price"]
    assert weigh(net_rows(spark, early, 2)) == {(1, "a", 1): 1, (2, "b", 2): 1}
    late = opened(at, spark)
    assert weigh(net_rows(spark, late, 2)) == {(1, "a", 1, None): 1, (2, "b", 2, "x"): 1}


@pytest.mark.parametrize("gone", [True, False])
def test_a_column_that_is_gone_or_has_another_type(spark: SparkSession, tmp_path: Path, gone: bool) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)))
    reader = opened(at, spark)
    other = {"id": ["x"], "kind": ["a"]} if gone else {"id": ["x"], "kind": ["a"], "price": pa.array([1], pa.int32())}
    write_deltalake(at, pa.table(other), mode="overwrite", schema_mode="overwrite")
    assert refusal(reader.discover) == "SOURCE_SCHEMA"
    assert "id is bigint, not string" in str(opened(at, spark).cut(1))


def test_only_an_append_only_table_never_shrinks(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)), configuration={"delta.appendOnly": "true"})
    write_deltalake(at, items((2, "a", 1)), mode="append")
    DeltaTable(str(at)).optimize.compact()
    reader = opened(at, spark)
    assert not reader.can_shrink
    assert (reader.delta(1, 3).rows, reader.delta(1, 3).leaving) == (1, 0)
    write_deltalake(tmp_path / "u", items((1, "a", 1)))
    assert opened(tmp_path / "u", spark).can_shrink


# --- what can no longer be read


def test_a_vacuumed_version_is_cut_and_the_view_loads_again(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1), (2, "b", 2)))
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    warehouse.source("t", hr.DeltaTable(at))
    sql = "SELECT kind, sum(price) AS p FROM t GROUP BY kind"
    view = warehouse.view("v", sql)
    view.refresh()
    DeltaTable(str(at)).update(predicate="id = 1", updates={"price": "5"})
    DeltaTable(str(at)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    report = view.refresh()
    assert report.method == "full"
    assert "VACUUM" in str(report.reason)
    same_rows(view.read(), truth(spark, {"t": at}, sql))


def test_change_files_that_are_gone_are_not_needed(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1), (2, "b", 2)), configuration=FEED)
    DeltaTable(str(at)).update(predicate="id = 1", updates={"price": "5"})
    shutil.rmtree(at / "_change_data")
    reader = opened(at, spark)
    assert reader.cut(1) is None
    assert (reader.delta(1, 2).rows, reader.delta(1, 2).leaving) == (4, 2)


def test_a_cleaned_log(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    for i in range(3):
        write_deltalake(at, items((i, "a", i)), mode="append")
    DeltaTable(str(at)).create_checkpoint()
    write_deltalake(at, items((9, "a", 9)), mode="append")
    for i in range(3):
        (at / "_delta_log" / f"{i:020}.json").unlink()
    reader = opened(at, spark)
    assert reader.discover() == 4
    assert "no longer in the log" in str(reader.cut(2))
    assert reader.cut(3) is None
    assert reader.delta(3, 4).rows == 1
    assert weigh(net_rows(spark, reader, 4)) == {(i, "a", i): 1 for i in (0, 1, 2, 9)}
    assert "another table" in str(reader.cut(9))


def test_another_table_at_the_same_path(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    sql = "SELECT kind, sum(price) AS p FROM t GROUP BY kind"
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    for first, again in ((1, False), (5, False), (9, True)):
        shutil.rmtree(at, ignore_errors=True)
        for i in range(first, first + 3):
            write_deltalake(at, items((i, "a", i)), mode="append")
        if again:
            warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
        if again or first == 1:
            warehouse.source("t", hr.DeltaTable(at))
            view = warehouse.view("v", sql)
        report = view.refresh()
        assert report.method == ("initial" if first == 1 else "full")
        same_rows(view.read(), truth(spark, {"t": at}, sql))
        write_deltalake(at, items((100, "b", 1)), mode="append")
        assert view.refresh().method == "incremental"
        same_rows(view.read(), truth(spark, {"t": at}, sql))
    assert "another table" in str(report.reason)


def test_a_feed_that_does_not_tell_all_is_not_believed(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1), (2, "b", 2), (3, "b", 3)), configuration=FEED)
    DeltaTable(str(at)).update(predicate="id = 1", updates={"price": "5"})
    assert opened(at, spark).delta(1, 2).rows == 2
    change = next((at / "_change_data").rglob("*.parquet"))
    rows = [r for r in pq.ParquetFile(change).read().to_pylist() if r["_change_type"] == "update_postimage"]
    pq.write_table(pa.Table.from_pylist(rows), change)
    assert opened(at, spark).delta(1, 2).rows == 6


def test_two_views_at_once_share_a_table(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1), (2, "b", 2)), partition_by=["kind"], configuration=FEED)
    warehouse = hr.Warehouse(tmp_path / "warehouse", spark=spark)
    warehouse.source("t", hr.DeltaTable(at))
    texts = [f"SELECT kind, {f}(price) AS p FROM t GROUP BY kind" for f in ("sum", "max")]
    views = [warehouse.view(f"v{i}", sql) for i, sql in enumerate(texts)]
    for step in range(3):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda v: v.refresh(), views))
        for view, sql in zip(views, texts, strict=True):
            same_rows(view.read(), truth(spark, {"t": at}, sql))
        write_deltalake(at, items((step + 10, "c", step)), mode="append")
        DeltaTable(str(at)).update(predicate="kind = 'a'", updates={"price": "price - 1"})


def test_checkpoints_in_parts_and_with_sidecars(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    for i in range(3):
        write_deltalake(at, items((i, "é", i)), mode="append", partition_by=["kind"])
    DeltaTable(str(at)).delete("id = 1")
    DeltaTable(str(at)).create_checkpoint()
    expected = {(0, "é", 0): 1, (2, "é", 2): 1}
    log = at / "_delta_log"
    for i in range(4):
        (log / f"{i:020}.json").unlink()
    assert weigh(net_rows(spark, opened(at, spark), 4)) == expected
    whole = log / f"{3:020}.checkpoint.parquet"
    actions = pq.read_table(whole)
    whole.unlink()
    for part in (1, 2):
        some = actions.slice(0, 2) if part == 1 else actions.slice(2)
        pq.write_table(some, log / f"{3:020}.checkpoint.{part:010}.{2:010}.parquet")
    assert weigh(net_rows(spark, opened(at, spark), 4)) == expected
    for part in log.glob("*.parquet"):
        part.unlink()
    files = actions.filter(pa.compute.is_valid(actions["add"]))
    (log / "_sidecars").mkdir()
    pq.write_table(files.select(["add"]), log / "_sidecars" / "s 1.parquet")
    rest = [row for row in actions.select(["metaData", "protocol"]).to_pylist() if row["metaData"] or row["protocol"]]
    for row in rest:
        if row["metaData"]:
            row["metaData"]["configuration"] = dict(row["metaData"]["configuration"] or [])
    lines = [*rest, {"sidecar": {"path": "s%201.parquet"}}]
    (log / f"{3:020}.checkpoint.{uuid.uuid4()}.json").write_text("\n".join(json.dumps(x, default=str) for x in lines))
    assert weigh(net_rows(spark, opened(at, spark), 4)) == expected


# --- what is refused


def test_a_table_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    assert refusal(lambda: opened(tmp_path / "no", spark)) == "TABLE_MISSING"


def edit(at: Path, change: Callable[[dict[str, Any]], None], version: int = 0) -> None:
    log = at / "_delta_log" / f"{version:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        change(action)
    log.write_text("\n".join(map(json.dumps, actions)))


def with_vector(action: dict[str, Any]) -> None:
    if "add" in action:
        action["add"]["deletionVector"] = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "cardinality": 1}


def with_mapping(action: dict[str, Any]) -> None:
    if "metaData" in action:
        action["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"


def with_feature(action: dict[str, Any]) -> None:
    if "protocol" in action:
        action["protocol"] |= {"minReaderVersion": 3, "readerFeatures": ["timeTravelToTheFuture"]}


def without_path(action: dict[str, Any]) -> None:
    action.get("add", {}).pop("path", None)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (with_vector, "DELETION_VECTORS"),
        (with_mapping, "COLUMN_MAPPING"),
        (with_feature, "TABLE_FEATURE"),
        (without_path, "LOG_CORRUPT"),
    ],
)
def test_what_cannot_be_read_rightly(spark: SparkSession, tmp_path: Path, change: Any, code: str) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)))
    reader = opened(at, spark)
    edit(at, change)
    assert refusal(lambda: opened(at, spark)) == code
    assert refusal(reader.discover) == code


def test_a_corrupt_log(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    for i in range(3):
        write_deltalake(at, items((i, "a", i)), mode="append")
    log = at / "_delta_log" / f"{1:020}.json"
    kept = log.read_text()
    log.write_text(kept[: len(kept) // 2])
    assert refusal(lambda: opened(at, spark)) == "LOG_CORRUPT"
    log.unlink()
    assert refusal(lambda: opened(at, spark)) == "LOG_CORRUPT"
    log.write_text(kept)
    assert opened(at, spark).discover() == 3


def test_a_file_that_is_gone_is_named(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1)))
    reader = opened(at, spark)
    next(at.glob("*.parquet")).unlink()
    assert refusal(lambda: net_rows(spark, reader, 1)) == "FILE_VANISHED"


def test_counts_come_from_the_files_where_the_log_has_none(spark: SparkSession, tmp_path: Path) -> None:
    at = tmp_path / "t"
    write_deltalake(at, items((1, "a", 1), (2, "b", 2)))
    edit(at, lambda action: action.get("add", {}).pop("stats", None))
    assert opened(at, spark).snapshot(1).rows == 2
    assert pq.read_metadata(next(at.glob("*.parquet"))).num_rows == 2
