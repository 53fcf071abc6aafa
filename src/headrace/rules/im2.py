"""IM-2: hold back what may have to be taken back. Where Q = Qᴾ + Qᴺ,

carry_parts:    op(Q) = op(Qᴾ) + op(Qᴺ) for operators that treat rows one by one, and for a join of Q with others
merge_parts:    Partials[k; f] Q = Partials[k; f] Qᴾ +γ Partials[k; f] Qᴺ

so that the positive part, which only grows while its inputs do, can be worked on early and kept, and the negative part
is computed when a result is due. The first is linearity, for weights of any sign. The second adds the buffers of two
disjoint parts; it holds for every buffer that merges, a maximum too, for both parts are whole relations and no row
leaves either. ``P +γ N`` is written as P and what Accumulate changes in it.

Breaks for a union that takes rows away: what is left of one part alone may have fewer than none of a row. And for a
median or a count of distinct values, whose buffers of two parts say nothing of both. Tempura §4.2, §5.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace.ir.aggregate import Merging
from headrace.ir.rel import (
    Accumulate,
    EvalPython,
    Expand,
    Filter,
    Generate,
    Join,
    Keys,
    Node,
    Partials,
    Project,
    Rel,
    Restrict,
    Union,
    union,
)
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.memo.tvr import NEGATIVE, POSITIVE
from headrace.rules.rule import Link, rule

_FAMILIES = ("IM-2",)


@rule(
    "relational",
    "in parts",
    *(Project, Filter, Expand, Generate, EvalPython, Union, Join),
    families=_FAMILIES,
    links=(POSITIVE, NEGATIVE),
    leaves=("split_outer", "carry_parts", "match_counts", "split_member"),
)
def carry_parts(node: Node, memo: Memo) -> Iterator[Node | Link]:
    if any(Facts(memo).signed(i) for i in node.inputs):
        return  # of what is taken away, the parts would not be relations
    for place, part in enumerate(node.inputs):
        split = _parts(part, memo)
        if split is None:
            continue
        positive, negative = (_with(node, place, p) for p in split)
        if isinstance(node, Union):
            order = node.orders[place]
            negative = Union((split[1],), (order,), node.columns)
        yield union(positive, negative)
        yield Link(POSITIVE, positive)
        yield Link(NEGATIVE, negative)
        return


@rule("relational", "in parts", Partials, families=_FAMILIES, links=(POSITIVE, NEGATIVE))
def merge_parts(p: Partials, memo: Memo) -> Iterator[Node]:
    split = _parts(p.input, memo)
    if split is None or p.change or any(c.merging is Merging.NEVER for c in p.calls):
        return
    early = replace(p, input=split[0])
    late = replace(p, input=split[1], change=True)
    touched: Node = Restrict(early, p.keys, Keys((late,), (p.keys,))) if p.keys else early
    yield union(early, Accumulate(touched, late, p.keys, p.calls, needs_growth=False))


def _parts(rel: Rel, memo: Memo) -> tuple[Rel, Rel] | None:
    positive, negative = memo.linked(rel, POSITIVE), memo.linked(rel, NEGATIVE)
    return (positive[0], negative[0]) if positive and negative else None


def _with(node: Node, place: int, part: Rel) -> Node:
    return node.with_inputs(tuple(part if i == place else r for i, r in enumerate(node.inputs)))
