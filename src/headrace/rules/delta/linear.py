"""Δ op(A) = op(ΔA) for Filter, Project, Union, Expand, Generate, Python functions and Finish.

Each maps a row to rows without looking at any other, so op(A + ΔA) = op(A) + op(ΔA), and a row of
weight −1 gives its images with weight −1. DISTINCT is not among them: ``SELECT DISTINCT x`` loses a row
only when the last of its equals leaves, which is why Finish without calls is consolidated: of a group
whose count moved from 3 to 2 nothing must remain.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import (
    Consolidate,
    Delta,
    EvalPython,
    Expand,
    Filter,
    Finish,
    Generate,
    Negate,
    Node,
    Project,
    Union,
)
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "linear", Project, Filter, Union, Expand, Generate, EvalPython, Negate, Finish)
def pass_delta(node: Node, memo: Memo) -> Iterator[Node]:
    passed = node.with_inputs(tuple(Delta(i, OLD, NEW) for i in node.inputs))
    yield Consolidate(passed) if isinstance(node, Finish) and not node.calls else passed
