"""Storage that fails: a clear error with a code, the last good result stays, and the next refresh goes on."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fault.scene import Scene
from pyspark.sql import SparkSession

import headrace as hr

NOBODY = 65534


def _newest_log(table: Path) -> Path:
    return max((table / "_delta_log").glob("*.json"))


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow beyond some bytes, which to a writer is a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def no_permission() -> Iterator[None]:
    """Files of others can be read and not written, as for any user but root."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("trouble", [full_disk, no_permission])
def test_files_that_cannot_be_written(spark: SparkSession, trouble) -> None:  # type: ignore[no-untyped-def]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        scene = Scene(spark, folder)
        view = scene.view()
        view.refresh()
        before = sorted(view.read().collect())
        scene.churn()
        with trouble(), pytest.raises(hr.StateError) as caught:
            view.refresh()
        assert caught.value.code == "STORAGE"
        assert sorted(view.read().collect()) == before
        assert view.refresh().method == "incremental"
        scene.judge(view)


def test_a_corrupt_log_of_the_result(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    log = _newest_log(view._result.path)
    good = log.read_bytes()
    log.write_bytes(good[: len(good) // 2] + b"\0{")
    scene.churn()
    for act in (view.refresh, view.read, scene.view().refresh):
        with pytest.raises(hr.StateError) as caught:
            act()
        assert caught.value.code == "LOG_CORRUPT"
        assert "_delta_log" in str(caught.value)
    log.write_bytes(good)
    assert view.refresh().method == "incremental"
    scene.judge(view)


def test_a_corrupt_log_of_a_state(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    _newest_log(next(iter(view._states.values())).table.path).write_text("{")
    scene.churn()
    view = scene.view()
    report = view.refresh()
    assert (report.method, report.code) == ("full", "STATE_LOST")
    scene.judge(view)
    scene.churn()
    assert view.refresh().method == "incremental"
    scene.judge(view)


def test_nothing_stored_is_run() -> None:
    """What is read back from a warehouse is data: JSON and Parquet, never pickled objects or code."""
    import headrace

    for file in Path(headrace.__file__).parent.rglob("*.py"):
        text = file.read_text()
        for word in ("pickle", "marshal", "shelve", " eval(", " exec("):
            assert word not in text, f"{file.name} uses {word}"
