"""What each rule yields, as files that a person can read: every case beside a twin to which the rule does not apply.

Write them anew with HEADRACE_GOLDEN=1, and read them before you commit them.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.ir.expr import Attr, Column, Equal, ref
from headrace.ir.rel import Aggregate, Join, Limit, Node, Partials, Project, Source, Union
from headrace.ir.show import describe, tree
from headrace.memo.memo import Memo
from headrace.planner.explore import Engine
from headrace.rules import RULES as ALL
from rules import examples as e

SPECS = Path(__file__).parent / "specs"
RULES = {rule.name: rule for rule in ALL}
RENAMED = Project(e.PAIR, tuple(Column(new, ref(old)) for new, old in zip((e.U, e.V), (e.K, e.Y), strict=True)))

STATUS = Project(e.pair_join("left outer"), (Column(e.K, ref(e.K)), Column(e.Z, ref(e.Y))))
TRIANGLE = Join((e.S, e.T, e.R), (Equal(ref(e.K), ref(e.J)), Equal(ref(e.Y), ref(e.U)), Equal(ref(e.X), ref(e.V))), ())
SHARED = Join(
    (e.S, e.T, Project(e.S, (Column(e.U, ref(e.K)), Column(e.V, ref(e.X))))),
    (Equal(ref(e.K), ref(e.J)), Equal(ref(e.Y), ref(e.U)), Equal(ref(e.X), ref(e.V))),
    (),
)

MAPS = Source("m", (Attr("m", "m", "map<int,int>"),), ("m",))

# For each rule: what it applies to, and a twin that differs in just what stops it.
CASES: dict[str, list[tuple[str, Node]]] = {
    "flatten_join": [
        ("a join of a join", e.NESTED),
        ("a join of a projection that renames", Join((RENAMED, e.S), (Equal(ref(e.U), ref(e.K)),), ())),
    ],
    "match_counts": [
        ("a left semi join on an equality", e.pair_join("left semi")),
        ("a left anti join on an equality", e.pair_join("left anti")),
        ("a left outer join on an equality", e.pair_join("left outer")),
        ("a full outer join on an equality", e.pair_join("full outer")),
        ("an existence join on an equality", e.pair_join("existence")),
        ("a left outer join on more than an equality", e.pair_join("left outer", equi=False)),
        ("a left outer join without an equality", e.pair_join("left outer", keyed=False)),
    ],
    "split_distinct": [
        ("a distinct count", e.grouped(e.call("count", distinct=True))),
        ("a distinct count beside a sum", e.grouped(e.call("count", distinct=True), e.call("sum"))),
        ("a count that is not distinct", e.grouped(e.call("count"))),
        ("a distinct count with a filter", e.grouped(e.call("count", distinct=True, filter=e.compared("k", ">", "x")))),
    ],
    "push_aggregate": [
        ("sums over one side of a join", e.OVER_PAIR),
        ("sums over one of three", e.OVER_CHAIN),
        ("a mean", Aggregate(e.PAIR, (e.K,), (e.call("avg", e.Y),))),
        ("a sum over both sides", Aggregate(e.PAIR, (e.K,), (e.call("sum", e.X), e.call("max", e.Y)))),
        ("a count of everything", Aggregate(e.PAIR, (), (e.call("count", None),))),
    ],
    "partial_states": [("a sum by group", e.grouped(e.call("sum"))), ("not an aggregate", e.POSITIVE)],
    "pass_delta": [("a filter", e.POSITIVE), ("a union", e.STACKED), ("a join", e.PAIR)],
    "telescope_join": [("a join of three", e.CHAIN), ("a left outer join", e.pair_join("left outer"))],
    "add_new_keys": [
        ("a distinct, while the input grows", e.DISTINCT),
        ("a sum by group", e.grouped(e.call("sum"))),
    ],
    "merge_partials": [
        ("a sum", e.partials(e.call("sum"))),
        ("a maximum, while the input grows", e.partials(e.call("max"))),
        ("a median, which does not merge", e.partials(e.call("median"))),
    ],
    "regroup_touched": [
        ("a median by group", e.partials(e.call("median"))),
        ("a median of everything", e.partials(e.call("median"), keys=())),
    ],
    "redo_partitions": [("a window by partition", e.RANKED), ("a window over everything", e.OVERALL)],
    "rejoin_keys": [
        ("a left outer join on more than an equality", e.pair_join("left outer", equi=False)),
        ("a left outer join without an equality", e.pair_join("left outer", keyed=False)),
    ],
    "rejoin_left": [
        ("a left anti join without an equality", e.pair_join("left anti", keyed=False)),
        ("a full outer join without an equality", e.pair_join("full outer", keyed=False)),
    ],
    "take_first": [
        ("a limit, while the input grows", e.FIRST),
        ("a limit that skips rows", replace(e.FIRST, skip=1)),
    ],
    "take_first_or_all": [
        ("a limit", e.FIRST),
        ("a limit that skips rows", replace(e.FIRST, skip=1)),
        ("a limit to very many", replace(e.FIRST, count=1_000_000)),
        ("all but the first", replace(e.FIRST, skip=1, count=None)),
        ("a column that only its text orders", Limit(MAPS, (), 0, 2)),
    ],
    "recompute_operator": [("a limit", e.FIRST), ("an aggregate by itself", Aggregate(e.S, (e.K,), ()))],
    "take_difference": [("a join", e.PAIR), ("a source, whose delta is read", e.S)],
    "merge_delta": [("a join", e.PAIR), ("a source, whose snapshot is read", e.S)],
    "split_outer": [
        ("a left outer join with any condition", e.pair_join("left outer", equi=False)),
        ("a full outer join", e.pair_join("full outer")),
        ("an existence join", e.pair_join("existence")),
        ("a left anti join, which has no positive part", e.pair_join("left anti")),
    ],
    "carry_parts": [
        ("a projection of an outer join", STATUS),
        ("a join with an outer join", Join((e.pair_join("left outer"), e.R), (Equal(ref(e.X), ref(e.U)),), ())),
        ("a union with an outer join", Union((STATUS, e.R), ((e.K, e.Z), (e.U, e.V)), (e.K, e.Z))),
        ("a projection of an inner join", RENAMED),
    ],
    "merge_parts": [
        ("a sum over an outer join", Partials(e.pair_join("left outer"), (e.K,), (e.call("sum", e.Y),))),
        ("a median over an outer join", Partials(e.pair_join("left outer"), (e.K,), (e.call("median", e.Y),))),
    ],
    "lose_matched": [
        ("a left anti join", e.pair_join("left anti")),
        ("a left semi join, which loses nothing by a new match", e.pair_join("left semi")),
    ],
    "refate_met": [
        ("a left anti join without an equality", e.pair_join("left anti", keyed=False)),
        ("a left outer join", e.pair_join("left outer")),
    ],
    "split_member": [
        ("a join of three, of which one is between the others", e.CHAIN),
        ("a join of two", e.PAIR),
    ],
    "join_views": [
        ("a join of three, each equal to each", TRIANGLE),
        ("a join of three, of which one is between the others", e.CHAIN),
        ("a join of three that read two sources", SHARED),
    ],
}
# Rules that look at links, and those that make them.
BEFORE = {"carry_parts": ("split_outer", "carry_parts"), "merge_parts": ("split_outer",)}


def test_every_rule_has_a_spec() -> None:
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize("name", CASES)
def test_spec(name: str) -> None:
    parts = []
    outcomes = set()
    for title, node in CASES[name]:
        memo = Memo()
        root = memo.add(node)
        Engine(memo, [RULES[r] for r in BEFORE.get(name, ())]).explore(root)
        member = memo.nodes(root)[0]
        yielded = list(RULES[name](member, memo)) if isinstance(member, RULES[name].types) else []
        outcomes.add(bool(yielded))
        shown = "\n\n".join(_readable(tree(y), memo) for y in yielded) or "nothing"
        parts.append(f"== {title}\n\n{_readable(tree(node), memo)}\n\n-- {name}\n\n{shown}\n")
    assert outcomes == {True, False}, "a rule needs a case and a twin"
    text = "\n".join(parts)
    file = SPECS / f"{name}.spec"
    if os.environ.get("HEADRACE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


def _readable(text: str, memo: Memo) -> str:
    """Columns by name alone, groups by what they are."""
    for group in memo.groups():
        text = re.sub(rf"\bGroup {group.id}\b", f"({describe(memo.nodes(group)[0])})", text)
    return re.sub(r"\b(\w+) AS \1\b", r"\1", re.sub(r"#\w+", "", text))
