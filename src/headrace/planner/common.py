"""What a run needs of a part of a join by itself too is found once.

Let A ⋈ B be a part of a join whose Delta a step computes, and Δ(A ⋈ B) be computed by the same step as well: the left
side of an anti join, say, which is that side less what has a match. Then, by the law of `subjoins`,

    Δ(A ⋈ B ⋈ C) = Δ(A ⋈ B) ⋈ old C + new A ⋈ new B ⋈ ΔC

Where nothing above uses the columns of a member that is an aggregate, a row that met its old value and meets its new
one comes out twice, with opposite weights. Such pairs are added up before they go on: of all customers above an average
there remain those between the old average and the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headrace.ir.expr import Equal, Expr
from headrace.ir.narrow import mentioned
from headrace.ir.plan import Pin, Step
from headrace.ir.rel import Aggregate, Consolidate, Finish, Node, Project, Ref, Rel, prune
from headrace.ir.walk import nodes
from headrace.planner.subjoins import delta_of
from headrace.planner.view_tree import Member, Terms, terms_of


def with_common(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The same steps, each part of a join that one of them needs twice held by a step before it."""
    made: list[Step] = []
    for step in steps:
        rel = step.rel
        while (found := _common(rel)) is not None:
            pin, rel = _held(f"p{len(made)}", rel, *found)
            made.append(pin)
        made.append(replace(step, rel=rel))
    return tuple(made)


def _common(rel: Rel) -> tuple[Terms, Terms] | None:
    """A join whose Delta a tree computes, and a larger one that has all of its members."""
    every = list(terms_of(rel))
    return next(((a, b) for a in every for b in every if _is_part(a, b) and _are_apart(a, b)), None)


def _are_apart(one: Terms, other: Terms) -> bool:
    return not any(n is one.whole for n in nodes(other.whole)) and not any(n is other.whole for n in nodes(one.whole))


def _is_part(small: Terms, large: Terms) -> bool:
    by_ids = {m.ids: m for m in small.members}
    same = [m for m in large.members if m.ids in by_ids and _alike(m, by_ids[m.ids])]
    if not small.moving or not len(same) == len(small.members) < len(large.members):
        return False
    first = large.moving[: len(small.moving)]  # all others are at their old version in the terms of these
    if [m.ids for m in first] != [m.ids for m in small.moving] or len(first) == len(large.moving):
        return False
    have = frozenset[str]().union(*by_ids)
    equals = [e for e in large.equals if e.refs <= have]
    residual = [e for e in large.residual if e.refs <= have]
    return _same(equals, small.equals) and _same(residual, small.residual)


def _same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(e in others for e in some)


def _alike(one: Member, other: Member) -> bool:
    return one.delta == other.delta and (one.old is None or other.old is None or one.old == other.old)


def _held(name: str, rel: Rel, small: Terms, large: Terms) -> tuple[Pin, Rel]:
    """A step that holds the Delta of the smaller join, and the tree with both made from it, of just the columns that
    it uses of them."""
    have = frozenset[str]().union(*(m.ids for m in small.members))
    predicates: tuple[Equal | Expr, ...] = (*large.equals, *large.residual)
    joining = {i for e in predicates if not e.refs <= have for i in e.refs}
    used = _used(rel, small.whole, large.whole)
    kept = tuple(a for a in small.whole.attrs if a.id in used | joining) or small.whole.attrs[:1]
    delta: Rel = prune(small.whole, kept)
    if any(_pairs(m) and not m.ids & {a.id for a in kept} for m in small.moving):
        delta = Consolidate(delta)
    ref = Ref(name, kept)
    members = [m for m in large.members if m.ids <= have]
    columns = tuple(a for a in large.whole.attrs if a.id in used) or kept[:1]
    whole = delta_of(large, list(large.members), columns, (ref, members))
    return Pin(name, delta), _replaced(rel, {id(small.whole): ref, id(large.whole): whole})


def _replaced(rel: Rel, parts: dict[int, Rel]) -> Rel:
    """A tree with others in the place of some of its nodes, of which projections drop what is not there any more."""
    done = dict(parts)

    def visit(r: Rel) -> Rel:
        if not isinstance(r, Node):
            return r
        if id(r) not in done:
            inputs = tuple(visit(i) for i in r.inputs)
            if isinstance(r, Project) and r.pruning:
                there = {a.id for a in inputs[0].attrs}
                done[id(r)] = Project(inputs[0], tuple(c for c in r.columns if c.attr.id in there))
            else:
                done[id(r)] = r.with_inputs(inputs)
        return done[id(r)]

    return visit(rel)


def _pairs(member: Member) -> bool:
    """Whether the delta of a member has rows that leave for others that come in their place."""
    return member.delta is not None and any(isinstance(n, Aggregate | Finish) for n in nodes(member.delta))


def _used(rel: Rel, *parts: Node) -> set[str]:
    """The columns that a tree mentions outside some parts of it, or gives."""
    used = {a.id for a in rel.attrs}
    seen = {id(p) for p in parts}
    waiting = [rel]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Node) and id(node) not in seen:
            seen.add(id(node))
            if not (isinstance(node, Project) and node.pruning):
                used |= mentioned(node)
            waiting += node.inputs
    return used
