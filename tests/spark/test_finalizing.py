"""What is done for objects that are gone is done beside whatever the thread that found them gone is doing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from threading import Event, Thread, Timer, current_thread

import pytest
from pyspark.sql import SparkSession

from headrace.spark.finalizing import find_gone, when_gone

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


@pytest.fixture
def asked() -> Iterator[None]:
    """Garbage is collected only where one asks for it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("often")
def test_java_is_called_for_what_is_gone_while_it_is_called(spark: SparkSession) -> None:
    """A finalizer that calls Java itself would break the connection of the call that it comes into."""
    java, done = spark._jvm.java.lang.System, list[object]()  # type: ignore[union-attr]
    for _ in range(MANY):
        when_gone(Thing(), lambda: done.append((current_thread(), java.nanoTime())))
        assert java.nanoTime() > 0
    find_gone()
    assert len(done) == MANY
    assert current_thread() not in {thread for thread, _ in done}  # type: ignore[misc]


def test_what_fails_does_not_keep_others_from_being_done() -> None:
    done: list[int] = []
    when_gone(Thing(), lambda: 1 / 0)
    when_gone(Thing(), done.append, 1)
    assert not done
    find_gone()
    assert done == [1]


@pytest.mark.usefixtures("asked")
def test_what_is_gone_is_found_while_another_thread_collects() -> None:
    """``gc.collect`` alone does nothing then."""
    collecting, go_on, done = Event(), Event(), list[int]()

    def wait() -> None:
        collecting.set()
        go_on.wait(5)

    slow = Thing()
    weakref.finalize(slow, wait)
    del slow
    other = Thread(target=gc.collect)
    other.start()
    assert collecting.wait(5)
    when_gone(Thing(), done.append, 1)
    assert gc.collect() == 0
    Timer(0.05, go_on.set).start()
    find_gone()
    assert done == [1]
    other.join()
