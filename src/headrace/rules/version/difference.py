"""The definition of a delta, which holds for every operator:

recompute_operator:    Δop(A) = op(new A) − old op(A)
take_difference:       ΔT = new T − old T

The first costs a recompute of this one operator from its input's snapshot. For those that have no key (a LIMIT with
OFFSET, a global rank, a median over everything, an operator that is not known) it is the only way. The second leaves
open how the new rows are had, down to the sources: it makes computing anew one of the choices, for every part of a
query.

Breaks where the old side is computed again and not read from what was kept, for an operator that need not give the
same rows twice (a sum of doubles in another order): what is taken back is not what was published. Tempura §4.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import (
    Accumulate,
    Constant,
    EvalPython,
    Expand,
    Filter,
    Finish,
    Generate,
    Keys,
    Limit,
    Negate,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Project,
    Restrict,
    Snapshot,
    Source,
    Union,
    Window,
    union,
)
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import ANY, rule

_LINEAR = (Project, Filter, Union, Expand, Generate, EvalPython, Negate, Finish)


@rule("delta", "recompute", Limit, Window, Opaque, PairJoin, Partials)
def recompute_operator(node: Node, memo: Memo) -> Iterator[Node]:
    now = node.with_inputs(tuple(Snapshot(i, NEW) for i in node.inputs))
    yield union(now, Negate(Snapshot(memo.find(node), OLD)))


@rule("delta", "recompute", Node, families=(ANY,), priority=30, spare=_LINEAR)
def take_difference(node: Node, memo: Memo) -> Iterator[Node]:
    if not isinstance(node, Source | Constant | Accumulate | Restrict | Keys):
        group = memo.find(node)
        yield union(Snapshot(group, NEW), Negate(Snapshot(group, OLD)))
