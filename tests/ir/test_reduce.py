"""Groups that a join does not ask for are not computed, and the answer is the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from rules import examples as e
from rules.meaning import Meaning
from rules.test_laws import QUICK, worlds

from headrace.ir.expr import Attr, Column, Equal, ref
from headrace.ir.reduce import reduce_groups
from headrace.ir.rel import Aggregate, Filter, Join, Node, Project, Rel, prune
from headrace.ir.time import NEW
from headrace.ir.walk import nodes
from headrace.memo.memo import Memo

A, B = Attr("a", "a", "int"), Attr("b", "b", "int")
SUM = e.call("sum", B)
# s joined with part of r, and with the sums of s by the same key.
AGAIN = Project(e.S, (Column(A, ref(e.K)), Column(B, ref(e.X))))
SOME = Filter(e.R, (e.expr("v > 0", "v", lambda r: None if r["v"] is None else r["v"] > 0, "boolean"),))
PRESENT = Filter(e.R, (e.expr("isnotnull(u)", "u", lambda r: r["u"] is not None, "boolean"),))
SUMS = Aggregate(AGAIN, (A,), (SUM,))
DOUBLED = Project(SUMS, (Column(A, ref(A)), Column(e.Z, ref(SUM.attr))))


def asking(other: Node, sums: Rel = DOUBLED, *, nested: bool = True, null_safe: bool = False) -> Node:
    """Sums that are asked for by the key of another relation."""
    by_key = (Equal(ref(e.K), ref(e.U)), Equal(ref(A), ref(e.U), null_safe=null_safe))
    if not nested:
        return Join((e.S, other, sums), by_key, ())
    return Join((prune(Join((e.S, other), by_key[:1], ()), (e.X, e.U)), sums), by_key[1:], ())


def states(query: Node) -> list[Rel]:
    return [n.input for n in nodes(reduce_groups(query)) if isinstance(n, Aggregate) and n.calls]


@settings(QUICK, max_examples=60)
@given(worlds())
def test_the_answer_is_the_same(world: dict[str, Any]) -> None:
    for query in (asking(SOME), asking(SOME, nested=False), asking(SOME, SUMS)):
        memo = Memo()
        one, other = memo.nodes(memo.add(query))[0], memo.nodes(memo.add(reduce_groups(query)))[0]
        meaning = Meaning(memo, world)
        assert meaning.at(one, NEW) == meaning.at(other, NEW)


def test_only_groups_that_are_asked_for_are_computed() -> None:
    for query in (asking(SOME), asking(SOME, nested=False), asking(SOME, SUMS)):
        (below,) = states(query)
        assert any(isinstance(n, Join) for n in nodes(below))
        assert reduce_groups(reduce_groups(query)).attrs == query.attrs


def test_what_is_asked_for_by_all_stays() -> None:
    other = Aggregate(e.T, (e.J,), ())
    apart = Join((prune(SOME, (e.U,)), DOUBLED), (Equal(ref(A), ref(e.U)),), ())
    twice = Join((prune(asking(SOME), (e.U, e.Z)), prune(SUMS, (SUM.attr,))), (), ())
    doubled = Join((prune(asking(SOME), (e.X, e.Z)), Project(DOUBLED, (Column(e.N, ref(e.Z)),))), (), ())
    inner = prune(Join((e.T, DOUBLED), (Equal(ref(e.J), ref(A)),), ()), (A, e.Z))
    by_key = (Equal(ref(e.K), ref(e.U)), Equal(ref(A), ref(e.U)))
    joined = Join(
        (prune(Join((e.S, SOME, inner), by_key, ()), (e.X,)), Project(inner, (Column(e.N, ref(e.Z)),))), (), ()
    )
    for why, query in {
        "another place uses what reads the sums": doubled,
        "another place uses a join on the way": joined,
        "every row of r asks": asking(PRESENT),
        "NULL asks too": asking(SOME, null_safe=True),
        "another place uses the sums": twice,
        "nothing else joins s with r": apart,
        "not filtered by itself": Join((other, DOUBLED), (Equal(ref(A), ref(e.J)),), ()),
    }.items():
        assert not any(isinstance(n, Join) for below in states(query) for n in nodes(below)), why
