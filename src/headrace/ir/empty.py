"""What is left of a tree of deltas once some of its leaves turn out to have no rows.

Whatever multiplies by nothing is nothing; sums do without it. A partial state, and an aggregate without keys, has a row
over no rows; the change that nothing makes in a partial state is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.ir.near import Near
from headrace.ir.probe import AccumulateFound, Lookup, Missing, Probe
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Consolidate,
    Delta,
    EvalPython,
    Expand,
    Fallback,
    Filter,
    Finish,
    Generate,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Measured,
    Meeting,
    Negate,
    Node,
    PairJoin,
    Partials,
    Project,
    Ref,
    Rel,
    Restrict,
    Shortfall,
    Snapshot,
    Union,
    Window,
)
from headrace.ir.walk import nodes

_LEAVES = (Snapshot, Delta, Load, Near)
# Without rows in any of their inputs they have none.
_PRODUCTS = (
    AccumulateFound,
    Consolidate,
    EvalPython,
    Expand,
    Fallback,
    Filter,
    Finish,
    Generate,
    Join,
    Limit,
    Lookup,
    Measured,
    Meeting,
    Missing,
    Negate,
    Probe,
    Project,
    Restrict,
    Shortfall,
    Window,
)


def without_empty(rel: Rel, empty: Callable[[Rel], bool]) -> tuple[Rel | None, frozenset[int]]:
    """The tree without what has no rows, None where nothing is left; and the Tvrs that are counted in it whose changes
    are none. ``empty`` tells of a leaf whether it has no rows."""
    done: dict[int, Rel | None] = {}
    none: set[int] = set()

    def visit(r: Rel) -> Rel | None:
        if id(r) not in done:
            if isinstance(r, Node) and not isinstance(r, _LEAVES):
                done[id(r)] = _left(r, tuple(visit(i) for i in r.inputs))
                if isinstance(r, Measured) and done[id(r)] is None:
                    none.add(r.tvr)
            else:
                done[id(r)] = None if empty(r) else r
        return done[id(r)]

    return visit(rel), frozenset(none)


def without_fallbacks(rel: Rel, empty: Callable[[Ref], bool] = lambda _: True) -> Rel | None:
    """The tree without its fallbacks that are not needed, None where nothing is left. ``empty`` tells of an earlier
    step, by which one may be needed, whether it has no rows."""
    asked = {n.needed for n in nodes(rel) if isinstance(n, Fallback)}
    return without_empty(rel, lambda leaf: isinstance(leaf, Ref) and leaf in asked and empty(leaf))[0]


def _left(node: Node, inputs: tuple[Rel | None, ...]) -> Rel | None:
    """A node whose inputs are these, None for those without rows; None where it has none itself."""
    there = [place for place, i in enumerate(inputs) if i is not None]
    if len(there) < len(inputs):
        match node:
            case Union():
                orders = tuple(node.orders[p] for p in there)
                branches = tuple(i for i in inputs if i is not None)
                return replace(node, branches=branches, orders=orders) if there else None
            case Keys():
                members = tuple(i for i in inputs if i is not None)
                return replace(node, members=members, on=tuple(node.on[p] for p in there)) if there else None
            case Partials(keys=keys, change=change) if keys or change:
                return None
            case Aggregate(keys=keys) if keys:
                return None
            case Accumulate() | Head() if inputs[1] is None:
                return None
            case PairJoin(kind="full outer") if not there:
                return None
            case PairJoin(kind=kind) if kind != "full outer" and (inputs[0] is None or kind == "left semi"):
                return None
            case PairJoin(kind="left anti"):
                return inputs[0]
        if isinstance(node, _PRODUCTS):
            return None
    # Where a node has rows without those of an input, that input stays as it is.
    kept = tuple(old if new is None else new for new, old in zip(inputs, node.inputs, strict=True))
    same = all(a is b for a, b in zip(kept, node.inputs, strict=True))
    return node if same else node.with_inputs(kept)
