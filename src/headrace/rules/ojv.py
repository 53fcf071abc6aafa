"""OJV: the change of the indirect part of an outer join from its last rows, one input after the other.

refate_met:      Δ(L op R) = (ΔL op new R) + (old L ⋉ ΔR) op new R − old (L op R) ⋉ ΔR       for op a semi or anti join
lose_matched:    Δ(L ▷ R) = (ΔL ▷ new R) − old (L ▷ R) ⋉ ΔR                                  while R only grows

First R moves, then L, with a virtual point between them. A left row that meets no row of ΔR under the condition keeps
its fate; for one that does, its last fate is read from what was kept, and its new one is found by joining it anew. In
the second, whatever meets a new row of R has a match now: nothing is joined anew, and a lookup in the old rows is all.
Each term is linear in L, so rows of L of negative weight are treated alike.

Breaks when ⋉ takes NULL for equal to NULL: a left row without a key is not matched by a new row of R without one. And
the second breaks as soon as R loses a row: ``l`` whose last match leaves comes back. Tempura §4.2, Eq. 4; the rows of
Q that no ⋉ meets are Qᵁ.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Delta, Meeting, Negate, Node, PairJoin, Provided, Rel, Snapshot, union
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "outer-join parts", PairJoin, families=("OJV",))
def lose_matched(join: PairJoin, memo: Memo) -> Iterator[Node]:
    if join.kind == "left anti":
        before = Meeting(Snapshot(memo.find(join), OLD), Delta(join.right, OLD, NEW), join.condition)
        yield Provided(union(_joined(join, Delta(join.left, OLD, NEW)), Negate(before)), join.right)


@rule("delta", "outer-join parts", PairJoin, families=("OJV",))
def refate_met(join: PairJoin, memo: Memo) -> Iterator[Node]:
    if join.kind in ("left anti", "left semi"):
        moved = Delta(join.right, OLD, NEW)
        before = Meeting(Snapshot(memo.find(join), OLD), moved, join.condition)
        again = _joined(join, Meeting(Snapshot(join.left, OLD), moved, join.condition))
        yield union(_joined(join, Delta(join.left, OLD, NEW)), again, Negate(before))


def _joined(join: PairJoin, left: Rel) -> Node:
    return join.with_inputs((left, Snapshot(join.right, NEW)))
