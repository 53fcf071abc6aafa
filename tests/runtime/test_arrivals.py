"""What the past of a source says of its next delta."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError, InternalError
from headrace.runtime.arrivals import KEPT, QUIET, Arrival, Distribution, History, Stated, alike, predict, usual


def history(*rows: int, step: float = 60, stated: Stated | None = None) -> History:
    found = History(stated=stated or Stated())
    for i, r in enumerate(rows):
        found = found.add(Arrival(1000 + i * step, r, r // 10))
    return found


def test_without_a_horizon_the_next_run_is_like_the_last_ones() -> None:
    p = history(10, 0, 30, 20).predict()
    assert p.inserted.sample == (0, 10, 20, 30)
    assert p.inserted.mean == 15
    assert p.deleted.sample == (0, 1, 2, 3)
    assert p.moves == (3 + 0.5) / 5
    assert not p.complete


def test_a_horizon_of_one_step_gives_the_deltas_after_the_first() -> None:
    assert history(10, 0, 30, 20).predict(60).inserted.sample == (0, 20, 30)


def test_a_longer_horizon_joins_deltas_and_takes_part_of_the_last() -> None:
    assert history(10, 0, 30, 20).predict(120).inserted.sample == (30, 50)
    assert history(10, 0, 30, 20).predict(90).inserted.sample == (15, 40)


def test_a_shorter_horizon_takes_part_of_each_delta_and_its_chance() -> None:
    p = history(10, 0, 30, 20).predict(15)
    assert p.inserted.sample == (0, 5, 7.5)
    assert p.moves == (0.25 + 0.25 + 0.5) / 4


def test_a_horizon_beyond_the_history_is_scaled() -> None:
    p = history(10, 0, 30, 20).predict(360)
    assert p.inserted.sample == (100,)
    assert p.moves == 1.5 / 2


def test_no_history_says_nothing() -> None:
    p = History().predict(60)
    assert (p.inserted.sample, p.inserted.mean, p.inserted.quantile(0.9)) == ((), 0, 0)
    assert p.moves == 0.5
    assert not p.complete


def test_a_source_that_rests_is_thought_complete_and_its_near_twin_is_not() -> None:
    assert history(5, *[0] * QUIET).predict().complete
    assert not history(5, *[0] * (QUIET - 1)).predict().complete
    assert not history(*[0] * (QUIET - 1)).predict().complete
    assert 0 < history(*[0] * QUIET).predict().moves < 0.05


def test_what_a_source_states_counts_instead() -> None:
    p = history(10, 20, stated=Stated(inserted=500)).predict()
    assert p.inserted.sample == (500,)
    assert p.deleted.sample == (1, 2)
    assert p.moves == 1
    assert history(10, 20, stated=Stated(inserted=0, deleted=0)).predict().moves == 0
    p = history(10, 20, stated=Stated(complete=True)).predict()
    assert (p.complete, p.moves, p.inserted.mean) == (True, 0, 0)
    assert not history(*[0] * QUIET, stated=Stated(complete=False)).predict().complete


@pytest.mark.parametrize(("q", "x"), [(0, 1), (0.25, 1), (0.26, 2), (0.5, 2), (0.51, 3), (0.75, 3), (0.9, 40), (1, 40)])
def test_quantiles_are_values_of_the_sample(q: float, x: float) -> None:
    assert Distribution((3, 1, 40, 2)).quantile(q) == x


def test_a_clock_that_was_set_back_moves_the_past_back() -> None:
    h = history(1, 2, 3).add(Arrival(500, 4))
    assert [a.at for a in h.arrivals] == [320, 380, 440, 500]
    assert h.predict(60).inserted.sample == (2, 3, 4)


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        history(1).predict(0)
    assert refused.value.code == "HORIZON"
    with pytest.raises(InternalError):
        History((Arrival(2, 1), Arrival(1, 1)))


arrivals = st.lists(st.tuples(st.integers(1, 500), st.integers(0, 100), st.integers(0, 5)), max_size=2 * KEPT)


def built(gaps: list[tuple[int, int, int]]) -> History:
    found, at = History(), 0
    for gap, inserted, deleted in gaps:
        at += gap
        found = found.add(Arrival(at, inserted, deleted))
    return found


@given(arrivals, st.none() | st.integers(1, 10_000))
def test_every_prediction_makes_sense(gaps: list[tuple[int, int, int]], horizon: int | None) -> None:
    h = built(gaps)
    p = h.predict(horizon)
    assert len(h.arrivals) <= KEPT
    assert 0 < p.moves < 1
    for d in (p.inserted, p.deleted):
        assert d.quantile(0) <= d.quantile(0.5) <= d.quantile(0.9) <= d.quantile(1)
        assert d.quantile(0) - 1e-6 <= d.mean <= d.quantile(1) + 1e-6


@given(st.integers(2, 30), st.integers(0, 100), st.integers(1, 60), st.integers(1, 5000))
def test_a_steady_source_is_predicted_by_its_rate(runs: int, rows: int, step: int, horizon: int) -> None:
    p = built([(step, rows, 0)] * runs).predict(horizon)
    expected = rows * horizon / step
    assert all(math.isclose(x, expected, abs_tol=1e-9) for x in p.inserted.sample)
    assert p.inserted.sample


@given(arrivals, st.builds(Stated, st.none() | st.integers(0, 9), st.none(), st.none() | st.booleans()))
def test_a_history_outlives_its_process(gaps: list[tuple[int, int, int]], stated: Stated) -> None:
    h = History(built(gaps).arrivals, stated)
    assert History.restore(json.loads(json.dumps(h.record()))) == h
    assert predict({"sales": h})["sales"] == h.predict()


def test_runs_are_alike_as_long_as_no_source_differs_much() -> None:
    assert alike({}) == 0
    assert alike({"a": History()}) == 0
    assert alike({"a": history(1000, 10, 20, 35)}) == 3
    assert alike({"a": history(1000, 10, 20, 35), "b": history(7, 7, 0, 7)}) == 1
    assert alike({"a": history(5, 5)}) == 2


def test_what_is_usual_is_what_the_last_runs_like_each_other_found() -> None:
    def rows(*found: int) -> list[int]:
        return [a.inserted for a in usual({"a": history(*found)})["a"].arrivals]

    assert rows(1000, 1000, 1000, 10, 20, 10) == [10, 20, 10]
    # once or twice is no habit, three times is
    assert rows(10, 20, 10, 1000) == [10, 20, 10]
    assert rows(10, 20, 10, 1000, 1000) == [10, 20, 10]
    assert rows(10, 20, 10, 1000, 1000, 1000) == [1000, 1000, 1000]
    # what always varies is usual as a whole
    assert rows(10, 1000, 10, 1000, 10, 1000) == [10, 1000, 10, 1000, 10, 1000]
    assert rows(10, 1000) == [10, 1000]
