"""Whether rows that leave were there: the same by one column as by all of them."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.spark.sources import leaving
from headrace.spark.sources.leaving import UNKNOWN, missing_here

TYPES = {"a.b": pa.int64(), "x": pa.float64(), "day": pa.date32(), "s": pa.string()}
VALUES = {
    "a.b": st.sampled_from([None, 0, 1]),
    "x": st.sampled_from([None, 0.5, float("nan")]),
    "day": st.sampled_from([None, date(2024, 1, 1)]),
    "s": st.sampled_from([None, "", "a"]),
}
KINDS = st.sampled_from(["insert", "update_postimage", "delete", "update_preimage"])
ROW = st.fixed_dictionaries({**VALUES, "_change_type": KINDS})
FILE = st.lists(ROW, max_size=5)


def write(folder: Path, files: list[list[dict[str, Any]]]) -> list[Path]:
    paths = []
    for number, rows in enumerate(files):
        columns = {c: pa.array([r[c] for r in rows], t) for c, t in {**TYPES, "_change_type": pa.string()}.items()}
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table(columns), paths[-1])
    return paths


@settings(max_examples=150)
@given(files=st.lists(FILE, min_size=1, max_size=4), data=st.data(), large=st.booleans())
def test_as_counting_all_rows_says(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[dict[str, Any]]], data: st.DataObject, large: bool
) -> None:
    since = data.draw(st.integers(0, len(files) - 1))
    paths = write(tmp_path_factory.mktemp("files"), files)
    weight: Counter[str] = Counter()
    for row in (r for f in files for r in f):
        weight[repr([row[c] for c in TYPES])] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
    gone = [r for f in files[since:] for r in f if r["_change_type"] in ("delete", "update_preimage")]
    short = [r for r in gone if weight[repr([r[c] for c in TYPES])] < 0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaving, "_SMALL", -1 if large else 10)
        found = missing_here(paths, since, list(TYPES))
    assert (found is None) == (not short)
    assert found is None or weight[repr([found[c] for c in TYPES])] < 0


def test_what_spark_finds_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"a.b": 1, "x": 0.5, "day": None, "s": "a"}
    paths = write(tmp_path, [[row | {"_change_type": "insert"}] * 3, [row | {"_change_type": "delete"}] * 2])
    assert missing_here(paths, 1, list(TYPES)) is None
    monkeypatch.setattr(leaving, "_SMALL", 1)
    assert missing_here(paths, 1, list(TYPES)) is None
    monkeypatch.setattr(leaving, "_ALIKE", 1)
    assert missing_here(paths, 1, list(TYPES)) is UNKNOWN
    assert missing_here(paths, 1, ["x"]) is UNKNOWN, "of floats one cannot tell"
    monkeypatch.setattr(leaving, "_SMALL", 20)
    assert missing_here(paths, 1, ["x"]) is None
    monkeypatch.setattr(leaving, "_LEAVING", 1)
    assert missing_here(paths, 1, list(TYPES)) is UNKNOWN


def test_files_may_have_their_columns_in_another_order(tmp_path: Path) -> None:
    row = {"a.b": 1, "x": 0.5, "day": date(2024, 1, 1), "s": "a"}
    paths = write(tmp_path, [[{**row, "_change_type": "insert"}], [{**row, "_change_type": "delete"}]])
    other = pq.read_table(paths[1])
    pq.write_table(other.select(other.column_names[::-1]), paths[1])
    assert missing_here(paths, 1, list(TYPES)) is None
    assert missing_here(paths[1:], 0, list(TYPES)) == row


def test_rows_that_arrow_cannot_compare(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), ("list", pa.list_(pa.int64())), ("_change_type", pa.string())])
    files = [[(1, [1, 2], "insert"), (2, [3], "insert")], [(1, [1, 2], "delete")], [(2, [4], "delete")]]
    paths = [tmp_path / f"{n}.parquet" for n in range(3)]
    for path, rows in zip(paths, files, strict=True):
        pq.write_table(pa.table([list(c) for c in zip(*rows, strict=True)], schema=schema), path)
    assert missing_here(paths[:2], 1, ["k", "list"]) is None
    assert missing_here(paths, 2, ["k", "list"]) == {"k": 2, "list": [4]}


def test_many_rows_are_compared_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"a.b": 1, "x": float("nan"), "day": None, "s": "a"}
    paths = write(tmp_path, [[row | {"_change_type": "insert"}] * 3, [row | {"_change_type": "delete"}] * 2])
    monkeypatch.setattr(leaving, "_key", lambda _: pytest.fail("row by row"))
    assert missing_here(paths, 1, list(TYPES)) is None


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    names = ["weight", "weight_sum", "_sum", "0"]
    for number, kind in enumerate(("insert", "delete")):
        row = pa.table({**{n: [1] for n in names}, "_change_type": [kind]})
        pq.write_table(row, tmp_path / f"{number}.parquet")
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    assert missing_here(paths, 1, names) is None
    assert missing_here(paths[1:], 0, names) == dict.fromkeys(names, 1)
