"""Relations over the files of a source, made once for each view that reads them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from headrace.spark.catalyst import Catalyst

_REMEMBERED = 8  # relations of a source: old, new and delta of a run, and of the next


class Relations:
    """The last few relations that each Catalyst asked for. Spark looks at every file when one is made. Views that
    share a source may be refreshed side by side."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[Catalyst, dict[Hashable, Any]] = WeakKeyDictionary()
        self._lock = RLock()

    def get(self, catalyst: Catalyst, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` gave for this key before, or gives now."""
        with self._lock:
            made = self._made.setdefault(catalyst, {})
            found = made.pop(key, None)
            if found is None:
                found = make()
                while len(made) >= _REMEMBERED:
                    del made[next(iter(made))]
            made[key] = found
            return found

    def clear(self) -> None:
        with self._lock:
            self._made.clear()
