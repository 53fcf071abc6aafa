"""Goals as people write them."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.runtime.goal import Goal, parse_goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("least_latency", Goal()),
        (" least_latency( ) ", Goal()),
        ("least_latency(memory=2g)", Goal(2 << 30)),
        ("least_latency( memory = '512 MB' )", Goal(512 << 20)),
        ("least_latency(memory=0)", Goal(0)),
        ("least_cost", Goal(by_cost=True)),
        ("least_cost(memory=1k)", Goal(1024, by_cost=True)),
        ("least_cost(methods=IM-1)", Goal(by_cost=True, methods=("IM-1",))),
        ("least_cost(methods = 'HOV + IM-1', memory=2k)", Goal(2048, by_cost=True, methods=("IM-1", "HOV"))),
    ],
)
def test_a_goal_in_words(text: str, goal: Goal) -> None:
    assert parse_goal(text) == goal
    assert parse_goal(str(goal)) == goal


NO_METHODS = ("least_cost(methods=)", "least_cost(methods=IM-3)", "least_latency(methods=IM-1)", "least_cost(IM-1)")


@pytest.mark.parametrize(
    "text", ["", "fast", "least_latency(2g)", "least_latency(memory=2g", "least_costs", *NO_METHODS]
)
def test_what_is_no_goal(text: str) -> None:
    with pytest.raises(hr.ConfigError) as caught:
        parse_goal(text)
    assert caught.value.code == "GOAL"
    assert caught.value.hint


def test_memory_that_is_none() -> None:
    with pytest.raises(hr.ConfigError) as caught:
        parse_goal("least_latency(memory=lots)")
    assert caught.value.code == "MEMORY_SIZE"
    assert hr.least_latency(memory="1k") == Goal(1024)
