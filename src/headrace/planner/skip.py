"""Files that cannot match are not read: a delta's range of keys restricts what it is joined with.

    A ⋈ₐ₌ᵦ B = A ⋈ₐ₌ᵦ { b ∈ B : b.β within the range of A.α }

and so of the old rows of groups whose keys a change has. Ranges come from the footers of files, before any job; new
facts whose keys rise touch no old file. What a range leaves of a leaf must be worth it, for a leaf that is read near a
range is not looked up in memory any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Protocol

from headrace.cost.seconds import NEAR
from headrace.ir.expr import Attr
from headrace.ir.near import Near, Range
from headrace.ir.plan import Plan
from headrace.ir.rel import (
    Accumulate,
    Consolidate,
    Delta,
    Filter,
    Finish,
    Join,
    Keys,
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
    Snapshot,
    Source,
    Union,
)
from headrace.ir.walk import rebuild, swap

# Columns whose ranges in files are known for certain.
RANGED = ("tinyint", "smallint", "int", "bigint", "date")
# A leaf is read near a range where that leaves a small share of its rows, and saves at least so many.
WORTH = 5_000


class Facts(Protocol):
    """What the files of leaves tell."""

    def rows(self, leaf: Snapshot | Load) -> int:
        """All rows of a leaf."""

    def range(self, leaf: Snapshot | Delta | Load, attr: Attr) -> Range | None:
        """The values that a column of a leaf can have; None where that is not known."""

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        """The rows in files of a leaf whose values can be in all of some ranges."""


def with_skips(plan: Plan, facts: Facts, *, eager: bool = False) -> Plan:
    """The plan with leaves read near the ranges of what they are joined with, where that pays; ``eager`` wherever it
    leaves out a file. The same plan where it pays nowhere."""
    skipping = _Skipping({s.name: s.rel for s in plan.steps}, facts, eager)
    steps = [replace(step, rel=rebuild(step.rel, skipping.change)) for step in plan.steps]
    return replace(plan, steps=tuple(steps)) if skipping.found else plan


class _Skipping:
    def __init__(self, steps: Mapping[str, Rel], facts: Facts, eager: bool) -> None:
        self.steps = steps
        self.facts = facts
        self.eager = eager
        self.found = False
        self._known: dict[tuple[int, str], tuple[Rel, Range | None]] = {}
        self._limited: dict[int, tuple[Rel, dict[str, Range]]] = {}

    def change(self, node: Node) -> Rel:
        match node:
            case Join(members=members):
                limits = self._limits(node)
                near = [self._read_near(m, {a: limits[a.id] for a in m.attrs if a.id in limits}) for m in members]
                return replace(node, members=tuple(near))
            case Restrict(input=below, on=on, keys=Keys() as keys):
                within = {a: r for place, a in enumerate(on) if (r := self._keys(keys, place)) is not None}
                return replace(node, input=self._read_near(below, within))
        return node

    def _limits(self, join: Join) -> dict[str, Range]:
        """What equalities leave of the values of columns: those that are equal, by way of others too, have only values
        that all of them have. NULL is none of them, unless every equality is null-safe."""
        of = {a.id: m for m in join.members for a in m.attrs}
        equal: dict[str, frozenset[str]] = {}
        strict: set[str] = set()
        for e in join.equals:
            if e.left.kind == e.right.kind == "ref" and e.left.type == e.right.type:
                ids = e.left.refs | e.right.refs
                together = ids.union(*(equal.get(i, ids) for i in ids))
                equal |= dict.fromkeys(together, together)
                strict |= frozenset() if e.null_safe else together
        found: dict[str, Range] = {}
        for id_, together in equal.items():
            known = [r for i in sorted(together) if i in of and (r := self._range(of[i], i)) is not None]
            if known:
                within = reduce(Range.met, known)
                found[id_] = within.without_nulls() if together & strict else within
        return found

    def _read_near(self, rel: Rel, limits: Mapping[Attr, Range]) -> Rel:
        """A chain of row-wise operators over a leaf, with the leaf near the limits of its columns."""
        leaf = rel
        names = {a.id: r for a, r in limits.items() if a.type in RANGED}
        while names and isinstance(leaf, Project | Filter | Finish):
            if isinstance(leaf, Project):
                plain = {c.attr.id: next(iter(c.expr.refs)) for c in leaf.columns if c.plain}
                names = {plain[i]: r for i, r in names.items() if i in plain}
            elif isinstance(leaf, Finish):
                keys = {k.id for k in leaf.keys}
                names = {i: r for i, r in names.items() if i in keys}
            leaf = leaf.input
        is_leaf = isinstance(leaf, Load) or (isinstance(leaf, Snapshot) and isinstance(leaf.of, Source))
        if not is_leaf:
            return rel
        assert isinstance(leaf, Snapshot | Load)
        within = tuple((a, names[a.id]) for a in leaf.attrs if a.id in names)
        if not within or not self._pays(leaf, within):
            return rel
        self.found = True
        return swap(rel, leaf, Near(leaf, within))

    def _pays(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> bool:
        rows, near = self.facts.rows(leaf), self.facts.part(leaf, within)
        return near < rows if self.eager else near <= NEAR * rows and rows - near >= WORTH

    def _keys(self, keys: Keys, place: int) -> Range | None:
        """The range of one column of a set of keys."""
        ranges = [self._range(member, on[place].id) for member, on in zip(keys.members, keys.on, strict=True)]
        known = [r for r in ranges if r is not None]
        return reduce(Range.joined, known) if known and len(known) == len(ranges) else None

    def _range(self, rel: Rel, id_: str) -> Range | None:
        """The values that a column of a relation can have, rows of any weight."""
        key = (id(rel), id_)
        if key not in self._known:
            self._known[key] = (rel, self._derived(rel, id_))
        return self._known[key][1]

    def _derived(self, rel: Rel, id_: str) -> Range | None:
        attr = next((a for a in rel.attrs if a.id == id_), None)
        if attr is None or attr.type not in RANGED:
            return None
        match rel:
            case Ref(step=step):
                return self._range(self.steps[step], id_)
            case Snapshot(of=Source()) | Delta(of=Source()) | Load():
                return self.facts.range(rel, attr)
            case Near(input=below) | Filter(input=below) | Consolidate(input=below) | Measured(input=below):
                return self._range(below, id_)
            case Negate(input=below) | Restrict(input=below) | Meeting(input=below):
                return self._range(below, id_)
            case Project(input=below, columns=columns):
                column = next(c for c in columns if c.attr.id == id_)
                return self._range(below, next(iter(column.expr.refs))) if column.plain else None
            case (
                Partials(input=below, keys=keys) | Finish(input=below, keys=keys) | Accumulate(change=below, keys=keys)
            ):
                return self._range(below, id_) if any(k.id == id_ for k in keys) else None
            case Join(members=members):
                if id(rel) not in self._limited:
                    self._limited[id(rel)] = (rel, self._limits(rel))
                limits = self._limited[id(rel)][1]
                return limits.get(id_) or self._range(
                    next(m for m in members if any(a.id == id_ for a in m.attrs)), id_
                )
            case Union(branches=branches, orders=orders, columns=columns):
                place = next(i for i, a in enumerate(columns) if a.id == id_)
                ranges = [self._range(b, order[place].id) for b, order in zip(branches, orders, strict=True)]
                known = [r for r in ranges if r is not None]
                return reduce(Range.joined, known) if known and len(known) == len(ranges) else None
            case PairJoin(left=left, right=right):
                side = left if any(a.id == id_ for a in left.attrs) else right
                one = self._range(side, id_)
                return None if one is None else replace(one, nulls=True)  # an outer join gives NULLs
        return None
