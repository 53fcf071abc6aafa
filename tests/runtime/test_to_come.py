"""What later runs of a timeline are expected to find."""

from __future__ import annotations

from headrace.ir.timeline import runs
from headrace.runtime.to_come import to_come

DAY = runs(["14:00", "19:00", "24:00"]).runs


def test_at_first_large_sources_grow_evenly_and_small_ones_rest() -> None:
    found = [{"sales": [1400, 0], "returns": [280, 0], "items": [139, 0]}]
    assert to_come(DAY, 1, found) == {"sales": [500, 0], "returns": [100, 0], "items": [0, 0]}
    assert to_come(DAY, 2, found) == to_come(DAY, 1, found)


def test_what_came_after_the_first_run_goes_on_coming() -> None:
    found = [{"sales": [1400, 0], "items": [100, 0]}, {"sales": [50, 5], "items": [10, 0]}]
    assert to_come(DAY, 2, found) == {"sales": [50, 5], "items": [10, 0]}
    unlike = runs(["14:00", "15:00", "24:00"]).runs
    assert to_come(unlike, 2, found) == {"sales": [450, 45], "items": [90, 0]}


def test_the_last_time_tells_more() -> None:
    before = [{"sales": [1, 0]}, {"sales": [70, 1]}, {"sales": [80, 2]}]
    found = [{"sales": [1400, 0], "new": [1400, 0]}]
    assert to_come(DAY, 2, found, before) == {"sales": [80, 2], "new": [500, 0]}


def test_what_is_stated_tells_most() -> None:
    day = runs([1, 2, 3], arrivals={"sales": [4, 1, 2], "items": [1, 0, 0], "late": [0, 1, 3]}).runs
    found = [{"sales": [400, 40], "items": [100, 0], "late": [0, 0]}]
    before = [{"sales": [1, 1]}] * 3
    assert to_come(day, 2, found, before) == {"sales": [200, 20], "items": [0, 0], "late": [0, 0]}
    found.append({"sales": [50, 0], "items": [7, 0], "late": [30, 0]})
    assert to_come(day, 2, found, before) == {"sales": [180, 16], "items": [0, 0], "late": [90, 0]}


def test_nothing_was_found() -> None:
    assert to_come(DAY, 1, [{}]) == {}
    assert to_come(DAY, 1, [{"sales": [0, 0]}]) == {"sales": [0, 0]}
