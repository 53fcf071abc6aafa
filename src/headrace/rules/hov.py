"""HOV: for the changes of one member of a join, the join of all others is a view that may be kept.

split_member:    A₁ ⋈ … ⋈ Aₙ = Aᵢ ⋈ Mᵢ,  Mᵢ = the join of all but Aᵢ
join_views:      Δ(A₁ ⋈ … ⋈ Aₙ) = Σᵢ ΔAᵢ ⋈ Mᵢ at the version in which the members before i have moved

The first is that inner joins may be taken in any order. Its delta, by telescoping over two members, needs the old Mᵢ
for the changes of Aᵢ and the change of Mᵢ for all others. The second is the telescoping of all n members with each
term's other members taken together: every change is joined with one view. A view at a version between two runs is its
old rows and what the members that have moved change in them.

Breaks for the second where two members read one source, of which one term needs the old rows and the new ones; there
the version is no function of sources, and the rule yields nothing. Only views whose members equalities connect are
made, for others are products: the changes of a fact table go outwards to its dimensions one by one. Tempura §4.2 and
its technical report; Ahmad et al., DBToaster.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Delta, Join, Node, Rel, Snapshot, prune, union
from headrace.ir.time import NEW, OLD, Version
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.memo.tvr import HIGHER_ORDER
from headrace.rules.delta.join import term
from headrace.rules.rule import Link, rule

_FAMILIES = ("HOV",)
_SERVES = f"{HIGHER_ORDER} of"
_LEAVES = ("split_member", "push_aggregate/")
MOST_MEMBERS = 10  # members of a join of which views are made: n views have n² terms of n members each in their deltas


@rule("relational", "higher-order view", Join, families=_FAMILIES, leaves=_LEAVES)
def split_member(join: Join, memo: Memo) -> Iterator[Node | Link]:
    # A view is not split again: all subsets of ten members would be a thousand views.
    if not 3 <= len(join.members) <= MOST_MEMBERS or memo.linked(memo.find(join), _SERVES):
        return
    for place in range(len(join.members)):
        view = without(join, place)
        if view is not None:
            yield Link(HIGHER_ORDER, view)
            yield _apart(join, place, view)


@rule("delta", "higher-order view", Join, families=_FAMILIES, leaves=_LEAVES)
def join_views(join: Join, memo: Memo) -> Iterator[Node]:
    views = [without(join, place) for place in range(len(join.members))]
    read = [Facts(memo).sources(m) for m in join.members]
    if not 3 <= len(views) <= MOST_MEMBERS or not any(views) or memo.linked(memo.find(join), _SERVES):
        return
    if sum(map(len, read)) > len(frozenset().union(*read)):
        return
    terms: list[Rel] = []
    for place, view in enumerate(views):
        if view is None:
            terms.append(term(join, place))
            continue
        at = Version(frozenset().union(*read[:place])) if place < len(views) - 1 else NEW
        apart = _apart(join, place, Snapshot(memo.add(view), at))
        members = (Delta(join.members[place], OLD, NEW), *apart.members[1:])
        terms.append(prune(Join(members, apart.equals, apart.residual), join.attrs))
    yield union(*terms)


def without(join: Join, place: int) -> Join | None:
    """The join of all members but one; None where that would be a product."""
    rest = tuple(m for i, m in enumerate(join.members) if i != place)
    ids = [{a.id for a in m.attrs} for m in rest]
    have = set().union(*ids)
    equals = tuple(e for e in join.equals if e.refs <= have)
    reached, left = set(ids[0]), list(ids[1:])
    while left:
        near = next((m for m in left if any(e.refs & m and e.refs & reached for e in equals)), None)
        if near is None:
            return None
        reached |= near
        left.remove(near)
    return Join(rest, equals, tuple(e for e in join.residual if e.refs <= have))


def _apart(join: Join, place: int, view: Rel) -> Join:
    """One member joined with all others, by the predicates that are not inside of these."""
    inside = {a.id for a in view.attrs}
    equals = tuple(e for e in join.equals if not e.refs <= inside)
    return Join((join.members[place], view), equals, tuple(e for e in join.residual if not e.refs <= inside))
