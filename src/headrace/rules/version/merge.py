"""new T = old T + ΔT.

The definition of a delta, read the other way: weights add up (``+#``). What was kept and its change give the newest
rows without computing them anew. Only a snapshot and the delta right after it are merged, in that order: other orders
give the same rows at the same price (Tempura §5.3, guided exploration). For a partial state too: its delta holds the
rows that ``+γ`` replaces with weight −1.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Accumulate, Constant, Delta, Keys, Node, Restrict, Snapshot, Source, union
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("snapshot", "merge", Node)
def merge_delta(node: Node, memo: Memo) -> Iterator[Node]:
    if not isinstance(node, Source | Constant | Accumulate | Restrict | Keys):
        group = memo.find(node)
        yield union(Snapshot(group, OLD), Delta(group, OLD, NEW))
