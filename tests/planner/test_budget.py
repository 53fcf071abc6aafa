"""What to hold under a limit, against trying everything."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from headrace.planner.budget import Item, best

items = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30)), max_size=8).map(
    lambda drawn: [Item(f"i{n}", size, float(saves)) for n, (size, saves) in enumerate(drawn)]
)


def saved(things: list[Item], names: frozenset[str]) -> float:
    return sum(i.saves for i in things if i.name in names)


def taken(things: list[Item], names: frozenset[str]) -> int:
    return sum(i.bytes for i in things if i.name in names)


@given(items, st.integers(0, 200))
def test_the_best_of_all_subsets(things: list[Item], budget: int) -> None:
    chosen = best(things, budget)
    subsets = (s for n in range(len(things) + 1) for s in combinations(things, n))
    most = max(sum(i.saves for i in s) for s in subsets if sum(i.bytes for i in s) <= budget)

    assert taken(things, chosen) <= budget
    assert saved(things, chosen) == most


@given(items, st.integers(0, 200), st.integers(0, 200))
def test_a_larger_budget_is_never_worse(things: list[Item], one: int, other: int) -> None:
    small, large = sorted((one, other))

    assert saved(things, best(things, small)) <= saved(things, best(things, large))


def test_nothing_fits_nothing_and_everything_everything() -> None:
    things = [Item("a", 10, 5.0), Item("b", 20, 1.0), Item("useless", 1, 0.0)]

    assert best(things, 0) == frozenset()
    assert best(things, 1000) == {"a", "b"}
    assert best(things, 20) == {"a"}


def test_hundreds_of_things_take_no_time() -> None:
    things = [Item(f"i{n}", 1000 + 7 * n % 311, 1.0 + n % 17) for n in range(200)]

    assert taken(things, best(things, 60_000)) <= 60_000
