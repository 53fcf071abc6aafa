"""What is done for objects that are gone is done beside whatever the thread that found them gone is doing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import current_thread

import pytest
from pyspark.sql import SparkSession

from headrace.spark.finalizing import settle, when_gone

MANY = 400


class Thing:
    """Something that only the garbage collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def often() -> Iterator[None]:
    """Garbage is collected all the time: in the midst of calls to Java, too."""
    usual = gc.get_threshold()
    gc.set_threshold(7)
    yield
    gc.set_threshold(*usual)


@pytest.mark.usefixtures("often")
def test_java_is_called_for_what_is_gone_while_it_is_called(spark: SparkSession) -> None:
    """A finalizer that calls Java itself would break the connection of the call that it comes into."""
    java, done = spark._jvm.java.lang.System, list[object]()  # type: ignore[union-attr]
    for _ in range(MANY):
        when_gone(Thing(), lambda: done.append((current_thread(), java.nanoTime())))
        assert java.nanoTime() > 0
    gc.collect()
    settle()
    assert len(done) == MANY
    assert current_thread() not in {thread for thread, _ in done}  # type: ignore[misc]


def test_what_fails_does_not_keep_others_from_being_done() -> None:
    done: list[int] = []
    when_gone(Thing(), lambda: 1 / 0)
    when_gone(Thing(), done.append, 1)
    assert not done
    gc.collect()
    settle()
    assert done == [1]
