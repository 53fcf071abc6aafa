"""Streaming tables: every row once, whatever is run again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.pipelines import Project

from .making import opened

EVENTS = """
from pyspark import pipelines as dp

@dp.table
def events():
    return spark.readStream.schema("k INT, x INT").json("{data}")
"""
COUNTS = "CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n, sum(x) AS x FROM events GROUP BY k"
SOME = "CREATE STREAMING TABLE some AS SELECT k FROM STREAM events WHERE x > 1"


class Events:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir()
        self.rows: list[tuple[int, int]] = []
        self.arrive((1, 1), (1, 2), (2, 3))

    def arrive(self, *rows: tuple[int, int]) -> None:
        text = "".join(json.dumps({"k": k, "x": x}) + "\n" for k, x in rows)
        (self.data / f"{len(list(self.data.iterdir()))}.json").write_text(text)
        self.rows += rows

    def open(self, *sql: str) -> Project:
        files = {"events.py": EVENTS.format(data=self.data), "views.sql": ";\n".join([COUNTS, SOME, *sql])}
        return opened(self.spark, self.folder, files)

    def judge(self, project: Project) -> None:
        read = sorted(tuple(r) for r in project.streams["events"].read().collect())
        assert read == sorted(self.rows)
        some = sorted(r[0] for r in project.streams["some"].read().collect())
        assert some == sorted(k for k, x in self.rows if x > 1)
        keys = {k for k, _ in self.rows}
        wanted = {(k, sum(1 for j, _ in self.rows if j == k), sum(x for j, x in self.rows if j == k)) for k in keys}
        assert {tuple(r) for r in project.warehouse.views["counts"].read().collect()} == wanted


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> Events:
    return Events(spark, tmp_path)


def test_every_row_once(events: Events) -> None:
    project = events.open()
    project.run()
    events.judge(project)
    events.arrive((2, 5))
    events.arrive((3, 0))
    report = project.run()
    assert report.refreshed["events"].rows_out == 2
    assert report.refreshed["counts"].method == "incremental"
    events.judge(project)
    events.arrive((1, 9))
    later = events.open()
    later.run()
    events.judge(later)
    assert {r.method for r in later.run().refreshed.values()} == {"unchanged"}


def test_a_batch_that_is_run_again_counts_once(events: Events) -> None:
    """The process ended after the table's commit and before the stream noted it."""
    project = events.open()
    project.run()
    events.arrive((4, 4))
    project.run()
    table = project.streams["events"].table  # type: ignore[attr-defined]
    (checkpoint,) = (table.folder / "checkpoints").iterdir()
    newest = max((checkpoint / "commits").glob("[0-9]*"), key=lambda f: int(f.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    events.arrive((5, 5))
    again = events.open()
    again.run()
    events.judge(again)


def test_files_of_a_batch_that_was_not_committed(events: Events) -> None:
    project = events.open()
    project.run()
    table = project.streams["events"].table.table  # type: ignore[attr-defined]
    left = table.path / "segment-left"
    left.mkdir()
    shutil.copy(table.paths()[0], left / "part-0.parquet")
    events.arrive((7, 7))
    project = events.open()
    project.run()
    assert not left.exists()
    events.judge(project)


def test_from_the_beginning(events: Events) -> None:
    project = events.open()
    project.run()
    events.arrive((6, 6))
    report = project.run(full_refresh=["EVENTS"])
    assert {n: r.method for n, r in report.refreshed.items()} == {"events": "full", "some": "full"}
    report = project.run()
    assert (report.refreshed["counts"].method, report.refreshed["counts"].code) == ("full", "HISTORY_CUT")
    events.judge(project)


def test_several_flows_and_their_columns(events: Events) -> None:
    project = events.open(
        "CREATE STREAMING TABLE both",
        "CREATE FLOW one AS INSERT INTO both BY NAME SELECT k, x FROM STREAM events",
        "CREATE FLOW two AS INSERT INTO both BY NAME SELECT k, 'y' AS y FROM STREAM events WHERE k = 1",
    )
    project.run()
    rows = {tuple(r) for r in project.streams["both"].read().collect()}
    assert rows == {(1, 1, None), (1, 2, None), (2, 3, None), (1, None, "y")}


def test_flows_that_do_not_agree(events: Events) -> None:
    with pytest.raises(hr.QueryError) as caught:
        events.open(
            "CREATE STREAMING TABLE both",
            "CREATE FLOW one AS INSERT INTO both BY NAME SELECT k FROM STREAM events",
            "CREATE FLOW two AS INSERT INTO both BY NAME SELECT 'y' AS k FROM STREAM events",
        )
    assert caught.value.code == "UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA"


def test_other_columns_than_before(events: Events) -> None:
    events.open("CREATE STREAMING TABLE wide AS SELECT k FROM STREAM events").run()
    with pytest.raises(hr.ConfigError) as caught:
        events.open("CREATE STREAMING TABLE wide AS SELECT k, x FROM STREAM events")
    assert caught.value.code == "STREAM_SCHEMA"


def test_a_sink(events: Events) -> None:
    (events.folder / "transformations").mkdir()
    out = events.folder / "out"
    (events.folder / "transformations" / "sink.py").write_text(
        f"""
from pyspark import pipelines as dp

dp.create_sink("out", "parquet", {{"path": {str(out)!r}}})

@dp.append_flow(target="out")
def hand_on():
    return spark.readStream.table("events").where("k = 1")
"""
    )
    project = events.open()
    project.run()
    events.arrive((1, 8), (2, 8))
    project.run()
    assert sorted(r["x"] for r in events.spark.read.parquet(str(out)).collect()) == [1, 2, 8]


def test_drop_and_vacuum(events: Events) -> None:
    made = events.open()
    made.run()
    with pytest.raises(hr.ConfigError) as caught:
        made.drop("events")
    assert caught.value.code == "VIEW_IN_USE"
    assert "counts, some" in caught.value.message
    assert made.drop("some") > 0
    made = events.open()
    made.run()
    events.judge(made)
    left = made.streams["events"].folder / "table" / "segment-left"
    left.mkdir()
    (left / "part-0.parquet").write_bytes(b"x" * 100)
    assert made.vacuum().freed == {"counts": 0, "events": 100, "some": 0}
    fewer = opened(events.spark, events.folder, {"views.sql": COUNTS})
    told = fewer.vacuum()
    assert told.forgotten.keys() == {"some"}
    assert told.bytes == 0
    assert fewer.vacuum(forgotten=True).bytes == told.forgotten["some"]
    assert fewer.vacuum().forgotten == {}
    made = events.open()
    made.run()
    events.judge(made)
