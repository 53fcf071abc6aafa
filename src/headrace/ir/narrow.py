"""Sources with just the columns that a query uses.

The optimiser of the engine prunes columns above a source, not in it. A narrow source costs less wherever
its rows are named, renamed, consolidated or compared.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from headrace.ir.aggregate import Call
from headrace.ir.expr import Attr, Column, Equal, Expr, SortKey
from headrace.ir.rel import EvalPython, Generate, Limit, Node, Opaque, Project, Source, Window
from headrace.ir.walk import nodes

# They look at all columns of their input, or at some that only the engine knows.
_WHOLE = (Generate, EvalPython, Window, Limit, Opaque)


def narrow(root: Node) -> Node:
    """The same query over sources that have only what it uses, but at least one column each. Projections that only
    drop, order or rename columns use what is used of theirs."""
    used = {a.id for a in root.attrs}
    for node in reversed(list(nodes(root))):  # what is above comes first
        if isinstance(node, Project) and node.plain:
            used |= {i for c in _kept(node, used) for i in c.expr.refs}
        elif not isinstance(node, Source):
            used |= mentioned(node)
    done: dict[int, Node] = {}

    def visit(node: Node) -> Node:
        if id(node) not in done:
            if isinstance(node, Source):
                kept = [i for i, a in enumerate(node.columns) if a.id in used] or [0]
                made: Node = Source(
                    node.name, tuple(node.columns[i] for i in kept), tuple(node.fields[i] for i in kept)
                )
            elif isinstance(node, Project) and node.plain:
                made = Project(visit(node.input), _kept(node, used))  # type: ignore[arg-type]
            else:
                made = node.with_inputs(tuple(visit(i) for i in node.inputs))  # type: ignore[arg-type]
            done[id(node)] = made
        return done[id(node)]

    return visit(root)


def _kept(project: Project, used: set[str]) -> tuple[Column, ...]:
    return tuple(c for c in project.columns if c.attr.id in used) or project.columns[:1]


def mentioned(node: Node) -> set[str]:
    """The columns of its inputs that an operator looks at."""
    if isinstance(node, _WHOLE):
        return {a.id for i in node.inputs for a in i.attrs}
    found: set[str] = set()
    for f in fields(node):
        found |= _in_value(getattr(node, f.name))
    return found


def _in_value(value: Any) -> set[str]:
    match value:
        case Attr(id=i):
            return {i}
        case Expr(refs=refs) | Equal(refs=refs):
            return set(refs)
        case Column(expr=e) | SortKey(expr=e):
            return set(e.refs)
        case Call():
            return set().union(*(e.refs for e in value.args), value.filter.refs if value.filter else ())
        case tuple():
            return set().union(*map(_in_value, value))
    return set()
