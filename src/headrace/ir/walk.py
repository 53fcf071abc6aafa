"""Walking trees of relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.ir.near import Near
from headrace.ir.rel import Delta, Load, Node, Rel, Snapshot, Source


def nodes(rel: Rel) -> Iterator[Node]:
    """Every node of a tree once, inputs before the nodes that use them."""
    seen: set[int] = set()
    order: list[Node] = []

    def visit(r: Rel) -> None:
        if isinstance(r, Node) and id(r) not in seen:
            seen.add(id(r))
            for i in r.inputs:
                visit(i)
            order.append(r)

    visit(rel)
    return iter(order)


def leaves(rel: Rel) -> list[Rel]:
    """What a tree over snapshots, deltas, states, parts of them and steps reads: each of these once."""
    found: dict[int, Rel] = {}
    seen: set[int] = set()

    def visit(r: Rel) -> None:
        if id(r) in seen:
            return
        seen.add(id(r))
        if not isinstance(r, Node) or isinstance(r, Snapshot | Delta | Load | Near):
            found[id(r)] = r
        else:
            for i in r.inputs:
                visit(i)

    visit(rel)
    return list(found.values())


def rebuild(rel: Rel, change: Callable[[Node], Rel]) -> Rel:
    """The tree with ``change`` applied to every node, bottom up; what is shared stays shared."""
    done: dict[int, Rel] = {}

    def visit(r: Rel) -> Rel:
        if not isinstance(r, Node):
            return r
        if id(r) not in done:
            inputs = tuple(visit(i) for i in r.inputs)
            same = all(a is b for a, b in zip(inputs, r.inputs, strict=True))
            done[id(r)] = change(r if same else r.with_inputs(inputs))
        return done[id(r)]

    return visit(rel)


def swap(rel: Rel, target: Rel, other: Rel) -> Rel:
    """The tree with one node, wherever it occurs, replaced by another relation."""
    done: dict[int, Rel] = {id(target): other}

    def visit(r: Rel) -> Rel:
        if not isinstance(r, Node):
            return r
        if id(r) not in done:
            inputs = tuple(visit(i) for i in r.inputs)
            same = all(a is b for a, b in zip(inputs, r.inputs, strict=True))
            done[id(r)] = r if same else r.with_inputs(inputs)
        return done[id(r)]

    return visit(rel)


def sources(rel: Rel) -> frozenset[str]:
    return frozenset(n.name for n in nodes(rel) if isinstance(n, Source))
