"""Files that no change can meet are not read; those that one can meet are, whatever is in them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from headrace.ir.near import Range
from headrace.spark.file_stats import bounds, near, rows_in

JOIN = "SELECT o.id, o.day, l.price FROM orders o JOIN lines l ON o.id = l.id"
SUMS = "SELECT id, sum(price) AS total, count(*) AS n FROM lines GROUP BY id"
EIGHTEEN = """
    SELECT o.id, o.day, sum(l.price) AS total FROM orders o JOIN lines l ON o.id = l.id
    WHERE o.id IN (SELECT id FROM lines GROUP BY id HAVING sum(price) > 100) GROUP BY o.id, o.day
"""
TYPES = {"id": pa.int64(), "day": pa.date32(), "price": pa.int32()}


class Shop:
    """Orders and their lines, which come with rising keys unless one says otherwise."""

    def __init__(self, spark: SparkSession, root: Path, sql: str, **options: Any) -> None:
        self.root = root
        self.files = 0
        self.arrive(range(0, 3_000))
        self.arrive(range(3_000, 6_000))
        self.wh = hr.Warehouse(root / "wh", spark=spark, **options)
        for name in ("orders", "lines"):
            self.wh.source(name, hr.Folder(root / name, changes=True))
        self.view = self.wh.view("v", sql)
        self.view.refresh()

    def arrive(self, ids: Any, kind: str = "insert") -> None:
        orders = [{"id": i, "day": date.fromordinal(738_000 + (i or 0) // 10)} for i in ids]
        lines = [{"id": i, "price": (i or 0) % 90 + n} for i in ids for n in range(2)]
        for name, rows in (("orders", orders), ("lines", lines)):
            columns = {c: pa.array([r[c] for r in rows], TYPES[c]) for c in rows[0]} if rows else {}
            if columns:
                (self.root / name).mkdir(parents=True, exist_ok=True)
                table = pa.table({**columns, "_change_type": [kind] * len(rows)})
                pq.write_table(table, self.root / name / f"{self.files:04}.parquet")
        self.files += 1

    def right(self) -> None:
        same_rows(self.view.read(), self.view.recompute())


@pytest.mark.parametrize("sql", [JOIN, SUMS, EIGHTEEN], ids=["join", "sums", "eighteen"])
@pytest.mark.parametrize("memory", [0, "64m"])
def test_new_facts_touch_no_old_file(spark: SparkSession, tmp_path: Path, sql: str, memory: Any) -> None:
    shop = Shop(spark, tmp_path, sql, memory=memory)
    for number in range(3):
        shop.arrive(range(6_000 + 10 * number, 6_010 + 10 * number))
        report = shop.view.refresh()
        assert report.method == "incremental"
        assert report.files_skipped > 0, str(report)
        assert report.rows_read < 2_000, "of some eighteen thousand"
        shop.right()


@pytest.mark.parametrize("kind", ["path", "delta"])
def test_other_sources_too(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    def arrive(ids: range) -> None:
        for name, column in (("orders", "day"), ("lines", "price")):
            rows = pa.table({"id": list(ids), column: [i % 7 for i in ids]})
            if kind == "delta":
                write_deltalake(tmp_path / name, rows, mode="append")
            else:
                (tmp_path / name).mkdir(exist_ok=True)
                pq.write_table(rows, tmp_path / name / f"{ids[0]}.parquet")

    arrive(range(0, 6_000))
    where = {n: f"{'delta' if kind == 'delta' else 'parquet'}.`{tmp_path / n}`" for n in ("orders", "lines")}
    sql = JOIN.replace("FROM orders", f"FROM {where['orders']}").replace("JOIN lines", f"JOIN {where['lines']}")
    view = hr.Warehouse(tmp_path / "wh", spark=spark).view("v", sql)
    view.refresh()
    for begin in (6_000, 6_010):
        arrive(range(begin, begin + 10))
        report = view.refresh()
        assert (report.method, report.rows_out) == ("incremental", 10)
        assert report.files_skipped >= 2
        assert report.rows_read < 100
        same_rows(view.read(), view.recompute())


def test_old_keys_are_found_again(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that come late, change or leave meet the old files that hold them; a NULL meets none."""
    shop = Shop(spark, tmp_path, JOIN)
    shop.arrive([5, 6_001])
    assert shop.view.refresh().method == "incremental"
    shop.right()
    shop.arrive([7, 5_999], "delete")
    shop.view.refresh()
    shop.right()
    shop.arrive([None, 6_002])
    shop.view.refresh()
    shop.right()
    shop.arrive([None], "delete")
    shop.view.refresh()
    shop.right()


def test_groups_of_null_are_found_again(spark: SparkSession, tmp_path: Path) -> None:
    shop = Shop(spark, tmp_path, SUMS, memory=0)
    for ids in ([None, 6_000], [None, 9_000], [9_001]):
        shop.arrive(ids)
        shop.view.refresh()
        shop.right()


def test_a_file_that_takes_the_place_of_another(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"k": [1, 2]}), file)
    assert bounds([file], "k") == Range(1, 2, False)
    pq.write_table(pa.table({"k": [7, None, 8, 9]}), file)
    assert bounds([file], "k") == Range(7, 9, True)
    assert rows_in([file]) == 4
    file.unlink()
    assert near([file], {"k": Range(0, 0, False)}) == [file], "reading it tells that it is gone"


VALUES = st.lists(st.one_of(st.none(), st.integers(-20, 20)), max_size=6)


@given(files=st.lists(VALUES, max_size=5), wanted=VALUES, null_safe=st.booleans())
def test_no_file_that_can_match_is_passed_over(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int | None]], wanted: list[int | None], null_safe: bool
) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for number, values in enumerate([*files, wanted]):
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table({"k": pa.array(values, pa.int32())}), paths[-1])
    found = bounds(paths[-1:], "k")
    if found is None:
        assert not wanted
        return
    kept = near(paths[:-1], {"k": found if null_safe else found.without_nulls()})
    for values, path in zip(files, paths, strict=False):
        filled = [v for v in values if v is not None]
        meets = bool(filled) and max(min(filled), found.low) <= min(max(filled), found.high)
        assert (path in kept) == (not values or meets or (null_safe and None in values and None in wanted))
