"""A rule from outside takes part in planning like any other."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from planner.scenes import BOTTOM, Scene, timeline

from headrace import rules
from headrace.errors import ConfigError
from headrace.ir.rel import Aggregate, Filter, Node, Union
from headrace.memo.memo import Memo
from headrace.planner.explore import Engine
from headrace.planner.space import Space
from headrace.rules import RULES, add_rule, all_rules, rule
from rules import examples as e
from rules.meaning import Bag, row

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_rule.py"


@pytest.fixture(autouse=True)
def none_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_OWN", [])


def test_the_example_fires(capsys: pytest.CaptureFixture[str]) -> None:
    made = runpy.run_path(str(EXAMPLE))
    assert "the rule fired 1 time" in capsys.readouterr().out
    (own,) = [r for r in all_rules() if r not in RULES]
    memo = Memo()
    assert not list(own(memo.nodes(memo.add(e.POSITIVE))[0], memo)), "there is no union below"
    assert any(isinstance(m, Union) for m in made["memo"].nodes(made["root"]))


def test_plans_use_it_where_it_costs_less() -> None:
    """A rule that reads nothing where a distinct is asked for is taken at once; that it is wrong, the rows show."""

    @rule("relational", "wrong", Aggregate)
    def forget_distinct(node: Aggregate, memo: Memo) -> Iterator[Node]:
        if not node.calls:
            yield Filter(node.input, ())

    add_rule(forget_distinct)
    twice: Bag = {row({"k": 1, "x": 1}): 2}  # type: ignore[assignment]
    at = [{"s": Bag(), "t": Bag(), "r": Bag()}, {"s": Bag(twice), "t": Bag(), "r": Bag()}]
    scene = Scene(BOTTOM["a distinct"], at, timeline([True]))
    scene.check(scene.progressive().best.runs)
    memo = Memo()
    root = memo.add(scene.query)
    Engine(memo, all_rules()).explore(root)
    scene.memo, scene.space = memo, Space(memo, root, all_rules())
    with pytest.raises(AssertionError):
        scene.check(scene.progressive().best.runs)


def test_a_name_that_is_taken() -> None:
    with pytest.raises(ConfigError, match="RULE"):
        add_rule(RULES[0])
