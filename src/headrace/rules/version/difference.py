"""Δop(A) = op(new A) − old op(A).

The definition of a delta: it holds for every operator and costs a recompute of this one operator from
its input's snapshot. For those that have no key (a global LIMIT or rank, a median over everything, an
operator that is not known) it is the only way. Tempura §4.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Limit, Negate, Node, Opaque, PairJoin, Partials, Snapshot, Window, union
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "recompute", Limit, Window, Opaque, PairJoin, Partials)
def recompute_operator(node: Node, memo: Memo) -> Iterator[Node]:
    now = node.with_inputs(tuple(Snapshot(i, NEW) for i in node.inputs))
    yield union(now, Negate(Snapshot(memo.find(node), OLD)))
