"""What refreshes are expected to cost: told before any run, corrected by runs, and what AUTO goes by."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.api.expected import Ran
from headrace.api.prices import known_prices, own_folder, store_prices
from headrace.cost.prices import DEFAULT
from headrace.rules import METHODS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "SELECT c, sum(v) AS total, count(*) AS n FROM facts JOIN dims ON facts.k = dims.k WHERE v < 500 GROUP BY c"
ROWS, KEYS = 160_000, 2_000


def add(folder: Path, name: str, rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"k": random.integers(0, KEYS, rows), "v": random.integers(0, 1_000, rows)})
    pq.write_table(table, folder / f"{name}.parquet")


def opened(spark: SparkSession, folder: Path) -> hr.View:
    add(folder / "facts", "base", ROWS, 1)
    (folder / "dims").mkdir()
    pq.write_table(pa.table({"k": np.arange(KEYS), "c": np.arange(KEYS) % 40}), folder / "dims" / "base.parquet")
    warehouse = hr.Warehouse(folder / "warehouse", spark)
    for name in ("facts", "dims"):
        warehouse.source(name, hr.Folder(folder / name))
    return warehouse.view("sums", QUERY)


def commit(view: hr.View) -> dict[str, object]:
    found = view._result.again().last_run()
    assert found is not None
    return dict(found)


def test_prices_before_any_run_and_what_runs_make_of_them(spark: SparkSession, tmp_path: Path) -> None:
    view = opened(spark, tmp_path)
    told = view.explain_data()["costs"]
    assert [c["plan"] for c in told if c["rows"] > ROWS] == ["from scratch"]
    assert {c["rows"] for c in told} == {round((ROWS + KEYS) * 1.01), round((ROWS + KEYS) * 0.01)}
    assert all(0 < c["seconds"] < 60 for c in told)
    assert "expected costs of the alternatives" in view.explain()
    methods = view.explain_data()["methods"]
    assert methods.keys() == {"as it is", "all methods", *(f"{m} alone" for m in METHODS)}
    assert methods["all methods"] <= min(methods.values())
    assert "IM-1 alone" in view.explain()

    view.refresh()
    assert set(commit(view)["correction"]["factors"]) == {"full"}  # type: ignore[index]
    add(tmp_path / "facts", "delta", 400, 2)
    report = view.refresh()
    assert (report.method, report.estimated) == ("incremental", None)
    last = commit(view)
    assert len(last["correction"]["factors"]) == 2  # type: ignore[index]
    (join,) = (o for o in view.explain_data()["operators"] if o["operator"] == "Join")
    assert join["method"] == "bilinear"
    # The filter's share is known from the files, and the join finds one row for each: there is nothing to learn.
    for rows, change in last["lessons"].values():  # type: ignore[attr-defined]
        assert 0.5 < change < 2
        assert 0.5 < rows < 2
    add(tmp_path / "facts", "more", 400, 4)
    ran: list[Ran] = []
    view._observer = ran.append
    again = view.refresh()
    # One run alone may have been chance: what is expected lies between what it says and what the others say.
    price = ran[0].expected.price(ran[0].plan)
    said = [price * math.exp(f) for f in last["correction"]["factors"].values()]  # type: ignore[index]
    assert again.estimated is not None
    assert 0.99 * min(said) <= again.estimated <= 1.01 * max(said)
    assert view.check().agrees


def test_auto_computes_anew_where_that_is_cheaper(spark: SparkSession, tmp_path: Path) -> None:
    view = opened(spark, tmp_path)
    view.refresh()
    view.warehouse._prices = replace(DEFAULT, rewrite_row=1e3, commit=1e3)
    add(tmp_path / "facts", "delta", 400, 2)
    report = view.refresh()
    assert (report.method, report.code) == ("full", "CHEAPER")
    assert "by its price" in str(report.reason)
    view.warehouse._prices = DEFAULT
    add(tmp_path / "facts", "delta2", 400, 3)
    assert view.refresh().method == "incremental"
    assert view.check().agrees


def test_where_prices_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    warehouse = tmp_path / "warehouse"
    assert known_prices(warehouse, 8) == replace(DEFAULT, cores=8.0)
    mine, ours = replace(DEFAULT, scan_row=1.0), replace(DEFAULT, scan_row=2.0)
    store_prices(own_folder(), mine)
    assert known_prices(warehouse, 8) == mine
    file = store_prices(warehouse, ours)
    assert known_prices(warehouse, 8) == ours
    file.write_text("{}")
    with pytest.raises(hr.HeadraceError, match="BAD_PRICES"):
        known_prices(warehouse, 8)
