"""Every plan is right, whatever it was chosen by; and no single method's is cheaper than that of all together."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planner.scenes import BOTTOM, TOP, Scene, arrivals, queries, timeline

from headrace.ir.rel import Node
from headrace.rules import METHODS

SOME = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
DELIVERS = st.sampled_from([[False, True], [False, False, True], [True, True], [False, True, True]])


@pytest.mark.parametrize("method", METHODS)
@SOME
@given(data=st.data())
def test_the_plan_of_one_method_is_right(method: str, data: st.DataObject) -> None:
    delivers = data.draw(DELIVERS)
    scene = Scene(
        data.draw(queries()), data.draw(arrivals(len(delivers))), timeline(delivers), data.draw(st.booleans())
    )
    scene.check(scene.progressive([method]).best.runs)


@settings(SOME, max_examples=100)
@given(queries(), st.data())
def test_the_plan_of_all_methods_is_right_and_the_cheapest(query: Node, data: st.DataObject) -> None:
    delivers = data.draw(DELIVERS)
    scene = Scene(query, data.draw(arrivals(len(delivers))), timeline(delivers), data.draw(st.booleans()))
    choice = scene.progressive(compare=True)
    scene.check(choice.best.runs)
    assert all(scene.space.tvrs[t].keepable for t in choice.best.kept)
    assert choice.methods.keys() == METHODS.keys()
    for alone in choice.methods.values():
        assert choice.best.total <= alone.total  # type: ignore[operator]


@settings(SOME, max_examples=200)
@given(queries(), st.integers(0, 10_000), st.data())
def test_any_plan_of_the_memo_is_right(query: Node, seed: int, data: st.DataObject) -> None:
    """Any states, any ways: what is wrong with a rule shows here."""
    delivers = data.draw(DELIVERS)
    scene = Scene(query, data.draw(arrivals(len(delivers))), timeline(delivers), data.draw(st.booleans()))
    scene.check(scene.chance(seed))


def test_every_part_of_random_queries_is_used() -> None:
    """A query that cannot be built would never be drawn."""
    for bottom in BOTTOM.values():
        for top in TOP.values():
            assert top(bottom).attrs
