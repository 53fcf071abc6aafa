"""Nets that can work, and those that are refused."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.errors import ConfigError
from headrace.runtime.net import Factory, Net
from headrace.runtime.policy import Policy


def net(**views: tuple[str, Policy]) -> Net:
    return Net({name: Factory(frozenset(inputs.split()), policy) for name, (inputs, policy) in views.items()})


def test_a_net_knows_its_sources_its_order_and_what_is_upstream() -> None:
    found = net(top=("mid low", hr.on_change()), mid=("low", hr.on_change()), low=("sales items", hr.on_change()))
    assert found.sources == {"sales", "items"}
    assert found.order == ("low", "mid", "top")
    assert found.upstream == {"low": frozenset(), "mid": {"low"}, "top": {"low", "mid"}}
    assert set(found.readers("low")) == {"mid", "top"}


@pytest.mark.parametrize("inputs", [("a", "b"), ("b", "a"), ("b c", "a c")])
def test_a_circle_is_refused(inputs: tuple[str, str]) -> None:
    with pytest.raises(ConfigError) as refused:
        net(a=(inputs[0], hr.on_change()), b=(inputs[1], hr.on_change()))
    assert refused.value.code == "CYCLE"


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        (hr.after_rows(5, source="other"), "POLICY_INPUT"),
        (hr.every(5) | hr.downstream_of("other"), "POLICY_INPUT"),
        (hr.downstream_of(), "POLICY_NEVER"),
        (hr.downstream_of("sales"), "POLICY_NEVER"),
        (hr.every(5) & hr.downstream_of(), "POLICY_NEVER"),
    ],
)
def test_a_policy_that_does_not_fit_its_view_is_refused(policy: Policy, code: str) -> None:
    with pytest.raises(ConfigError) as refused:
        net(view=("sales", policy))
    assert refused.value.code == code


def test_policies_that_fit() -> None:
    net(low=("sales", hr.after_rows(5, source="sales")), top=("low", hr.downstream_of("low") & hr.every(5)))
    net(view=("sales", hr.every(5) | hr.downstream_of()))
    net(view=("", hr.cron("0 6 * * *")))
