"""One budget for several views, divided so that all together are served best."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from headrace.api.shares import Shares
from headrace.planner.front import Front, Point

points = st.builds(lambda size, cost: Point(size, float(cost)), st.integers(0, 60), st.integers(0, 50))
fronts = st.lists(points, max_size=4).map(lambda ps: Front([Point(0, 60.0), *ps]))


@given(st.lists(fronts, min_size=1, max_size=3), st.integers(0, 120))
def test_all_together_cost_least(offers: list[Front], budget: int) -> None:
    shares = Shares()
    for n, offer in enumerate(offers):
        shares.offer(f"v{n}", offer)
    least = min(sum(p.seconds for p in ps) for ps in product(*offers) if sum(p.bytes for p in ps) <= budget)
    taken = [offer.best(shares.of(f"v{n}", budget)) for n, offer in enumerate(offers)]

    assert all(p is not None for p in taken)
    first = taken[0]
    assert first is not None
    # What the first takes leaves the others enough for the least that all can have together.
    rest = [p for p in product(*offers[1:]) if sum(x.bytes for x in p) <= budget - first.bytes]
    assert first.seconds + min(sum(x.seconds for x in p) for p in rest) == least


def test_who_saves_more_gets_it() -> None:
    shares = Shares()
    shares.offer("small", Front([Point(0, 10.0), Point(100, 9.0)]))
    shares.offer("great", Front([Point(0, 10.0), Point(100, 1.0)]))

    assert shares.of("great", 150) == 150
    assert shares.of("small", 150) == 50
    shares.withdraw("great")
    assert shares.of("small", 150) == 150


def test_alone_a_view_may_take_everything() -> None:
    assert Shares().of("any", 77) == 77
