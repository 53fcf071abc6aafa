"""Work of many tests done side by side, two at a time; each test then takes its own.

Most of a small refresh is spent in one thread of the driver, so that two at a time keep two cores busy while
all share the one Spark session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import pytest

K = TypeVar("K")
WORKERS = 2


class Ahead(Generic[K]):
    def __init__(self, keys: Iterable[K], work: Callable[[K], None]) -> None:
        self._pool = ThreadPoolExecutor(WORKERS)
        self._outcomes = {key: self._pool.submit(work, key) for key in dict.fromkeys(keys)}

    def take(self, key: K) -> None:
        """Wait for one piece of work; raise what it raised."""
        __tracebackhide__ = True
        self._outcomes[key].result()

    def stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def chosen(request: pytest.FixtureRequest, fixture: str) -> list[pytest.Function]:
    """The parametrised tests of this session that ask for a fixture."""
    return [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function) and fixture in item.fixturenames and hasattr(item, "callspec")
    ]
