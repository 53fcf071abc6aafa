"""Every rule holds on random bags: what it yields means what the definition of a delta says, without Spark.

Beside the rules stand versions of them with a mistake that is easy to make. Random bags must show each of
them to be wrong, or the test of the true rule would prove nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from headrace.ir.expr import Column, Equal, SortKey, ref
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Delta,
    Finish,
    Join,
    Keys,
    Limit,
    Negate,
    Node,
    PairJoin,
    Partials,
    Project,
    Provided,
    Restrict,
    Snapshot,
    Union,
    Window,
    prune,
    union,
)
from headrace.ir.time import NEW, OLD, Version
from headrace.memo.memo import Memo
from headrace.memo.tvr import Tvr
from headrace.planner.explore import Engine, tvrs
from headrace.rules import DELTA, INTER, RELATIONAL, RULES, VERSION
from headrace.rules.delta.limit import take_first
from headrace.rules.hov import without
from rules import examples as e
from rules.meaning import Bag, Meaning, row

KINDS = PairJoin.KINDS[:-1]
OPERATORS: dict[str, Node] = {
    "filter": e.POSITIVE,
    "projection": e.SHIFTED,
    "union": e.STACKED,
    "expand": e.TWICE,
    "generate": e.SPREAD,
    "finish of a distinct": Finish(Partials(e.S, (e.K,), ()), (e.K,), ()),
    "finish of a sum": Finish(e.partials(e.call("sum")), (e.K,), (e.call("sum"),)),
    "distinct": e.DISTINCT,
    "distinct over a join": Aggregate(prune(e.PAIR, (e.X, e.Y)), (e.X, e.Y), ()),
    "join": e.PAIR,
    "join without an equality": e.LOOSE,
    "join of three": e.CHAIN,
    "join of a join": e.NESTED,
    "self join": e.SELF,
    "count and sum": e.partials(e.call("count", None), e.call("count"), e.call("sum")),
    "count of everything": e.partials(e.call("count", None), e.call("sum"), keys=()),
    "minimum and maximum": e.partials(e.call("min"), e.call("max")),
    "median": e.partials(e.call("median")),
    "median of everything": e.partials(e.call("median"), keys=()),
    "window": e.RANKED,
    "window over everything": e.OVERALL,
    "limit": e.FIRST,
    "limit to one": replace(e.FIRST, count=1),
    "limit to none": replace(e.FIRST, count=0),
    "limit to many": replace(e.FIRST, count=5),
    "limit of a join": Limit(e.PAIR, (SortKey(ref(e.Y), False, True),), 0, 3),
    **{f"{kind} join": e.pair_join(kind) for kind in KINDS},
    **{f"{kind} join with a residual": e.pair_join(kind, equi=False) for kind in KINDS},
    **{f"{kind} join without an equality": e.pair_join(kind, keyed=False) for kind in KINDS},
}
QUERIES: dict[str, Node] = {
    "distinct": e.DISTINCT,
    "sum": e.grouped(e.call("sum"), e.call("count", None)),
    "sum of everything": e.grouped(e.call("sum"), keys=()),
    "count distinct": e.grouped(e.call("count", distinct=True)),
    "count distinct and sum": e.grouped(e.call("count", distinct=True), e.call("sum")),
    "join of a join": e.NESTED,
    "sums over a join": e.OVER_PAIR,
    "sums over a join of three": e.OVER_CHAIN,
    "distinct over a join": Aggregate(prune(e.PAIR, (e.X, e.Y)), (e.X,), ()),
    "sum of everything over a join": Aggregate(e.PAIR, (), (e.call("sum", e.Y), e.call("max", e.Y))),
    **{f"{kind} join": e.pair_join(kind) for kind in KINDS},
}

VALUES = st.sampled_from([None, 0, 1, 2])


@st.composite
def bags(draw: st.DrawFn, columns: str) -> Bag:
    rows = draw(st.lists(st.tuples(VALUES, VALUES), max_size=4))
    return Counter(row(dict(zip(columns, values, strict=True))) for values in rows)


def worlds(*, growing: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    def source(columns: str) -> st.SearchStrategy[dict[Any, Bag]]:
        pairs = st.tuples(bags(columns), bags(columns))
        return pairs.map(lambda p: {OLD: p[0], NEW: p[0] + p[1] if growing else p[1]})

    return st.fixed_dictionaries({"s": source("kx"), "t": source("jy"), "r": source("uv")})


QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def may_be_used(tree: Node, memo: Memo, meaning: Meaning) -> bool:
    """Whether that has lost no rows which must not, where a tree says so. That sources only grow is not enough: a match
    takes a row of an outer join away."""
    if isinstance(tree, Provided):
        of = tree.grows
    elif isinstance(tree, Accumulate) and tree.needs_growth:
        change = memo.members(tree.change, Partials)[0]
        of = memo.members(change.input, Delta)[0].of
    else:
        return True
    return all(w > 0 for w in meaning.change(memo.nodes(of)[0]).values())


def deltas(rule: Any) -> list[Any]:
    return [pytest.param(rule, o, id=f"{rule.name}: {n}") for n, o in OPERATORS.items() if isinstance(o, rule.types)]


DELTA_RULES = [r for r in (*DELTA, *INTER, *VERSION) if r.kind == "delta"]


@pytest.mark.parametrize(("rule", "node"), [case for rule in DELTA_RULES for case in deltas(rule)])
@pytest.mark.parametrize("growing", [False, True], ids=["any change", "inserts alone"])
def test_a_delta_rule_gives_the_difference(rule: Any, node: Node, growing: bool) -> None:
    memo = Memo()
    member = memo.nodes(memo.add(node))[0]
    trees = list(rule(member, memo))

    @QUICK
    @given(worlds(growing=growing))
    def holds(world: dict[str, Any]) -> None:
        meaning = Meaning(memo, world)
        for tree in trees:
            if may_be_used(tree, memo, meaning):
                assert meaning.of(tree) == meaning.change(member)

    holds()


def rewrites(rule: Any) -> list[Any]:
    return [pytest.param(rule, q, id=f"{rule.name}: {n}") for n, q in QUERIES.items() if isinstance(q, rule.types)]


RELATIONAL_RULES = [r for r in (*RELATIONAL, *INTER) if r.kind == "relational"]


@pytest.mark.parametrize(("rule", "node"), [case for rule in RELATIONAL_RULES for case in rewrites(rule)])
def test_a_relational_rule_keeps_the_rows(rule: Any, node: Node) -> None:
    memo = Memo()
    member = memo.nodes(memo.add(node))[0]
    trees = [memo.find(memo.add(tree)) for tree in rule(member, memo)]

    @QUICK
    @given(worlds())
    def holds(world: dict[str, Any]) -> None:
        meaning = Meaning(memo, world)
        for tree in trees:
            assert meaning.at(tree, NEW) == meaning.at(member, NEW)

    holds()


STATUS = e.pair_join("left outer")
GROSS = Project(STATUS, (Column(e.K, ref(e.K)), Column(e.Z, e.expr("x or y", "xy", lambda r: r["y"] or r["x"]))))
STACK = Union((GROSS, e.R), ((e.K, e.Z), (e.U, e.V)), (e.K, e.Z))
EXPLORED: dict[str, Node] = {
    **QUERIES,
    **{f"{kind} join with a residual": e.pair_join(kind, equi=False) for kind in KINDS},
    "sum over an outer join": Aggregate(GROSS, (e.K,), (e.call("sum", e.Z), e.call("max", e.Z))),
    "sum of everything over an outer join": Aggregate(GROSS, (), (e.call("sum", e.Z), e.call("count", None))),
    "sum over a union with an outer join": Aggregate(STACK, (e.K,), (e.call("sum", e.Z),)),
    "median over an outer join": Aggregate(GROSS, (e.K,), (e.call("median", e.Z),)),
    "outer join in a join": Join((STATUS, e.R), (Equal(ref(e.X), ref(e.U)),), ()),
    "full outer join under a sum": Aggregate(e.pair_join("full outer"), (e.K,), (e.call("sum", e.Y),)),
    "join of three": e.CHAIN,
    "join of three, each with each": Join(
        (e.S, e.T, e.R), (*e.CHAIN.equals, Equal(ref(e.X), ref(e.V))), (e.compared("x", ">", "y"),)
    ),
    "join of three under a sum": Aggregate(e.CHAIN, (e.K,), (e.call("sum", e.Y),)),
    "join of three that read two": Join(
        (e.S, e.T, Project(e.S, (Column(e.U, ref(e.K)), Column(e.V, ref(e.X))))),
        (Equal(ref(e.K), ref(e.J)), Equal(ref(e.Y), ref(e.U))),
        (),
    ),
    "limit over a sum": Limit(e.grouped(e.call("sum")), (SortKey(ref(e.call("sum").attr), True, False),), 0, 2),
    "limit below a join": Join((e.FIRST, e.T), (Equal(ref(e.K), ref(e.J)),), ()),
    "window over a join": Window(e.PAIR, (e.K,), (e.N,), "row_number() over (partition by k order by x)", e.numbered),
}


@pytest.mark.parametrize("name", EXPLORED)
@pytest.mark.parametrize("growing", [False, True], ids=["any change", "inserts alone"])
def test_all_that_is_explored_holds(name: str, growing: bool) -> None:
    """Every member of every group, however rules worked together to make it."""
    memo = Memo()
    root = memo.add(EXPLORED[name])
    Engine(memo, RULES, pruning=False).explore(root)
    groups = [(g, memo.nodes(g)[0]) for g in tvrs(memo, memo.find(root))]
    assert any(len(memo.nodes(Tvr(memo, g).delta())) > 2 for g, _ in groups)

    @settings(QUICK, max_examples=15)
    @given(worlds(growing=growing))
    def holds(world: dict[str, Any]) -> None:
        meaning = Meaning(memo, world)
        for group, first in groups:
            for at in (OLD, NEW, Version(frozenset({"s"}))):
                for node in memo.nodes(group):
                    assert meaning.at(node, at) == meaning.at(first, at), node
            for tree in memo.nodes(Tvr(memo, group).delta())[1:]:
                if may_be_used(tree, memo, meaning):
                    assert meaning.of(tree) == meaning.change(first), tree
            for tree in memo.nodes(Tvr(memo, group).snapshot(NEW))[1:]:
                assert meaning.of(tree) == meaning.at(first, NEW), tree

    holds()


# --- mistakes


def all_new(join: Join, memo: Memo) -> Iterator[Node]:
    """Each delta meets the new rows of the others: pairs of new rows count twice."""
    for moving in (0, 1):
        other = 1 - moving
        members: list[Any] = [None, None]
        members[moving], members[other] = Delta(join.members[moving], OLD, NEW), Snapshot(join.members[other], NEW)
        yield prune(Join(tuple(members), join.equals, join.residual), join.attrs)


def all_new_join(join: Join, memo: Memo) -> Node:
    return union(*all_new(join, memo))


def distinct_of_delta(node: Finish, memo: Memo) -> Node:
    """A DISTINCT of the inserts: a row that is there already comes again."""
    partial = memo.members(node.input, Partials)[0]
    return Finish(Partials(Delta(partial.input, OLD, NEW), node.keys, (), change=True), node.keys, ())


def merged_under_deletes(p: Partials, memo: Memo) -> Node:
    """A maximum merged although rows leave."""
    change = Partials(Delta(p.input, OLD, NEW), p.keys, p.calls, change=True)
    return Accumulate(
        Restrict(Snapshot(memo.find(p), OLD), p.keys, Keys((change,), (p.keys,))), change, p.keys, p.calls, False
    )


def window_of_delta(w: Window, memo: Memo) -> Node:
    """Only the rows that came are numbered, in partitions that have others."""
    touched = Keys((Delta(w.input, OLD, NEW),), (w.partition,))
    only_new = Restrict(Snapshot(w.input, NEW), (e.X,), Keys((Delta(w.input, OLD, NEW),), ((e.X,),)))
    return union(w.with_inputs((only_new,)), Negate(Restrict(Snapshot(memo.find(w), OLD), w.partition, touched)))


def padded_once(join: PairJoin, memo: Memo) -> Node:
    """A left outer join taken as linear in its left side alone."""
    return join.with_inputs((Delta(join.left, OLD, NEW), Snapshot(join.right, NEW)))


def lost_by_key(join: PairJoin, memo: Memo) -> Node:
    """New keys take unmatched rows away, a NULL key as any other, and nothing comes back when a match leaves."""
    touched = Keys((Delta(join.right, OLD, NEW),), (join.right_keys,))
    came = join.with_inputs((Delta(join.left, OLD, NEW), Snapshot(join.right, NEW)))
    return union(came, Negate(Restrict(Snapshot(memo.find(join), OLD), join.left_keys, touched)))


def views_as_new(join: Join, memo: Memo) -> Node:
    """Each delta joined with the newest view of the others."""
    terms = []
    for place, member in enumerate(join.members):
        view = without(join, place)
        assert view is not None
        others = {a.id for a in view.attrs}
        equals = tuple(q for q in join.equals if not q.refs <= others)
        terms.append(prune(Join((Delta(member, OLD, NEW), Snapshot(view, NEW)), equals, ()), join.attrs))
    return union(*terms)


def sums_of_one_side(aggregate: Aggregate, memo: Memo) -> Node:
    """A sum made before a join although it is over the other side, of which a row meets several."""
    join = memo.members(aggregate.input, Join)[0]
    few = Aggregate(join.members[0], (e.K,), ())
    return Aggregate(Join((few, join.members[1]), join.equals, ()), aggregate.keys, aggregate.calls)


def first_of_what_is_known(limit: Limit, memo: Memo) -> Node:
    """First rows from those that were and from what changes: when one of them leaves, none takes its place."""
    (head,) = take_first(limit, memo)
    assert isinstance(head, Provided)
    return head.input  # type: ignore[return-value]


def first_that_came(limit: Limit, memo: Memo) -> Node:
    """The place of one that leaves is given to a row that comes, though others that were there are before it."""
    kept = Snapshot(memo.find(limit), OLD)
    came = Restrict(
        Snapshot(limit.input, NEW), limit.attrs, Keys((kept, Delta(limit.input, OLD, NEW)), (limit.attrs,) * 2)
    )
    return union(limit.with_inputs((came,)), Negate(kept))


TRIANGLE = Join((e.S, e.T, e.R), (*e.CHAIN.equals, Equal(ref(e.X), ref(e.V))), ())

MISTAKES = {
    "unmatched rows lost by key": (e.pair_join("left anti"), lost_by_key),
    "deltas joined with new views": (TRIANGLE, views_as_new),
    "a join of deltas with new rows only": (e.PAIR, all_new_join),
    "a distinct of the delta": (OPERATORS["finish of a distinct"], distinct_of_delta),
    "a maximum merged under deletes": (e.partials(e.call("max")), merged_under_deletes),
    "a window over new rows only": (e.RANKED, window_of_delta),
    "first rows of what is known": (e.FIRST, first_of_what_is_known),
    "first rows of what came": (e.FIRST, first_that_came),
    "an outer join by its left side alone": (e.pair_join("left outer"), padded_once),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    node, wrong = MISTAKES[name]
    memo = Memo()
    member: Any = memo.nodes(memo.add(node))[0]
    tree = wrong(member, memo)

    def differs(world: dict[str, Any]) -> bool:
        meaning = Meaning(memo, world)
        return meaning.of(tree) != meaning.change(member)

    try:
        find(worlds(), differs, settings=settings(max_examples=2000, database=None, phases=[Phase.generate]))
    except NoSuchExample:
        pytest.fail("no bags show the mistake")


def test_putting_rows_together_on_the_wrong_side_is_found() -> None:
    """Rows of one side that agree may be one row only where nothing counts them."""
    memo = Memo()
    true: Any = memo.nodes(memo.add(Aggregate(e.PAIR, (e.K,), (e.call("sum", e.Y),))))[0]
    tree = memo.add(sums_of_one_side(true, memo))

    def differs(world: dict[str, Any]) -> bool:
        meaning = Meaning(memo, world)
        return meaning.at(tree, NEW) != meaning.at(true, NEW)

    find(worlds(), differs, settings=settings(max_examples=2000, database=None, phases=[Phase.generate]))


def test_match_counts_refuses_what_it_would_get_wrong() -> None:
    """Taken as equi, a join with a residual is not what its keys say."""
    memo = Memo()
    true = memo.nodes(memo.add(e.pair_join("left outer", equi=False)))[0]
    assert isinstance(true, PairJoin)
    (rule,) = (r for r in RELATIONAL if r.name == "match_counts")
    assert not list(rule(true, memo))
    (wrong,) = rule(replace(true, equi=True), memo)
    tree = memo.add(wrong)

    def differs(world: dict[str, Any]) -> bool:
        meaning = Meaning(memo, world)
        return meaning.at(tree, NEW) != meaning.at(true, NEW)

    find(worlds(), differs, settings=settings(max_examples=2000, database=None, phases=[Phase.generate]))
