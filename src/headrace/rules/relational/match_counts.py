"""Joins that keep, drop or flag rows, by counting matches. For an equality-only condition, with
D = Distinct keys of R (a set, kept with the number of rows behind each key):

    L ⋉ R = L ⋈ D              L ▷ R = L − (L ⋈ D)
    L ⟕ R = (L ⋈ R) + (L ▷ R) × NULLs,  and a full outer join also keeps (R ▷ L)
    existence(L, R) = (L ⋈ D) × true + (L ▷ R) × false

D holds each key once, so L ⋈ D multiplies weights by one and is L ⋉ R; the rest is bag arithmetic and
holds for negative weights too. All parts are linear or bilinear, and the delta of D speaks only of keys
that appear or disappear (IM-1). Where R has one row for a key, D is R's keys themselves.

Breaks when the condition has more than equalities: ``L ⟕ R ON l.k = r.k AND l.x > r.y`` may leave a row
unmatched although its key is in D. Those take the keyed rule. Tempura §2.2, §4.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.expr import Attr, Column, Equal, Expr, boolean, null, ref
from headrace.ir.rel import Aggregate, Join, Negate, Node, PairJoin, Project, Rel, prune, union
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.rules.rule import rule


@rule("relational", "match counts", PairJoin, families=("IM-1",))
def match_counts(join: PairJoin, memo: Memo) -> Iterator[Node]:
    if not join.equi or not join.keys or join.kind == "left single":
        return
    left, right, keys = join.left, join.right, join.keys
    matched = _matched(left, right, keys, memo)
    unmatched = union(prune(left, left.attrs), Negate(matched))
    match join.kind:
        case "left semi":
            yield matched
        case "left anti":
            yield unmatched
        case "existence":
            assert join.exists is not None
            yield union(_with(matched, join.exists, boolean(True)), _with(unmatched, join.exists, boolean(False)))
        case "left outer":
            yield union(_pairs(join), _padded(unmatched, left.attrs, right.attrs))
        case "full outer":
            flipped = tuple((b, a) for a, b in keys)
            lonely = union(prune(right, right.attrs), Negate(_matched(right, left, flipped, memo)))
            yield union(
                _pairs(join),
                _padded(unmatched, left.attrs, right.attrs),
                prune(_padded(lonely, right.attrs, left.attrs), left.attrs + right.attrs),
            )


def _matched(left: Rel, right: Rel, keys: tuple[tuple[Attr, Attr], ...], memo: Memo) -> Node:
    on = tuple(dict.fromkeys(r for _, r in keys))
    distinct: Node = prune(right, on)
    if not Facts(memo).unique_on(right, frozenset(a.id for a in on)):
        distinct = Aggregate(distinct, on, ())
    return prune(Join((left, distinct), _equals(keys), ()), left.attrs)


def _pairs(join: PairJoin) -> Node:
    both = Join((join.left, join.right), _equals(join.keys), ())
    return prune(both, join.left.attrs + join.right.attrs)


def _equals(keys: tuple[tuple[Attr, Attr], ...]) -> tuple[Equal, ...]:
    return tuple(Equal(ref(left), ref(right)) for left, right in keys)


def _padded(rel: Rel, kept: tuple[Attr, ...], absent: tuple[Attr, ...]) -> Node:
    columns = tuple(Column(a, ref(a)) for a in kept)
    return Project(rel, columns + tuple(Column(a, null(a.type)) for a in absent))


def _with(rel: Rel, flag: Attr, value: Expr) -> Node:
    return Project(rel, (*(Column(a, ref(a)) for a in rel.attrs), Column(flag, value)))
