"""ΔW[k](A) = W[k](new A | K) − (W[k](old A) | K), K the partitions that occur in ΔA.

A window function looks only at the rows of its partition, so partitions outside K are the same before
and after. The old side is what was kept when it was published: with ties in its order, or sums of
floats, a window computed again need not give the same rows. DESIGN §4.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Delta, Keys, Negate, Node, Restrict, Snapshot, Window, union
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "keyed", Window)
def redo_partitions(window: Window, memo: Memo) -> Iterator[Node]:
    if not window.partition:
        return
    touched = Keys((Delta(window.input, OLD, NEW),), (window.partition,))
    now = window.with_inputs((Restrict(Snapshot(window.input, NEW), window.partition, touched),))
    yield union(now, Negate(Restrict(Snapshot(memo.find(window), OLD), window.partition, touched)))
