"""Two processes that refresh one view: never a row twice, and an error that says who was first."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread

import pytest
from fault.process import Child
from fault.scene import Scene
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime.lease import lease


def test_two_processes_at_once(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    scene.view().refresh()
    children = [Child(spark, tmp_path), Child(spark, tmp_path)]
    for _ in range(3):
        scene.churn()
        for child in children:
            child.refresh()
        assert sorted(child.says() for child in children) == ["incremental", "unchanged"]
        scene.judge(scene.view())
    for child in children:
        child.kill()


def test_one_that_does_not_wait_is_told_who_is_at_work(spark: SparkSession, tmp_path: Path) -> None:
    view = Scene(spark, tmp_path).view()
    view.refresh()
    with lease(view._folder / "lease", "the test", 0), pytest.raises(hr.StateError, match="process") as caught:
        view.refresh(wait=0.1)
    assert caught.value.code == "BUSY"
    assert view.refresh().method == "unchanged"


def test_without_the_lease_the_commit_decides(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no lock is (another machine), the second of two runs from the same version is not committed."""
    scene = Scene(spark, tmp_path)
    slow, fast = scene.view(), scene.view()
    slow.refresh()
    scene.churn()
    run = slow._engine.run

    def overtaken(*arguments: object, **more: object) -> object:
        done = run(*arguments, **more)  # type: ignore[arg-type]
        monkeypatch.setattr("headrace.api.view.lease", lambda *_: nullcontext())
        fast.refresh()
        return done

    monkeypatch.setattr(slow._engine, "run", overtaken)
    with pytest.raises(hr.StateError) as caught:
        slow.refresh()
    assert caught.value.code == "CONFLICT"
    monkeypatch.undo()
    scene.churn()
    view = scene.view()
    view.refresh()
    scene.judge(view)


def test_reading_while_another_thread_refreshes(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    ended = Event()
    seen: list[int] = []

    def read() -> None:
        while not ended.is_set():
            rows = view.read().collect()
            view.history().count()
            view.status()
            view.waiting()
            seen.append(len(rows))

    reader = Thread(target=read)
    reader.start()
    try:
        methods = set()
        for _ in range(8):
            scene.churn()
            methods.add(view.refresh().method)
    finally:
        ended.set()
        reader.join(60)
    assert methods == {"incremental"}
    assert len(seen) > 1
    scene.judge(view)
