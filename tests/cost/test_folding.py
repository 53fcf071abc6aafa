"""Folding pays for itself: never much more than twice what the best choice in hindsight would have cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.cost.folding import Folding, Segments

BASE = st.integers(1_000, 5_000_000)
RUNS = st.lists(st.tuples(st.integers(1, 50_000), st.integers(0, 3)), max_size=120)


@given(base=BASE, runs=RUNS)
def test_at_most_twice_the_best_plus_one_refresh(base: int, runs: list[tuple[int, int]]) -> None:
    """Against every choice in hindsight of when to fold. A fold is decided before the run that does it reads the state,
    so up to two refreshes' rent comes on top each time."""
    spent, folds, dearest, later, count, folding = 0.0, 0, 0.0, 0, 0, Folding()
    for rows, reads in runs:
        now = Segments(base, later, count)
        spent += reads * now.rent
        dearest = max(dearest, reads * now.rent)
        if folding.due("s", now):
            spent += now.price
            folds += 1
            folding = folding.after({"s": now}, {"s": reads}, {"s": now.price})
            later = count = 0
        else:
            folding = folding.after({"s": now}, {"s": reads}, {})
            later, count = later + rows, count + 1
    disk = sum(r for r, _ in runs) / base + len(runs) / 64 + 1  # folds that room, not time, asked for: at most so many
    assert spent <= 2 * _best(base, runs) + (folds + 1) * dearest + disk * Segments(base, 2 * base, 0).price


def _best(base: int, runs: list[tuple[int, int]]) -> float:
    """The least that any choice of moments to fold would have cost: over the moments, by dynamic programming."""
    best = [0.0]  # before run i, just folded
    for i in range(1, len(runs) + 1):
        options = []
        for j in range(i):
            later, cost = 0, best[j]
            for count, (rows, reads) in enumerate(runs[j:i]):
                cost += reads * Segments(base, later, count).rent
                later += rows
            options.append(cost + (Segments(base, later, i - j).price if i < len(runs) else 0.0))
        best.append(min(options))
    return best[-1]


def test_a_state_that_nobody_scans_is_folded_for_its_room_only() -> None:
    folding = Folding()
    for count in range(60):
        segments = Segments(1_000_000, count * 10_000, count)
        assert not folding.due("s", segments)
        folding = folding.after({"s": segments}, {}, {})
    assert folding.due("s", Segments(1_000_000, 2_000_001, 5))
    assert folding.due("s", Segments(1_000_000, 100, 65))


def test_a_state_that_is_scanned_is_folded_when_its_rent_reaches_the_price() -> None:
    folding, count = Folding(), 0
    while not folding.due("s", segments := Segments(1_000, count * 10, count)):
        folding = folding.after({"s": segments}, {"s": 1}, {})
        count += 1
    assert folding.paid["s"] >= segments.price > folding.paid["s"] - segments.rent
    assert folding.after({"s": segments}, {"s": 1}, {"s": 0.2}).paid == {}


@given(st.lists(st.floats(0.001, 1_000), min_size=1))
def test_what_folds_took_corrects_what_the_next_is_expected_to_take(taken: list[float]) -> None:
    segments, folding = Segments(100_000, 1_000, 3), Folding()
    for seconds in [*taken, *[3 * segments.price] * 12]:
        folding = folding.after({"s": segments}, {}, {"s": seconds})
    assert abs(folding.factor - 3) < 0.02


def test_a_base_alone_is_never_folded() -> None:
    assert not Folding({"s": 1e9}).due("s", Segments(10, 0, 0))
