"""From chosen relations to the steps of a run.

What was chosen is a set of named trees that refer to each other. States are kept, what several trees use is held where
computing it again would cost more than a scan, and the rest is put where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.ir.aggregate import decimal_of
from headrace.ir.expr import Attr
from headrace.ir.plan import Keep, Kept, Pin, Publish, Step
from headrace.ir.rel import (
    Accumulate,
    Consolidate,
    Fallback,
    Group,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Meeting,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Ref,
    Rel,
    Window,
)
from headrace.ir.time import NEW
from headrace.ir.walk import nodes, rebuild, swap
from headrace.memo.props import Facts

_RANGED = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz")
_HEAVY = (Join, PairJoin, Partials, Accumulate, Window, Limit, Head, Opaque, Consolidate)


@dataclass(frozen=True)
class Parts:
    """Trees by name, to which others refer; those that are the next Segment of a state, or its new base (``anew``);
    and the result, where it is published: all of it or its change."""

    trees: Mapping[str, Rel]
    kept: Mapping[str, Kept]
    result: Rel | None
    anew: frozenset[str] = frozenset()
    replaces: bool = False
    growing: bool = False
    cluster: Attr | None = None


def steps(parts: Parts) -> tuple[Step, ...]:
    """The steps that compute, keep and publish what was chosen."""
    return tuple(_Cutting(parts).cut())


class _Cutting:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.steps: list[Step] = []
        self.emitted: set[str] = set()
        self.by_state = {kept.name: name for name, kept in parts.kept.items()}
        self.uses: Counter[str] = Counter()

    def cut(self) -> list[Step]:
        parts = self.parts
        for tree in parts.trees.values():
            self._count(tree)
        if parts.result is not None:
            self._count(parts.result)
        for name in parts.kept:
            self._step(name)
        if parts.result is not None:
            inlined = self._hold_shared(self._inline(parts.result))
            self.steps.append(Publish(inlined, replace=parts.replaces, growing=parts.growing, cluster=parts.cluster))
        return self.steps

    def _count(self, tree: Rel) -> None:
        self.uses.update(r.step for r in (tree, *(i for n in nodes(tree) for i in n.inputs)) if isinstance(r, Ref))

    def _step(self, name: str) -> Rel:
        """The relation to use for a part: its tree, or a reference to the step that computes it."""
        tree = self.parts.trees[name]
        ref = Ref(name, tree.attrs)
        if name in self.emitted:
            return ref
        kept = self.parts.kept.get(name)
        inlined = self._hold_shared(self._inline(tree))
        if kept is not None:
            self.emitted.add(name)
            anew = name in self.parts.anew
            self.steps.append(Keep(name, kept.name, inlined if anew else Consolidate(inlined), base=anew))
            return ref
        if self.uses[name] > 1 and any(isinstance(n, _HEAVY) for n in nodes(inlined)):
            self.emitted.add(name)
            self.steps.append(Pin(name, inlined))
            return ref
        return inlined

    def _hold_shared(self, rel: Rel) -> Rel:
        """Hold the keys and the changes that one tree uses twice, where computing them again would cost a join; and
        what tells whether a fallback is needed, so that it is known before the tree is computed."""
        while True:
            edges = Counter(id(i) for n in nodes(rel) for i in n.inputs)
            asked = {id(n.needed) for n in nodes(rel) if isinstance(n, Fallback)}
            for n in nodes(rel):
                shared = isinstance(n, Keys | Meeting | Partials) and edges[id(n)] > 1
                heavy = shared and any(isinstance(m, _HEAVY) for i in n.inputs for m in nodes(i))
                if heavy or (isinstance(n, Head) and edges[id(n)] > 1) or id(n) in asked:
                    name = f"h{len(self.steps)}"
                    self.steps.append(Pin(name, n))
                    rel = swap(rel, n, Ref(name, n.attrs))
                    break
            else:
                return rel

    def _inline(self, rel: Rel) -> Rel:
        for n in list(nodes(rel)):
            if isinstance(n, Load) and n.at == NEW and n.state in self.by_state:
                self._step(self.by_state[n.state])

        def change(n: Node) -> Rel:
            return n.with_inputs(tuple(self._step(i.step) if isinstance(i, Ref) else i for i in n.inputs))

        return self._step(rel.step) if isinstance(rel, Ref) else rebuild(rel, change)


def cluster(facts: Facts, root: Group) -> Attr | None:
    """The column by which files of a large result are ordered: of its key where it has one, for rows leave by key.
    Of some types a footer does not tell the range."""
    for attr in (*facts.key(root), *root.attrs):
        if attr.type in _RANGED or decimal_of(attr.type):
            return attr
    return None
