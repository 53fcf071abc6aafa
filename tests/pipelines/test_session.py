"""What a project's functions may not do is refused in their thread alone."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.conf import RuntimeConfig

from headrace.pipelines.session import no_mutations


class _Settings:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._jconf = SimpleNamespace(set=self.values.__setitem__)

    def set(self, name: str, value: str) -> None:
        RuntimeConfig.set(self, name, value)  # type: ignore[arg-type]


def test_what_changes_the_session_is_refused() -> None:
    settings = _Settings()
    with no_mutations(), pytest.raises(PySparkException, match="SET_RUNTIME_CONF"):
        settings.set("a", "1")
    settings.set("a", "2")
    assert settings.values == {"a": "2"}


def test_other_threads_are_left_alone() -> None:
    settings, failed = _Settings(), list[Any]()

    def other() -> None:
        try:
            settings.set("a", "1")
        except PySparkException as problem:
            failed.append(problem)

    with no_mutations():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not failed
    assert settings.values == {"a": "1"}


def test_threads_that_end_in_any_order_leave_spark_as_it_was() -> None:
    before = RuntimeConfig.set
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with no_mutations():
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second() -> None:
        first_in.wait(10)
        with no_mutations():
            second_in.set()
            first_out.wait(10)

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert RuntimeConfig.set is before
