"""The memo merges groups as congruence closure does: equal operators over equal groups are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InternalError
from headrace.ir.expr import Attr, Expr
from headrace.ir.rel import Filter, Group, Join, Negate, Node, Source, union
from headrace.memo.memo import Memo

A = Attr("a", "a", "int")


def leaf(name: str) -> Source:
    return Source(name, (A,), ("a",))


def test_equal_nodes_are_one_group() -> None:
    memo = Memo()
    p = Expr("a > 1", frozenset({"a"}), "boolean")
    assert memo.add(Filter(leaf("s"), (p,))) == memo.add(Filter(leaf("s"), (p,)))
    assert memo.add(leaf("s")) != memo.add(leaf("t"))


def test_merging_inputs_merges_their_parents() -> None:
    memo = Memo()
    s, t = memo.add(leaf("s")), memo.add(leaf("t"))
    over_s, over_t = memo.add(Negate(s)), memo.add(Negate(t))
    top_s, top_t = memo.add(Negate(over_s)), memo.add(Negate(over_t))
    memo.merge(s, t)
    assert memo.find(over_s) == memo.find(over_t)
    assert memo.find(top_s) == memo.find(top_t)
    assert len(memo.nodes(over_s)) == 1


def test_a_group_that_becomes_its_own_input_stays_whole() -> None:
    memo = Memo()
    s = memo.add(leaf("s"))
    twice = memo.add(Negate(Negate(s)))
    memo.merge(s, twice)
    assert memo.find(s) == memo.find(twice)
    assert {type(n) for n in memo.nodes(s)} == {Source, Negate}


def test_a_node_with_other_columns_is_refused() -> None:
    memo = Memo()
    group = memo.add(leaf("s"))
    other = Source("t", (Attr("b", "b", "int"),), ("b",))
    with pytest.raises(InternalError, match="BAD_NODE"):
        memo.add(other, into=group)


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """A list of operations over numbered terms: make a leaf, a unary or a binary term, or merge two."""
    steps: list[tuple[str, int, int]] = [("leaf", 0, 0), ("leaf", 1, 0)]
    terms = 2
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(["leaf", "unary", "binary", "merge"]))
        i, j = draw(st.integers(0, terms - 1)), draw(st.integers(0, terms - 1))
        steps.append((kind, i, j) if kind != "leaf" else ("leaf", draw(st.integers(0, 4)), 0))
        terms += kind != "merge"
    return steps


def closure(steps: list[tuple[str, int, int]]) -> list[int]:
    """Congruence closure by brute force: the class of each term."""
    terms = [s for s in steps if s[0] != "merge"]
    parent = list(range(len(terms)))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for kind, i, j in steps:
        if kind == "merge":
            parent[root(i)] = root(j)
    changed = True
    while changed:
        changed = False
        for x, (kx, ix, jx) in enumerate(terms):
            for y, (ky, iy, jy) in enumerate(terms[:x]):
                if kx != ky or root(x) == root(y):
                    continue
                same = ix == iy if kx == "leaf" else root(ix) == root(iy) and (kx == "unary" or root(jx) == root(jy))
                if same:
                    parent[root(x)] = root(y)
                    changed = True
    return [root(i) for i in range(len(terms))]


@given(programs())
def test_merge_is_congruence_closure(steps: list[tuple[str, int, int]]) -> None:
    memo = Memo()
    groups: list[Group] = []
    for kind, i, j in steps:
        if kind == "merge":
            memo.merge(groups[i], groups[j])
            continue
        node: Node
        if kind == "leaf":
            node = leaf(f"s{i}")
        elif kind == "unary":
            node = Negate(groups[i])
        else:
            node = union(groups[i], groups[j])
        groups.append(memo.add(node))
    classes = closure(steps)
    for x in range(len(groups)):
        for y in range(x):
            assert (memo.find(groups[x]) == memo.find(groups[y])) == (classes[x] == classes[y])
    for group in memo.groups():
        for node in memo.nodes(group):
            assert all(memo.find(i) == i for i in node.inputs), "a member names a group that is gone"


def test_joins_refuse_shared_columns() -> None:
    with pytest.raises(InternalError, match="share"):
        Join((leaf("s"), leaf("t")), (), ())
