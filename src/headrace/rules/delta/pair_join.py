"""The delta of an outer, semi, anti, existence or single join with any condition.

rejoin_keys:   Δ(L op R) = (new L | K op new R | K) − (old L | K op old R | K), K the keys in ΔL and ΔR
rejoin_left:   Δ(L op R) = (ΔL op new R) + (old L ⋉ ΔR op new R) − (old L ⋉ ΔR op old R)

The first needs an equality in the condition: rows whose key is outside K meet the same rows before and
after. NULL keys count as one key here, because rows that never match must still be found. The second
needs none: every kind but the full outer join treats each left row by itself, so it is linear in L, and
a left row that meets no row of ΔR under the condition keeps its fate. It serves ``x NOT IN (…)`` with
NULLs, whose condition is ``x = y OR (x = y) IS NULL``. DESIGN §4.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Delta, Keys, Meeting, Negate, Node, PairJoin, Rel, Restrict, Snapshot, union
from headrace.ir.time import NEW, OLD, Version
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "keyed", PairJoin, families=("IM-1",))
def rejoin_keys(join: PairJoin, memo: Memo) -> Iterator[Node]:
    if not join.keys:
        return
    on = (join.left_keys, join.right_keys)
    touched = Keys((Delta(join.left, OLD, NEW), Delta(join.right, OLD, NEW)), on)

    def at(version: Version) -> Node:
        left = Restrict(Snapshot(join.left, version), on[0], touched)
        right = Restrict(Snapshot(join.right, version), on[1], touched)
        return join.with_inputs((left, right))

    yield union(at(NEW), Negate(at(OLD)))


@rule("delta", "keyed", PairJoin, families=("IM-1",))
def rejoin_left(join: PairJoin, memo: Memo) -> Iterator[Node]:
    if join.kind == "full outer":
        return
    met = Meeting(Snapshot(join.left, OLD), Delta(join.right, OLD, NEW), join.condition)

    def join_with(left: Rel, version: Version) -> Node:
        return join.with_inputs((left, Snapshot(join.right, version)))

    yield union(join_with(Delta(join.left, OLD, NEW), NEW), join_with(met, NEW), Negate(join_with(met, OLD)))
