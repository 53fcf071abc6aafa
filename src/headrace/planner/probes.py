"""Probes in the place of scans: which indexes the steps of a plan could use, and the steps that use some of them.

A term of a join's delta begins with the delta and goes outwards. A member that is read row by row from a source or
a state, and that an equality links to those before it, can be looked up by that key: the term then costs what its
delta costs. So can the old rows of touched groups. Of several that are linked, the one that is expected to give the
fewest rows for each is next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from headrace.ir.expr import Attr, Equal, Expr
from headrace.ir.near import Near
from headrace.ir.plan import Pin, Plan, Step
from headrace.ir.probe import AccumulateFound, Index, Lookup, Probe, probed
from headrace.ir.rel import (
    Accumulate,
    Filter,
    Finish,
    Join,
    Keys,
    Load,
    Node,
    Project,
    Ref,
    Rel,
    Restrict,
    Snapshot,
    Source,
    prune,
)
from headrace.ir.time import OLD, Version
from headrace.ir.walk import leaves, nodes, rebuild
from headrace.planner.budget import Item, best

_ROW_WISE = (Project, Filter, Finish)
# Types whose equal values have equal bytes. Of floats -0.0 and 0.0 are equal, of collated strings many.
_EXACT = ("boolean", "tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "binary")


# Rows that are indexed at once: scanning them costs as much.
FEW = 50_000
# Beginning a scan, and handing its rows to others, costs as much as looking so many rows up.
_SCAN = 500_000


@dataclass(frozen=True)
class Option:
    """An index that a plan could use: the rows it is made from, the bytes it takes or would take, how often the plan
    would scan those rows without it, whether it is there, and whether an earlier run would have used it."""

    index: Index
    rows: int
    bytes: int
    uses: int
    there: bool
    wanted: bool


def choose(options: Iterable[Option], delta_rows: int, budget: int, *, eager: bool = False) -> frozenset[str]:
    """The indexes to use: those that save most scanning within a budget. Building one costs about as much as the scan
    it saves, so a large one is built when it is asked for a second time: whatever the future, that is never much worse
    than the better of the two."""
    worth = [o for o in options if eager or ((o.there or o.wanted or o.rows <= FEW) and delta_rows <= o.rows + _SCAN)]
    return best([Item(o.index.name, o.bytes, float(o.uses * (o.rows + _SCAN))) for o in worth], budget)


class Sizes(Protocol):
    """What is known of the rows that a plan reads."""

    def rows(self, leaf: Snapshot | Load) -> int:
        """The rows of a source or a state."""

    def found(self, index: Index) -> float | None:
        """How many rows an index gives, or would give, for a key; None where that is not known."""


def candidates(plan: Plan, sizes: Sizes) -> dict[Index, int]:
    """Every index that a plan could use, and how often."""
    rewriting = _Rewriting(sizes, None)
    return dict(Counter(index for step in plan.steps for index in probed(rewriting.rewritten(step.rel))))


def with_probes(plan: Plan, sizes: Sizes, chosen: Collection[str]) -> Plan:
    """The same plan with these of its candidates probed."""
    rewriting = _Rewriting(sizes, frozenset(chosen))
    return replace(plan, steps=_unpinned([replace(s, rel=rewriting.rewritten(s.rel)) for s in plan.steps]))


class _Rewriting:
    """Trees with probes of the indexes in ``names``, or of all that are possible."""

    def __init__(self, sizes: Sizes, names: frozenset[str] | None) -> None:
        self.sizes = sizes
        self.names = names

    def rewritten(self, rel: Rel) -> Rel:
        return rebuild(rel, self._change)

    def _change(self, node: Node) -> Rel:
        if isinstance(node, Join):
            return self._probing(node)
        if isinstance(node, Restrict):
            index = _index(node.input, node.on)
            if index is not None and (self.names is None or index.name in self.names):
                return prune(Lookup(node.keys, index, _version(node.input) or OLD), node.attrs)
        if isinstance(node, Accumulate):
            found = _looked_up(node)
            return node if found is None else AccumulateFound(node.change, found, node.keys, node.calls)
        return node

    def _probing(self, join: Join) -> Rel:
        """A join whose members, from the second on, are looked up where they can be, and joined in that order. What is
        left of its predicates is applied as soon as its columns are there."""
        current: Rel = join.members[0]
        if _version(current) is not None:
            return join  # it does not begin with a delta
        equals, residual = list(join.equals), list(join.residual)
        rows = {a.id: self._rows(m) for m in join.members for a in m.attrs}
        rest, probed = list(join.members[1:]), False
        while rest:
            seen = {a.id for a in current.attrs}
            options: list[tuple[float, int, Index | None, list[tuple[Attr, Expr, Equal]]]] = []
            for place, member in enumerate(rest):
                links = _links(member, equals, seen)
                index = _index(member, tuple(own for own, _, _ in links)) if links else None
                if index is not None:
                    options.append((self._found(index, links, rows), place, index, links))
                elif links and _near(member):
                    options.append((1.0, place, None, links))
            if not options:
                break
            _, place, index, links = min(options, key=lambda o: o[:2])
            member = rest.pop(place)
            added: tuple[Rel, ...] = ()
            if index is not None and (self.names is None or index.name in self.names):
                probed = True
                equals = [e for e in equals if all(e is not used for _, _, used in links)]
                on = tuple(other for _, other, _ in links)
                current = Probe(current, index, on, _version(member) or OLD, null_safe=links[0][2].null_safe)
            else:
                added = (member,)
            have = {a.id for m in (current, *added) for a in m.attrs}
            ready = tuple(e for e in equals if e.refs <= have), tuple(e for e in residual if e.refs <= have)
            if added or any(ready):
                current = Join((current, *added), *ready)
                equals = [e for e in equals if e not in ready[0]]
                residual = [e for e in residual if e not in ready[1]]
        if not probed:
            return join
        if rest:
            current = Join((current, *rest), tuple(equals), tuple(residual))
        return prune(current, join.attrs)

    def _found(self, index: Index, links: list[tuple[Attr, Expr, Equal]], rows: Mapping[str, int]) -> float:
        """How many rows of an index there are for each row before it. Where it is not known, one of a smaller
        relation, and of a larger one as many as it is larger; a filter halves them."""
        known = self.sizes.found(index)
        if known is not None:
            return known
        other = min(rows.get(r, 1) for _, e, _ in links for r in e.refs)
        guess = max(self.sizes.rows(index.leaf) / max(other, 1), 1.0)
        return guess * 0.5**index.filters

    def _rows(self, member: Rel) -> int:
        return sum(self.sizes.rows(n) for n in nodes(member) if isinstance(n, Snapshot | Load))


def _looked_up(node: Accumulate) -> Index | None:
    """The index in which the old rows of just the groups in the change are looked up. A sum of decimals of 38 digits
    would lose one of them when two are added row by row."""
    state: Rel = node.state
    while isinstance(state, Project) and state.pruning:
        state = state.input
    wide = any(b.attr.type.startswith("decimal(38") and b.merge == "add" for c in node.calls for b in c.buffers)
    if wide or not (isinstance(state, Lookup) and isinstance(state.keys, Keys) and state.at == OLD):
        return None
    all_groups = state.keys.members == (node.change,) and state.keys.on == (node.keys,)
    return state.index if all_groups and state.index.keys == node.keys else None


def _unpinned(steps: list[Step]) -> tuple[Step, ...]:
    """The steps without those that hold what only one other uses."""
    uses = Counter(r.step for s in steps for r in leaves(s.rel) if isinstance(r, Ref) for _ in range(_times(s.rel, r)))
    found: list[Step] = []
    inlined: dict[str, Rel] = {}
    for step in steps:
        rel = rebuild(step.rel, lambda n: n.with_inputs(tuple(_inlined(i, inlined) for i in n.inputs)))
        step = replace(step, rel=_inlined(rel, inlined))
        if isinstance(step, Pin) and uses[step.name] == 1:
            inlined[step.name] = step.rel
        else:
            found.append(step)
    return tuple(found)


def _times(rel: Rel, ref: Ref) -> int:
    """How often a tree uses what an earlier step computed."""
    return (rel == ref) + sum(i == ref for n in nodes(rel) for i in n.inputs)


def _inlined(rel: Rel, inlined: Mapping[str, Rel]) -> Rel:
    return inlined.get(rel.step, rel) if isinstance(rel, Ref) else rel


def _links(member: Rel, equals: list[Equal], seen: set[str]) -> list[tuple[Attr, Expr, Equal]]:
    """The equalities between a column of a member and what is there before it; all strict, or all null-safe."""
    by_id = {a.id: a for a in member.attrs}
    found: dict[str, tuple[Attr, Expr, Equal]] = {}
    for e in equals:
        for own, other in ((e.left, e.right), (e.right, e.left)):
            if own.kind == "ref" and own.refs <= by_id.keys() and other.refs and other.refs <= seen:
                (id_,) = own.refs
                if own.type == other.type:
                    found.setdefault(id_, (by_id[id_], other, e))
    links = [found[i] for i in sorted(found)]
    strict = [x for x in links if not x[2].null_safe]
    return strict or links


def _index(rel: Rel, keys: tuple[Attr, ...]) -> Index | None:
    """The index that would hold a relation by a key."""
    if _version(rel) is None or _near(rel) or not all(_exact(k) for k in keys):
        return None
    return Index(_at_old(rel), keys)


def _version(rel: Rel) -> Version | None:
    """The version of the one leaf that a relation reads row by row."""
    while isinstance(rel, (*_ROW_WISE, Near)):
        (rel,) = rel.inputs
    match rel:
        case Snapshot(of=Source(), at=at) | Load(at=at):
            return at
    return None


def _near(rel: Rel) -> bool:
    """Whether a relation reads, row by row, just a part of a leaf."""
    while isinstance(rel, _ROW_WISE):
        (rel,) = rel.inputs
    return isinstance(rel, Near)


def _at_old(rel: Rel) -> Rel:
    def change(node: Node) -> Rel:
        return replace(node, at=OLD) if isinstance(node, Snapshot | Load) else node

    return rebuild(rel, change)


def _exact(attr: Attr) -> bool:
    return attr.type in _EXACT or attr.type.startswith("decimal")
