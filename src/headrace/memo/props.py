"""Facts about Tvrs that make plans cheaper: their sources, whether they only grow, their keys.

A fact of a group follows from any one of its members, for all members hold the same rows. The first
member is the one the query has, and is asked.
"""

from __future__ import annotations

from headrace.ir.aggregate import Call, floating
from headrace.ir.expr import Attr
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Constant,
    EvalPython,
    Expand,
    Filter,
    Finish,
    Generate,
    Group,
    Join,
    Limit,
    Negate,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Project,
    Rel,
    Source,
    Union,
    Window,
)
from headrace.ir.time import Situation
from headrace.memo.memo import Memo


class Facts:
    """Facts of one memo, in one situation where they depend on it."""

    def __init__(self, memo: Memo, situation: Situation | None = None) -> None:
        self.memo = memo
        self.situation = situation
        self._sources: dict[int, frozenset[str]] = {}
        self._growing: dict[int, bool] = {}
        self._repeatable: dict[int, bool] = {}

    def sources(self, rel: Rel) -> frozenset[str]:
        group = self.memo.find(rel)
        if group.id not in self._sources:
            node = self._first(group)
            own = frozenset({node.name}) if isinstance(node, Source) else frozenset[str]()
            self._sources[group.id] = own.union(*(self.sources(i) for i in node.inputs))
        return self._sources[group.id]

    def empty_delta(self, rel: Rel) -> bool:
        """Whether nothing that the Tvr reads has moved."""
        return self.situation is not None and not self.sources(rel) & self.situation.moved

    def growing(self, rel: Rel) -> bool:
        """Whether the delta of the Tvr, weights added up, holds inserts alone."""
        group = self.memo.find(rel)
        if group.id not in self._growing:
            self._growing[group.id] = self.empty_delta(group) or self._grows(self._first(group))
        return self._growing[group.id]

    def repeatable(self, rel: Rel) -> bool:
        """Whether computing the Tvr again must give the same rows to the last bit. Sums of floats in another order do
        not, nor what looks at rows in an order that nothing settles, nor what is not known."""
        group = self.memo.find(rel)
        if group.id not in self._repeatable:
            node = self._first(group)
            own = not isinstance(node, Window | Limit | Opaque)
            if isinstance(node, Aggregate | Partials | Finish | Accumulate):
                own = all(_exact(c) for c in node.calls)
            self._repeatable[group.id] = own and all(self.repeatable(i) for i in node.inputs)
        return self._repeatable[group.id]

    def signed(self, rel: Rel) -> bool:
        """Whether the rows of the Tvr may have negative weights: something that is there to be taken away. A union that
        takes away gives what is left."""
        node = self._first(self.memo.find(rel))
        if isinstance(node, Project | Filter | Expand | Generate | EvalPython | Join):
            return any(self.signed(i) for i in node.inputs)
        return isinstance(node, Negate)

    def unique_on(self, rel: Rel, attrs: frozenset[str]) -> bool:
        """Whether no two rows of the Tvr agree in these attributes."""
        node = self._first(self.memo.find(rel))
        match node:
            case Aggregate(keys=keys) | Partials(keys=keys) | Finish(keys=keys):
                return {k.id for k in keys} <= attrs
            case Filter(input=below):
                return self.unique_on(below, attrs)
            case Project(input=below, columns=columns):
                passed = {next(iter(c.expr.refs)) for c in columns if c.plain and c.attr.id in attrs}
                return self.unique_on(below, frozenset(passed))
        return False

    def key(self, rel: Rel) -> tuple[Attr, ...]:
        """Attributes that no two rows of the Tvr have in common, where some are known."""
        node = self._first(self.memo.find(rel))
        match node:
            case Aggregate(keys=keys) | Partials(keys=keys) | Finish(keys=keys):
                return keys
            case Filter(input=below):
                return self.key(below)
            case Project(input=below, columns=columns):
                passed = {next(iter(c.expr.refs)): c.attr for c in columns if c.plain}
                key = self.key(below)
                return tuple(passed[k.id] for k in key) if all(k.id in passed for k in key) else ()
        return ()

    def _first(self, group: Group) -> Node:
        return self.memo.nodes(group)[0]

    def _grows(self, node: Node) -> bool:
        match node:
            case Source(name=name):
                return self.situation is not None and name not in self.situation.shrinking
            case Constant():
                return True
            case Project() | Filter() | Union() | Expand() | Generate() | EvalPython() | Join():
                return all(self.growing(i) for i in node.inputs)
            case Aggregate(calls=()) | Finish(calls=()):
                return all(self.growing(i) for i in node.inputs)
            case PairJoin(kind="left semi"):
                return self.growing(node.left) and self.growing(node.right)
            case PairJoin(kind=kind) if kind != "full outer":
                return self.empty_delta(node.right) and self.growing(node.left)
        return False


def _exact(call: Call) -> bool:
    """Whether a call gives the same value for the same rows in any order."""
    if call.function in ("count", "min", "max"):
        return True
    return call.function in ("sum", "avg") and not any(floating(e.type) for e in call.args)
