"""An outer or existence join as what matches and what does not:

    L ⟕ R = (L ⋈ R) + (L ▷ R) × NULLs,  and a full outer join also has (R ▷ L) × NULLs
    existence(L, R) = (L ⋉ R) × true + (L ▷ R) × false

Every left row either meets a row of R under the condition or meets none, whatever the condition is, so the parts are
disjoint and their bags add up; a row of L of negative weight is in just the same part.

While L and R only grow, the first part only grows (Qᴾ, the positive part of IM-2) and is what a change of R enters
(Qᴰ, the direct part of OJV); the second is where rows are taken from when a match comes late (Qᴺ, Qᴵ). What of Q meets
no key of the change is left as it is (Qᵁ): deltas never name it.

Breaks where NULL keys are taken for a match: ``l.k = r.k`` is not true for them, so such rows are in the second part.
Tempura §4.2, Eq. 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.expr import Attr, Column, Equal, boolean, null, ref
from headrace.ir.rel import Join, Node, PairJoin, Project, Rel, prune, union
from headrace.memo.memo import Memo
from headrace.memo.tvr import DIRECT, INDIRECT, NEGATIVE, POSITIVE
from headrace.rules.rule import Link, rule


@rule("relational", "in parts", PairJoin, families=("IM-2", "OJV"))
def split_outer(join: PairJoin, memo: Memo) -> Iterator[Node | Link]:
    left, right = join.left, join.right
    unmatched = PairJoin(left, right, "left anti", join.keys, join.equi, join.condition)
    match join.kind:
        case "left outer":
            matched, rest = _pairs(join), _padded(unmatched, right.attrs, join.attrs)
        case "full outer":
            flipped = tuple((b, a) for a, b in join.keys)
            lonely = PairJoin(right, left, "left anti", flipped, join.equi, join.condition)
            matched = _pairs(join)
            rest = union(_padded(unmatched, right.attrs, join.attrs), _padded(lonely, left.attrs, join.attrs))
        case "existence":
            assert join.exists is not None
            kept = PairJoin(left, right, "left semi", join.keys, join.equi, join.condition)
            matched, rest = _flagged(kept, join.exists, True), _flagged(unmatched, join.exists, False)
        case _:
            return
    yield union(matched, rest)
    for kind, part in ((POSITIVE, matched), (DIRECT, matched), (NEGATIVE, rest), (INDIRECT, rest)):
        yield Link(kind, part)


def _pairs(join: PairJoin) -> Node:
    """The pairs that meet, in the order of the join's columns."""
    equals = tuple(Equal(ref(a), ref(b)) for a, b in join.keys)
    residual = () if join.equi or join.condition is None else (join.condition,)
    return prune(Join((join.left, join.right), equals, residual), join.left.attrs + join.right.attrs)


def _padded(rel: Rel, absent: tuple[Attr, ...], order: tuple[Attr, ...]) -> Node:
    gone = {a.id for a in absent}
    return Project(rel, tuple(Column(a, null(a.type) if a.id in gone else ref(a)) for a in order))


def _flagged(rel: Rel, flag: Attr, value: bool) -> Node:
    return Project(rel, (*(Column(a, ref(a)) for a in rel.attrs), Column(flag, boolean(value))))
