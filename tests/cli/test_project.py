"""Every command on a real project: what it says to people, what it says to programs, and its exit code."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headrace.cli import app

from .conftest import Shop

VIEWS = ["city_revenue", "daily_revenue", "top_customers"]
REST = "CREATE MATERIALIZED VIEW rest AS SELECT * FROM daily_revenue ORDER BY revenue DESC LIMIT 5 OFFSET 10"


def truth(shop: Shop) -> dict[str, tuple[int, str]]:
    """Orders and revenue by city, by hand."""
    customers = pq.read_table(shop.root / "data" / "customers").to_pylist()
    city = {c["customer_id"]: c["city"] for c in customers}
    found: dict[str, tuple[int, object]] = {}
    for order in pq.read_table(shop.root / "data" / "orders").to_pylist():
        count, amount = found.get(city[order["customer_id"]], (0, 0))
        found[city[order["customer_id"]]] = (count + 1, amount + order["amount"])  # type: ignore[operator]
    return {c: (n, str(a)) for c, (n, a) in found.items()}


def test_init_makes_a_project_and_touches_no_other(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--json"])
    assert made.exit_code == 0
    told = json.loads(made.stdout)
    assert told["name"] == "mine"
    assert {"spark-pipeline.yml", "README.md", "transformations/revenue.sql"} <= set(told["files"])
    assert all((tmp_path / "mine" / f).is_file() for f in told["files"])
    assert f"storage: file://{tmp_path}/mine/storage" in (tmp_path / "mine" / "spark-pipeline.yml").read_text()
    again = CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--json"])
    assert again.exit_code == 1
    assert json.loads(again.stdout)["error"]["code"] == "FOLDER_NOT_EMPTY"


def test_run_works_in_what_arrived(shop: Shop) -> None:
    shop.orders(70)
    events = shop.json("run")
    kinds = {e["event"] for e in events}
    assert kinds == {"looking", "run_began", "step_began", "step_done", "run_done", "done"}
    done = {e["view"]: e for e in events if e["event"] == "run_done"}
    assert {n: done[n]["method"] for n in VIEWS} == dict.fromkeys(VIEWS, "incremental")
    assert sorted(done["daily_revenue"]["rows_in"].values()) == [0, 70]
    assert events[-1]["failed"] == []
    assert sorted(events[-1]["refreshed"]) == VIEWS
    shown = shop.headrace("run").stdout
    assert "daily_revenue  unchanged" in shown
    assert "3 up to date" in shown


def test_run_takes_names_as_sparks_command_does(shop: Shop) -> None:
    shop.orders(10)
    done = [e["view"] for e in shop.json("run", "--refresh", "daily_revenue,top_customers") if e["event"] == "run_done"]
    assert sorted(done) == ["daily_revenue", "top_customers"]
    shop.orders(10)
    events = shop.json("run", "--full-refresh", "city_revenue", "--refresh", "top_customers")
    methods = {e["view"]: (e["method"], e["code"]) for e in events if e["event"] == "run_done"}
    assert methods == {"top_customers": ("incremental", None), "city_revenue": ("full", "REQUESTED")}
    shown = shop.headrace("run", "--full-refresh", "city_revenue").stdout
    assert "from scratch, for refresh(full=True) was asked for [REQUESTED]" in shown
    wrong = shop.headrace("run", "--full-refresh-all", "--refresh", "city_revenue", exits=2)
    assert "leave --refresh" in wrong.stderr
    assert shop.error("run", "--refresh", "nothing") == "VIEW_UNKNOWN"


def test_dry_run_says_how_each_view_will_be_maintained(shop: Shop) -> None:
    rest = shop.define("rest.sql", REST)
    told = {line["name"]: line for line in shop.json("dry-run")}
    assert sorted(told) == sorted([*VIEWS, "rest"])
    assert {told[n]["maintained"] for n in VIEWS} == {"incremental"}
    assert all(told[n]["recomputed"] == [] for n in VIEWS)
    assert told["city_revenue"]["reads"] == ["daily_revenue"]
    (part,) = told["rest"]["recomputed"]
    assert part["operator"] == "Limit"
    shown = shop.headrace("dry-run").stdout
    assert "Limit: a LIMIT with OFFSET" in shown
    assert "nothing was run" in shown
    rest.unlink()


def test_status_tells_what_waits(shop: Shop) -> None:
    shop.headrace("run")
    shop.orders(5)
    told = {line["view"]: line for line in shop.json("status")}
    assert sorted(told) == VIEWS
    assert sorted(told["daily_revenue"]["waiting"].values()) == [0, 5]
    assert told["daily_revenue"]["fresh"] is False
    assert (told["daily_revenue"]["schedule"], told["daily_revenue"]["due"] <= time.time()) == ("on_change", True)
    assert told["top_customers"]["schedule"] == "every 10 min | after_rows 1000"
    assert 0 < told["top_customers"]["due"] - time.time() < 600
    assert told["city_revenue"]["behind"] == ["daily_revenue"]
    assert told["top_customers"]["last"]["number"] >= 1
    assert told["top_customers"]["state_bytes"] == sum(told["top_customers"]["states"].values()) > 0
    assert "behind" in shop.headrace("status").stdout
    shop.headrace("run")
    assert all(line["fresh"] for line in shop.json("status"))
    assert shop.headrace("status").stdout.count("up to date") == 3


def test_history_has_the_newest_run_last(shop: Shop) -> None:
    shop.headrace("run", "--full-refresh", "daily_revenue")
    told = shop.json("history", "daily_revenue", "--limit", "2")
    assert len(told) == 2
    assert told[0]["run"] < told[1]["run"]
    assert (told[1]["method"], told[1]["code"]) == ("full", "REQUESTED")
    shown = shop.headrace("history", "daily_revenue").stdout
    assert "there is no result yet" in shown
    assert shop.error("history", "nothing") == "VIEW_UNKNOWN"


def test_read_in_every_format(shop: Shop, tmp_path: Path) -> None:
    shop.headrace("run")
    expected = truth(shop)
    lines = shop.headrace("read", "city_revenue", "--format", "json").stdout.splitlines()
    found = {row["city"]: (row["orders"], f"{row['revenue']:.2f}") for row in map(json.loads, lines)}
    assert found == expected
    rows = list(csv.DictReader(shop.headrace("read", "city_revenue", "--format", "csv").stdout.splitlines()))
    assert {r["city"]: (int(r["orders"]), r["revenue"]) for r in rows} == expected
    shop.headrace("read", "city_revenue", "--format", "parquet", "--output", str(tmp_path / "out.parquet"))
    stored = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert {r["city"]: (r["orders"], str(r["revenue"])) for r in stored} == expected
    shop.headrace("read", "city_revenue", "--format", "csv", "--limit", "2", "--output", str(tmp_path / "out.csv"))
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3
    shown = shop.headrace("read", "daily_revenue", "--limit", "3").stdout.splitlines()
    assert len(shown) == 4
    assert shown[0].split() == ["day", "city", "orders", "revenue"]
    assert "the first 20 of" in shop.headrace("read", "daily_revenue").stdout.splitlines()[-1]
    for wrong in (["--format", "parquet"], ["--output", "x"], ["--format", "xml"], ["--limit", "0"]):
        shop.headrace("read", "city_revenue", *wrong, exits=2)


def test_data_is_shown_as_it_is(broken: Shop) -> None:
    """Brackets and colons in data are no markup of ours."""
    broken.define("bad_text.sql", "CREATE MATERIALIZED VIEW bad_text AS SELECT '[red]a[/] :smile:' AS `[b]`, 1 AS n")
    broken.headrace("run", "--refresh", "bad_text")
    assert broken.headrace("read", "bad_text").stdout.splitlines()[:2] == [
        "[b]                n",
        "[red]a[/] :smile:  1",
    ]


def test_explain_a_view_in_three_ways(shop: Shop) -> None:
    (data,) = shop.json("explain", "top_customers")
    assert data["view"] == "top_customers"
    assert data["seconds"]["initial"] > 0
    assert [o["method"] for o in data["operators"] if o["operator"] == "Limit"] == ["top n"]
    assert all(s["bytes"] > 0 for s in data["states"])
    assert shop.headrace("explain", "top_customers", "--dot").stdout.startswith('digraph "top_customers" {')
    shown = shop.headrace("explain", "top_customers").stdout
    assert "is recomputed" not in shown
    assert "for the next delta" in shown
    assert "from scratch" in shown
    assert all(s["name"] in shown for s in data["states"])
    assert shop.error("explain", "nothing") == "VIEW_UNKNOWN"
    rest = shop.define("rest.sql", REST)
    assert "Limit is recomputed: a LIMIT with OFFSET" in shop.headrace("explain", "rest").stdout
    rest.unlink()


def test_explain_a_query_in_a_file(
    shop: Shop, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.sql"
    file.write_text("SELECT city, MAX(revenue) AS best FROM daily_revenue GROUP BY city;\n")
    (inside,) = shop.json("explain", str(file))
    assert inside["view"] == "query"
    assert inside["operators"][-1]["text"] == "Source daily_revenue"
    own = shop.root / "transformations" / "revenue.sql"
    assert [line["view"] for line in shop.json("explain", str(own))] == ["daily_revenue", "city_revenue"]
    monkeypatch.chdir(tmp_path)
    file.write_text("SELECT day, COUNT(*) AS n FROM arrived GROUP BY day")
    arguments = ["explain", "query.sql", "--json"]
    source = f"arrived={shop.root / 'data' / 'orders'}"
    outside = CliRunner().invoke(app, [*arguments, "--source", source], obj=spark)
    assert outside.exit_code == 0, outside.output
    assert json.loads(outside.stdout)["operators"][-1]["text"] == "Source arrived"
    unknown = CliRunner().invoke(app, arguments, obj=spark)
    assert (unknown.exit_code, json.loads(unknown.stdout)["error"]["code"]) == (1, "NOT_RESOLVED")
    assert CliRunner().invoke(app, [*arguments, "--source", "arrived"], obj=spark).exit_code == 2
    missing = CliRunner().invoke(app, ["explain", "no.sql", "--json"], obj=spark)
    assert json.loads(missing.stdout)["error"]["code"] == "FILE_MISSING"
    assert [p.name for p in tmp_path.iterdir()] == ["query.sql"]


def test_check_finds_a_difference(shop: Shop) -> None:
    shop.headrace("run")
    told = shop.json("check", "city_revenue", "top_customers")
    assert [(t["view"], t["agrees"]) for t in told] == [("city_revenue", True), ("top_customers", True)]
    table = str(shop.root / "storage" / "headrace" / "views" / "top_customers" / "table")
    row = DeltaTable(table).to_pyarrow_table().slice(0, 1)
    write_deltalake(table, pa.table(row), mode="append")
    (told,) = shop.json("check", "top_customers", exits=3)
    assert (told["missing"], told["surplus"]) == (0, 1)
    assert told["surplus_rows"][0]["name"].startswith("customer ")
    assert "1 surplus" in shop.headrace("check", "city_revenue", "top_customers", exits=3).stdout
    events = shop.json("run", "--refresh", "top_customers")
    assert [e["code"] for e in events if e["event"] == "run_done"] == ["RESULT_CHANGED"]
    shop.json("check", "top_customers")


def test_a_streaming_table_is_run_and_read_too(broken: Shop) -> None:
    folder = broken.root / "data" / "orders"
    broken.define(
        "bad_stream.py",
        "from pyspark import pipelines as dp\n\n\n@dp.table\ndef arrived():\n"
        f"    return spark.readStream.schema('order_id bigint').parquet({str(folder)!r})\n",
    )
    broken.define("bad_count.sql", "CREATE MATERIALIZED VIEW bad_count AS SELECT count(*) AS n FROM arrived")
    shown = broken.headrace("run", "--refresh", "arrived,bad_count").stdout
    assert "2 up to date" in shown
    count = pq.read_table(folder).num_rows
    (row,) = broken.headrace("read", "bad_count", "--format", "json").stdout.splitlines()
    assert json.loads(row) == {"n": count}
    assert f"of {count:,} rows" in broken.headrace("read", "arrived").stdout
    told = {line["view"]: line for line in broken.json("status")}
    assert told["bad_count"]["streams"] == ["arrived"]
    assert "not counted: what waits for streaming tables and sinks, which a run reads: arrived" in (
        broken.headrace("status").stdout
    )
    assert [line["kind"] for line in broken.json("dry-run")].count("stream") == 1


def test_drop_and_vacuum(shop: Shop) -> None:
    shop.headrace("run")
    assert "--yes" in shop.headrace("drop", "city_revenue", exits=2).stderr
    assert shop.error("drop", "daily_revenue", "--yes") == "VIEW_IN_USE"
    assert shop.error("drop", "nothing", "--yes") == "VIEW_UNKNOWN"
    (dropped,) = shop.json("drop", "city_revenue", "--yes")
    assert dropped["bytes"] > 0
    (status,) = (line for line in shop.json("status") if line["view"] == "city_revenue")
    assert status["last"] is None
    early = shop.headrace("read", "city_revenue", "--format", "json", exits=1)
    assert json.loads(early.stdout)["error"]["code"] == "NOT_REFRESHED"
    events = shop.json("run")
    assert {e["view"]: e["code"] for e in events if e["event"] == "run_done"}["city_revenue"] == "FIRST_RUN"
    old = shop.define("bad_old.sql", "CREATE MATERIALIZED VIEW old AS SELECT city FROM daily_revenue")
    shop.headrace("run", "--refresh", "old")
    old.unlink()
    (told,) = shop.json("vacuum")
    assert "old" in told["forgotten"]
    assert "removed with --forgotten:" in shop.headrace("vacuum").stdout
    (told,) = shop.json("vacuum", "--forgotten")
    assert told["bytes"] == sum(told["forgotten"].values()) > 0
    (told,) = shop.json("vacuum", "--forgotten")
    assert (told["bytes"], told["forgotten"]) == (0, {})


@pytest.mark.parametrize(
    "command",
    ["init", "run", "dry-run", "status", "history", "read", "explain", "check", "drop", "vacuum", "calibrate"],
)
def test_help_says_what_a_command_does(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "100"})
    assert shown.exit_code == 0
    assert len(shown.stdout.split("Usage")[1]) > 200
    if command not in ("init", "read"):
        assert "--json" in shown.stdout
    if command != "init":
        assert "--master" in shown.stdout
    if command not in ("init", "calibrate"):
        assert "--spec" in shown.stdout
