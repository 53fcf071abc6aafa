"""What is grouped twice is grouped once, and the answer is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from rules import examples as e
from rules.meaning import Meaning
from rules.test_laws import QUICK, worlds

from headrace.ir.expr import Attr, Column, Equal, Expr, ref
from headrace.ir.rel import Aggregate, Filter, Join, Node, Project, Rel, prune
from headrace.ir.time import NEW
from headrace.ir.unify import unify_aggregates
from headrace.ir.walk import nodes
from headrace.memo.memo import Memo

A, B, C = Attr("11", "a", "int"), Attr("12", "b", "int"), Attr("13", "c", "int")
SUM, MOST = e.call("sum", e.X), e.call("max", e.X)


def present(attr: Attr) -> Expr:
    return Expr(
        f"isnotnull({attr.name}#{attr.id})",
        frozenset({attr.id}),
        "boolean",
        handle=lambda r: r[attr.id] is not None,
        exact="(k IS NOT NULL)",
    )


def above(attr: Attr, least: int, exact: str = "") -> Expr:
    def value(row: dict[str, Any]) -> bool | None:
        return None if row[attr.id] is None else bool(row[attr.id] > least)

    text = f"({attr.name}#{attr.id} > {least})"
    return Expr(text, frozenset({attr.id}), "boolean", handle=value, exact=exact or f"x > {least}")


def renamed(rel: Rel, **names: str) -> Node:
    """A relation whose columns have other ids."""
    new = {"a": A, "b": B, "c": C}
    return Project(rel, tuple(Column(new[names[a.id]], ref(a)) for a in rel.attrs if a.id in names))


COPY = renamed(e.S, k="a", x="b")
SUMS = Aggregate(Filter(e.S, (above(e.X, 0),)), (e.K,), (SUM, MOST))
SAME = replace(e.call("sum", B), text=SUM.text)
JOINED = Aggregate(Filter(COPY, (present(A), above(B, 0))), (A,), (SAME,))  # loses a call, asks for its key


def together(one: Rel, other: Rel) -> Node:
    """A query that reads both."""
    left, right = one.attrs[0], other.attrs[0]
    columns = tuple(a for a in (*one.attrs, *other.attrs))
    return prune(Join((one, other), (Equal(ref(left), ref(right), null_safe=True),), ()), columns)


def aggregates(query: Node) -> list[Aggregate]:
    return [n for n in nodes(query) if isinstance(n, Aggregate)]


def fresh(aggregate: Aggregate) -> Rel:
    """With columns whose ids no other aggregate has."""
    ids = {"k": "k2", "x": "x2", "sum0": "sum2", "max0": "max2"}
    attrs = [Attr(ids.get(a.id, a.id + "z"), a.name, a.type) for a in aggregate.attrs]
    return Project(aggregate, tuple(Column(n, ref(a)) for n, a in zip(attrs, aggregate.attrs, strict=True)))


def met(rel: Node, key: Attr) -> Node:
    """A relation joined with r."""
    return Join((rel, e.R), (Equal(ref(key), ref(e.U)),), ())


PAIRS = {
    "over a source": together(SUMS, fresh(JOINED)),
    "over a join": together(
        Aggregate(met(e.S, e.X), (e.K,), (SUM,)),
        fresh(Aggregate(met(Filter(COPY, (present(A),)), B), (A,), (SAME,))),
    ),
    "the other asks": together(
        Aggregate(Filter(e.S, (present(e.K),)), (e.K,), (SUM, MOST)), fresh(Aggregate(COPY, (A,), (SAME,)))
    ),
}


@pytest.mark.parametrize("query", [pytest.param(q, id=n) for n, q in PAIRS.items()])
@settings(QUICK, max_examples=60)
@given(worlds())
def test_the_answer_is_the_same(query: Node, world: dict[str, Any]) -> None:
    unified = unify_aggregates(query)
    assert len(aggregates(query)) == 2
    assert len({id(a) for a in aggregates(unified)}) == 1
    assert unified.attrs == query.attrs
    memo = Memo()
    one, other = memo.nodes(memo.add(query))[0], memo.nodes(memo.add(unified))[0]
    meaning = Meaning(memo, world)
    assert meaning.at(one, NEW) == meaning.at(other, NEW)


def test_the_key_is_asked_for_above_what_both_share() -> None:
    unified = unify_aggregates(together(SUMS, fresh(JOINED)))
    (shared,) = {id(a): a for a in aggregates(unified)}.values()
    assert [str(c) for n in nodes(shared) if isinstance(n, Filter) for c in n.conjuncts] == ["(x#x > 0)"]
    filters = [n for n in nodes(unified) if isinstance(n, Filter) and any(m is shared for m in nodes(n))]
    assert [str(c) for f in filters for c in f.conjuncts] == ["isnotnull(a)"]


def test_what_all_ask_for_stays_below() -> None:
    one = Aggregate(Filter(e.S, (present(e.K),)), (e.K,), (SUM,))
    unified = unify_aggregates(together(one, fresh(Aggregate(Filter(COPY, (present(A),)), (A,), (SAME,)))))
    (shared,) = {id(a): a for a in aggregates(unified)}.values()
    assert isinstance(shared.input, Filter)


@pytest.mark.parametrize(
    ("why", "other"),
    [
        ("another threshold", Aggregate(Filter(COPY, (above(B, 1),)), (A,), (SAME,))),
        ("a condition on the key", Aggregate(Filter(COPY, (above(A, 0), above(B, 0))), (A,), (SAME,))),
        ("not NULL is no key", Aggregate(Filter(COPY, (present(B), above(B, 0))), (A,), (SAME,))),
        ("another key", Aggregate(Filter(COPY, (above(B, 0),)), (B,), (SAME,))),
        ("another argument", Aggregate(Filter(COPY, (above(B, 0),)), (A,), (e.call("sum", A),))),
        ("another relation", Aggregate(Filter(renamed(e.T, j="a", y="b"), (above(B, 0),)), (A,), (SAME,))),
        ("no keys", Aggregate(Filter(COPY, (above(B, 0),)), (), (SAME,))),
        ("another constant that prints alike", Aggregate(Filter(COPY, (above(B, 0, "x > 0L"),)), (A,), (SAME,))),
    ],
)
def test_other_groups_stay_apart(why: str, other: Aggregate) -> None:
    query = together(SUMS, fresh(other))
    assert len({id(a) for a in aggregates(unify_aggregates(query))}) == 2, why
