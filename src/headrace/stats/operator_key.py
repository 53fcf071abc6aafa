"""Names of operators by what they do, under which later runs find what earlier ones have learned."""

from __future__ import annotations

import hashlib

from headrace.ir.rel import Aggregate, Group, Node, Partials


def operator_key(node: Node) -> str:
    """The same in every process, wherever the inputs come from and in whatever order a join goes. An aggregate and its
    partial state have one, for they have the same groups."""
    if isinstance(node, Aggregate | Partials):
        text = f"{[k.id for k in node.keys]} {[(c.function, c.args, c.distinct, c.filter) for c in node.calls]}"
    else:
        text = repr(node.with_inputs(tuple(Group(0, i.attrs) for i in node.inputs)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class OperatorKeys:
    """Keys that are remembered: a plan is used in many runs."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, str]] = {}

    def of(self, node: Node) -> str:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, operator_key(node))  # the node itself keeps its id from others
        return known[1]
