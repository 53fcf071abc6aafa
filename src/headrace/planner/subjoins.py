"""Joins of some members of a join, kept in memory: their Delta is computed once and used for them and for the result.

Let S be members of a join A₁ ⋈ … ⋈ Aₙ such that those of S that move come before all others that move, and R the
others. Then, with T the join of S,

    Δ(A₁ ⋈ … ⋈ Aₙ) = ΔT ⋈ old R + Σᵢ∉S new T ⋈ ΔAᵢ ⋈ (the others of R, new before i and old after it)

because the terms of S all have R at its old version, and those of R all have S at its new one. ΔT itself is the sum of
the terms of S among themselves. So T is looked up as one relation by every delta outside S, and needs just ΔT to be
brought up to date. A version in which S has moved in part never occurs: the order of moving is what makes it so.

All terms of the whole must be there to tell that order. Of some of them alone, as are left where a part of the members
is one relation already, only joins may be looked up of which nothing moves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from headrace.ir.expr import Attr
from headrace.ir.plan import Plan, Remember, Step
from headrace.ir.probe import Index
from headrace.ir.rel import Join, Node, Project, Ref, Rel, Union, prune, union
from headrace.ir.walk import swap
from headrace.planner.row_wise import is_near
from headrace.planner.view_tree import Member, Terms, terms_of


def with_joins(plan: Plan, indexes: Iterable[Index], held: Collection[str]) -> tuple[Plan, list[Index]]:
    """The plan with the Deltas of joins that it can bring up to date as steps of their own, and the joins that may be
    looked up in it: these, and those of which nothing moves. One that no delta would be looked up in is brought up to
    date only where it is held."""
    waiting = sorted((i for i in indexes if i.members), key=lambda i: (len(i.members), i.name))
    steps: list[Step] = []
    usable: list[Index] = []
    for step in plan.steps if waiting else ():
        rel, again = step.rel, True
        while again:
            again = False
            for terms in terms_of(rel):
                some = any(m.old is not None and plan.moves(m.old) for m in terms.members if m.delta is None)
                free = [i for i in waiting if i not in usable and not (some and plan.moves(i.rel))]
                able = [(i, s) for i in free if (s := _part(terms, i)) is not None]
                parts = _nested([(i, s) for i, s in able if i.name in held or any(m not in s for m in terms.moving)])
                usable += [i for i, _ in parts]
                moving = [(i, s) for i, s in parts if any(m.delta is not None for m in s)]
                if moving:
                    made, whole = _rewritten(terms, moving)
                    steps += made
                    rel = swap(rel, terms.whole, whole)
                    again = True  # what is above was made anew
                    break
        steps.append(replace(step, rel=rel))
    return (replace(plan, steps=tuple(steps)), usable) if usable else (plan, [])


def _part(terms: Terms, index: Index) -> list[Member] | None:
    """The members of a join that an index has the join of; None where it has not, or at no single version."""
    by_ids = {frozenset(a.id for a in r.attrs): r for r in index.members}
    found = [m for m in terms.members if m.ids in by_ids and m.old in (None, by_ids[m.ids])]
    moving = [m in found for m in terms.moving]
    in_order = moving == sorted(moving, reverse=True)
    have = frozenset[str]().union(*(m.ids for m in found))
    if len(found) != len(index.members) or not in_order or not isinstance(index.rel, Join):
        return None
    same = index.rel.equals == tuple(e for e in terms.equals if e.refs <= have)
    same = same and index.rel.residual == tuple(e for e in terms.residual if e.refs <= have)
    # Ranges are of one term and of all its members: what is read near them is not all that a part of them needs.
    whole = not any(is_near(r) for join in _joins(terms) for r in join.members) or not any(moving)
    return found if same and whole else None


def _nested(parts: list[tuple[Index, list[Member]]]) -> list[tuple[Index, list[Member]]]:
    """Of joins in the order of their sizes those of which each has all members of the ones before it."""
    kept: list[tuple[Index, list[Member]]] = []
    for index, members in parts:
        if not kept or (len(members) > len(kept[-1][1]) and all(m in members for m in kept[-1][1])):
            kept.append((index, members))
    return kept


def _rewritten(terms: Terms, parts: list[tuple[Index, list[Member]]]) -> tuple[list[Step], Node]:
    """Steps for the Deltas of joins, each from the one before it, and the Delta of the whole from the last."""
    steps: list[Step] = []
    before: tuple[Ref, list[Member]] | None = None
    for index, members in parts:
        rel = delta_of(terms, members, index.rel.attrs, before)
        name = f"x-{index.name}"
        steps.append(Remember(name, index, rel))
        before = (Ref(name, index.rel.attrs), members)
    columns = terms.whole.attrs
    return steps, delta_of(terms, list(terms.members), columns, before)


def delta_of(
    terms: Terms, members: Sequence[Member], columns: tuple[Attr, ...], before: tuple[Ref, list[Member]] | None
) -> Node:
    """The Delta of the join of some members: of those that are known together already as one, then of each other."""
    known = before[1] if before is not None else []
    made: list[Rel] = []
    if before is not None:
        made.append(_term(terms, before[0], [m.old for m in members if m not in known and m.old is not None]))
    ids = {m.ids for m in members}
    for join in _joins(terms):
        mover = next(m for m in terms.moving if m.delta is join.members[0])
        if mover in members and mover not in known:
            others = [r for r in join.members[1:] if frozenset(a.id for a in r.attrs) in ids]
            made.append(_term(terms, join.members[0], others))
    return union(*(prune(t, columns) for t in made))


def _joins(terms: Terms) -> list[Join]:
    whole = terms.whole
    if isinstance(whole, Join):
        return [whole]
    assert isinstance(whole, Union)
    return [b.input for b in whole.branches if isinstance(b, Project) and isinstance(b.input, Join)]


def _term(terms: Terms, first: Rel, others: list[Rel]) -> Join:
    """A join that begins with a delta and goes outwards along equalities, with the predicates it has columns for."""
    order, seen, rest = [first], {a.id for a in first.attrs}, list(others)
    while rest:
        linked = [r for r in rest if _is_linked(terms, seen, {a.id for a in r.attrs})]
        chosen = (linked or rest)[0]
        order.append(chosen)
        seen |= {a.id for a in chosen.attrs}
        rest.remove(chosen)
    ready = frozenset(a.id for a in first.attrs) if isinstance(first, Ref) else frozenset[str]()  # they hold there
    equals = tuple(e for e in terms.equals if e.refs <= seen and not (e.refs and e.refs <= ready))
    residual = tuple(e for e in terms.residual if e.refs <= seen and not (e.refs and e.refs <= ready))
    return Join(tuple(order), equals, residual)


def _is_linked(terms: Terms, seen: set[str], ids: set[str]) -> bool:
    sides = ((e.left.refs, e.right.refs) for e in terms.equals)
    return any((a and b) and ((a <= seen and b <= ids) or (b <= seen and a <= ids)) for a, b in sides)
