"""A service runs each view when its policy says so, and ends in good order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from maintained import Maintained
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from headrace.api.service import Service
from headrace.runtime.policy import Policy
from headrace.runtime.progress import RunBegan, RunDone, RunFailed
from headrace.runtime.scheduler import Firing

QUERIES = {
    "sums": "SELECT k, sum(x) AS x FROM t GROUP BY k",
    "counts": "SELECT count(*) AS n FROM t",
    "large": "SELECT k FROM sums WHERE x > 5",
}


class Watched(Maintained):
    """A warehouse with three views, and what its service told."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(spark, folder, {"t": pa.schema([("k", pa.int32()), ("x", pa.int64())])})
        self["t"].change(insert=[(1, 1), (2, 9)])
        self.firings: list[tuple[float, Firing]] = []
        self.done: list[str] = []
        self.failed: list[str] = []
        self.view("sums", hr.every("1 s"))
        self.view("counts", hr.after_rows(10))
        self.view("large", hr.downstream_of("sums"))

    def view(self, name: str, policy: Policy) -> None:
        self.warehouse.view(name, QUERIES[name], policy=policy)

    @contextmanager
    def served(self) -> Iterator[Service]:
        def told(event: object) -> None:
            if isinstance(event, RunDone):
                self.done.append(event.view)
            elif isinstance(event, RunFailed):
                self.failed.append(event.view)

        def started(firing: Firing) -> None:
            self.firings.append((time.monotonic(), firing))

        service = Service(self.warehouse, poll=0.1, started=started, progress=told)
        thread = Thread(target=service.run)
        thread.start()
        try:
            yield service
        finally:
            service.stop()
            thread.join(60)
        assert not thread.is_alive()

    def fired(self, name: str) -> list[float]:
        return [at for at, firing in self.firings if firing.view == name]

    def wait(self, name: str, runs: int, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while self.done.count(name) < runs:
            assert time.monotonic() < end, f"{name} ran {self.done.count(name)} times: {self.firings}"
            time.sleep(0.05)


@pytest.fixture
def watched(spark: SparkSession, tmp_path: Path) -> Watched:
    return Watched(spark, tmp_path)


def test_each_runs_when_it_is_due(watched: Watched) -> None:
    with watched.served():
        for name in QUERIES:  # no result yet: each is computed at once
            watched.wait(name, 1)
        watched["t"].change(insert=[(3, 30)] * 4)
        watched.wait("large", 2)
        assert watched.done.count("counts") == 1  # four rows wait, and it wants ten
        watched["t"].change(insert=[(4, 1)] * 6)
        watched.wait("counts", 2)
        watched.wait("large", 3)
        watched.wait("sums", watched.done.count("sums") + 3)
        assert watched.done.count("large") == 3  # what it reads was computed again, and is as before
    starts = watched.fired("sums")
    assert len(starts) - 1 <= starts[-1] - starts[0] + 0.5  # once a second, though one may be seen late
    assert [f.why for _, f in watched.firings if f.view == "counts"][1:] == ["10 rows wait (after 10)"]
    assert watched.failed == []
    same_rows(watched.warehouse.views["counts"].read(), watched.truth(QUERIES["counts"]))


def test_what_a_service_knew_the_next_one_knows(watched: Watched) -> None:
    with watched.served():
        watched.wait("counts", 1)
        watched.wait("large", 1)
    watched["t"].change(insert=[(5, 5)] * 9)
    watched.firings.clear()
    with watched.served():
        watched.wait("large", 2)
        assert watched.fired("counts") == []  # nine rows wait: those it had read are not counted again
        watched["t"].change(insert=[(5, 5)])
        watched.wait("counts", 2)
    assert len(watched.fired("counts")) == 1


def test_a_failure_is_tried_again_later(watched: Watched) -> None:
    with watched.served():
        watched.wait("counts", 1)
        bad = watched["t"].folder / "bad.parquet"
        bad.write_text("not a Parquet file")
        end = time.monotonic() + 30
        while "sums" not in watched.failed:
            assert time.monotonic() < end
            time.sleep(0.05)
        bad.unlink()
        watched["t"].change(insert=[(6, 60)] * 10)
        watched.wait("counts", 2)
        watched.wait("sums", watched.done.count("sums") + 1)
    same_rows(watched.warehouse.views["sums"].read(), watched.truth(QUERIES["sums"]))


def test_a_source_that_cannot_be_looked_at_is_told(watched: Watched) -> None:
    """A view that waits for changes would wait for ever, and nobody would know why."""
    watched.view("counts", hr.on_change())
    with watched.served():
        watched.wait("counts", 1)
        (watched["t"].folder / "bad.parquet").write_text("not a Parquet file")
        end = time.monotonic() + 30
        while "counts" not in watched.failed:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_stopping_lets_the_run_in_hand_end(spark: SparkSession, tmp_path: Path) -> None:
    case = Maintained(spark, tmp_path, {"t": pa.schema([("k", pa.int32()), ("x", pa.int64())])})
    case["t"].change(insert=[(1, 1)])
    case.warehouse.view("sums", QUERIES["sums"])
    began = Event()

    def told(event: object) -> None:
        if isinstance(event, RunBegan):
            began.set()
            time.sleep(0.5)

    service = Service(case.warehouse, poll=0.1, progress=told)
    thread = Thread(target=service.run)
    thread.start()
    assert began.wait(30)
    service.stop()
    thread.join(60)
    assert not thread.is_alive()
    same_rows(case.warehouse.views["sums"].read(), case.truth(QUERIES["sums"]))


def test_a_policy_about_something_else(watched: Watched) -> None:
    watched.view("counts", hr.after_rows(10, source="elsewhere"))
    with pytest.raises(hr.ConfigError) as caught:
        Service(watched.warehouse)
    assert caught.value.code == "POLICY_INPUT"
