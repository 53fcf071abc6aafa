"""What is expected next, by what runs have found."""

from __future__ import annotations

from headrace.api.outlook import outlook
from headrace.runtime.arrivals import Arrival, History
from headrace.stats.estimate import Change


def history(*rows: int) -> History:
    found = History()
    for at, count in enumerate(rows):
        found = found.add(Arrival(float(at), count))
    return found


def test_sizes_follow_a_change_of_habit_within_three_runs() -> None:
    before = outlook({"a": history(*[1000] * 6)})
    assert (before.changes, before.runs) == ({"a": Change(inserts=1000)}, 6)
    assert outlook({"a": history(*[1000] * 6, 10, 10)}) == before
    after = outlook({"a": history(*[1000] * 6, 10, 10, 10)})
    assert (after.changes, after.runs) == ({"a": Change(inserts=10)}, 3)


def test_what_varies_is_expected_in_the_mean() -> None:
    assert outlook({"a": history(10, 1000, 10, 1000)}).changes == {"a": Change(inserts=505)}


def test_a_source_that_moves_at_times_is_reckoned_with_between_them_too() -> None:
    at_times = {"a": history(10, 10, 10, 10, 10, 10), "b": history(8, 0, 8, 0, 0, 0)}
    assert outlook(at_times).changes == {"a": Change(inserts=10), "b": Change(inserts=16 / 6)}
    seldom = {"a": history(*[10] * 6), "b": history(8, 0, 0, 0, 0, 0)}
    assert outlook(seldom).moving == {"a"}
