"""Δ(A₁ ⋈ … ⋈ Aₙ) = Σᵢ new A₁ ⋈ … ⋈ new Aᵢ₋₁ ⋈ ΔAᵢ ⋈ old Aᵢ₊₁ ⋈ … ⋈ old Aₙ.

The inputs move one after another, and the terms telescope; weights multiply, so a deleted row takes its
pairs with it. Each term is joined outwards from its delta along the predicates.

A naive version takes new (or old) for all others and counts ΔA₁ ⋈ ΔA₂ twice (or never), which shows as
soon as a sale and its return arrive in one batch. Tempura §4.1, DESIGN §4.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Delta, Join, Node, Project, Rel, Snapshot, prune, union
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "bilinear", Join)
def telescope_join(join: Join, memo: Memo) -> Iterator[Node]:
    terms = [term(join, moving) for moving in range(len(join.members))]
    yield union(*terms) if len(terms) > 1 else terms[0].input  # type: ignore[misc]


def term(join: Join, moving: int) -> Project:
    """What the change of one member gives, when those before it have moved and those after it have not."""
    members: list[Rel] = [
        Delta(m, OLD, NEW) if i == moving else Snapshot(m, NEW if i < moving else OLD)
        for i, m in enumerate(join.members)
    ]
    return prune(Join(tuple(members[i] for i in outwards(join, moving)), join.equals, join.residual), join.attrs)


def outwards(join: Join, start: int) -> list[int]:
    """The members from ``start`` on, each joined by an equality to those before it where there is one."""
    ids = [{a.id for a in m.attrs} for m in join.members]
    order, seen = [start], set(ids[start])
    rest = [i for i in range(len(ids)) if i != start]
    while rest:
        best = max(rest, key=lambda i: (_links(join, seen, ids[i]), -i))
        order.append(best)
        seen |= ids[best]
        rest.remove(best)
    return order


def _links(join: Join, seen: set[str], member: set[str]) -> int:
    """2 for an equality that this member closes, 1 for another predicate, 0 for none."""
    have = seen | member
    if any(_bridges(e.left.refs, e.right.refs, seen, member) for e in join.equals):
        return 2
    return int(any(p.refs <= have and p.refs & seen and p.refs & member for p in join.residual))


def _bridges(left: frozenset[str], right: frozenset[str], seen: set[str], member: set[str]) -> bool:
    return bool(left and right) and ((left <= seen and right <= member) or (right <= seen and left <= member))
