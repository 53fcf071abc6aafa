"""What footers and two small samples tell of a table, against its true values. No Spark is started."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.spark.table_stats import grown, in_order, table_facts
from headrace.stats.table import ColumnFacts, TableFacts

ROWS, FILES = 200_000, 4


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], pa.Table]:
    """Columns of every shape, cut into files in the order of their rows."""
    random = np.random.default_rng(7)
    number = np.arange(ROWS)
    first = date(1992, 1, 1)
    whole = pa.table(
        {
            "key": number,
            "shuffled": random.permutation(ROWS),
            "rising": number // 7,
            "category": random.integers(0, 25, ROWS),
            "reference": random.integers(0, 30_000, ROWS),
            "day": pa.array([first + timedelta(days=int(d)) for d in random.integers(0, 2_500, ROWS)]),
            "name": pa.array([f"name {n:05}" for n in random.integers(0, 12_000, ROWS)]),
            "price": random.integers(0, 1_000_000, ROWS) / 100,
            "one": np.full(ROWS, 3),
            "often": pa.array(random.integers(0, 90, ROWS), mask=random.random(ROWS) < 0.25),
        }
    )
    folder = tmp_path_factory.mktemp("table")
    files = []
    for i in range(FILES):
        files.append(folder / f"{i}.parquet")
        part = ROWS // FILES
        pq.write_table(whole.slice(i * part, part), files[-1], row_group_size=20_000)
    return files, whole


def test_values_are_counted_within_a_third(table: tuple[list[Path], pa.Table]) -> None:
    files, whole = table
    facts = table_facts(files, ROWS, 0, whole.column_names)
    for name in whole.column_names:
        truth = len(whole.column(name).drop_null().unique())
        guess = facts.columns[name].distinct
        assert guess is not None, name
        assert truth / 1.33 <= guess <= truth * 1.33, name


def test_where_values_lie_and_how_many_are_missing(table: tuple[list[Path], pa.Table]) -> None:
    files, whole = table
    facts = table_facts(files, ROWS, 0, whole.column_names).columns
    assert (facts["key"].low, facts["key"].high, facts["key"].nulls) == (0.0, ROWS - 1.0, 0.0)
    assert facts["day"].low == date(1992, 1, 1).toordinal()
    assert facts["often"].nulls == pytest.approx(0.25, abs=0.01)
    assert (facts["name"].low, facts["name"].high) == (None, None)
    assert facts["name"].width == pytest.approx(8 + len("name 00000"))


def test_few_rows_are_counted_exactly(tmp_path: Path) -> None:
    file = tmp_path / "few.parquet"
    pq.write_table(pa.table({"a": [1, 2, 2, None], "b": ["x", "y", "z", "z"]}), file)
    facts = table_facts([file], 4, 0, ["a", "b"])
    assert (facts.columns["a"].distinct, facts.columns["b"].distinct) == (2, 3)


def test_what_is_not_there_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "few.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), file)
    assert table_facts([file], 2, 0, ["other"]).columns["other"] == ColumnFacts()
    assert table_facts([tmp_path / "gone.parquet"], 2, 0, ["a"]).columns["a"] == ColumnFacts()
    assert table_facts([], 10, 5, ["a"]) == TableFacts(10.0, 5.0)


def test_a_table_that_has_grown_is_not_looked_at_again(table: tuple[list[Path], pa.Table]) -> None:
    files, whole = table
    more = grown(table_facts(files, ROWS, 0, whole.column_names), 2 * ROWS, 0)
    assert more.rows == 2 * ROWS
    assert more.columns["key"].distinct == pytest.approx(2 * ROWS, rel=0.1)
    assert more.columns["category"].distinct == 25


def test_empty_files_tell_nothing(table: tuple[list[Path], pa.Table], tmp_path: Path) -> None:
    """Jobs leave files without rows, with and without row groups; what the others tell is not lost for them."""
    files, whole = table
    pq.write_table(whole.slice(0, 0), tmp_path / "empty.parquet")
    with pq.ParquetWriter(tmp_path / "bare.parquet", whole.schema):
        pass
    among = [tmp_path / "empty.parquet", *files, tmp_path / "bare.parquet"]
    assert table_facts(among, ROWS, 0, whole.column_names) == table_facts(files, ROWS, 0, whole.column_names)


def test_columns_that_rise_are_told_by_the_order_of_files(table: tuple[list[Path], pa.Table], tmp_path: Path) -> None:
    files, whole = table
    facts = in_order(table_facts(files, ROWS, 0, whole.column_names), files)
    assert {n for n, c in facts.columns.items() if c.rising} == {"key", "rising", "one"}
    # what comes next goes on, or does not
    more = {"on": np.arange(ROWS, ROWS + 10), "back": np.arange(5, 15)}
    for name, values in more.items():
        pq.write_table(pa.table({"key": values}), tmp_path / f"{name}.parquet")
    key = TableFacts(ROWS, 0, {"key": facts.columns["key"]})
    on = in_order(key, [*files, tmp_path / "on.parquet"]).columns["key"]
    assert (on.rising, on.high) == (True, ROWS + 9)
    assert not in_order(key, [*files, tmp_path / "back.parquet"]).columns["key"].rising


def test_of_a_single_file_its_own_order_tells(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    columns = {"sorted": np.arange(ROWS), "shuffled": random.permutation(ROWS)}
    pq.write_table(pa.table(columns), tmp_path / "all.parquet")
    facts = in_order(table_facts([tmp_path / "all.parquet"], ROWS, 0, list(columns)), [tmp_path / "all.parquet"])
    assert {n for n, c in facts.columns.items() if c.rising} == {"sorted"}
