"""Probes in the place of scans: which indexes the steps of a plan could use, and the steps that use some of them.

A term of a join's delta begins with the delta and goes outwards. A member that is read row by row from a source or
a state, and that an equality links to those before it, can be looked up by that key: the term then costs what its
delta costs. So can the old rows of touched groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from headrace.ir.expr import Attr, Equal, Expr
from headrace.ir.plan import Plan
from headrace.ir.probe import Index, Lookup, Probe
from headrace.ir.rel import Filter, Finish, Join, Load, Node, Project, Rel, Restrict, Snapshot, Source, prune
from headrace.ir.time import OLD, Version
from headrace.ir.walk import nodes, rebuild

_ROW_WISE = (Project, Filter, Finish)
# Types whose equal values have equal bytes. Of floats -0.0 and 0.0 are equal, of collated strings many.
_EXACT = ("boolean", "tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "binary")


# Rows that are indexed at once: scanning them for every refresh costs as much.
_FEW = 50_000
# Looking one row up costs as much as scanning this many.
_SCANNED = 4


@dataclass(frozen=True)
class Option:
    """An index that a plan could use: the rows it would be made from, whether it is there, and how many runs before
    this one would have used it."""

    index: Index
    rows: int
    there: bool
    wanted: int


def choose(options: Iterable[Option], delta_rows: int, *, eager: bool = False) -> frozenset[str]:
    """The indexes to use. Building one costs about as much as the scan it saves, so a large one is built when it is
    asked for a second time: whatever the future, that is never much worse than the better of the two."""
    return frozenset(
        o.index.name
        for o in options
        if eager or o.rows <= _FEW or ((o.there or o.wanted) and delta_rows * _SCANNED <= o.rows)
    )


def candidates(plan: Plan) -> tuple[Index, ...]:
    """Every index that a plan could use, each once."""
    found: dict[str, Index] = {}
    for step in plan.steps:
        for node in nodes(_rewritten(step.rel, None)):
            if isinstance(node, Probe | Lookup):
                found.setdefault(node.index.name, node.index)
    return tuple(found.values())


def with_probes(plan: Plan, chosen: Collection[str]) -> Plan:
    """The same plan with these of its candidates probed."""
    if not chosen:
        return plan
    names = frozenset(chosen)
    return replace(plan, steps=tuple(replace(s, rel=_rewritten(s.rel, names)) for s in plan.steps))


def _rewritten(rel: Rel, names: frozenset[str] | None) -> Rel:
    def change(node: Node) -> Rel:
        if isinstance(node, Join):
            return _probing(node, names)
        if isinstance(node, Restrict):
            found = _index(node.input, node.on, names)
            if found is not None:
                index, at = found
                return prune(Lookup(node.keys, index, at), node.attrs)
        return node

    return rebuild(rel, change)


def _probing(join: Join, names: frozenset[str] | None) -> Rel:
    """A join with its members, from the second on, looked up where they can be. What is left of its predicates is
    applied as soon as its columns are there."""
    current: Rel = join.members[0]
    if _index(current, (), None) is not None or len(join.members) == 1:
        return join  # it does not begin with a delta
    equals, residual = list(join.equals), list(join.residual)
    probed = False
    waiting: list[Rel] = []  # members that are joined as Spark does it, up to the next one that is looked up

    def joined(more: list[Rel]) -> Rel:
        members = (current, *more)
        have = {a.id for m in members for a in m.attrs}
        ready = [e for e in equals if e.refs <= have]
        rest = [e for e in residual if e.refs <= have]
        equals[:] = [e for e in equals if e not in ready]
        residual[:] = [e for e in residual if e not in rest]
        if len(members) == 1 and not ready and not rest:
            return current
        return Join(members, tuple(ready), tuple(rest))

    for member in join.members[1:]:
        seen = {a.id for m in (current, *waiting) for a in m.attrs}
        links = _links(member, equals, seen)
        found = _index(member, tuple(a for a, _, _ in links), names) if links else None
        if found is None:
            waiting.append(member)
            continue
        current, waiting = joined(waiting), []
        index, at = found
        used = [e for _, _, e in links]
        equals = [e for e in equals if e not in used]
        current = Probe(current, index, tuple(x for _, x, _ in links), at, null_safe=links[0][2].null_safe)
        current = joined([])
        probed = True
    if not probed:
        return join
    return prune(joined(waiting), join.attrs)


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


def _index(rel: Rel, keys: tuple[Attr, ...], names: frozenset[str] | None) -> tuple[Index, Version] | None:
    """The index that would hold a relation by a key, and the version of it that is asked for."""
    at = _version(rel)
    if at is None or not all(_exact(k) for k in keys):
        return None
    index = Index(_at_old(rel), keys)
    return (index, at) if names is None or index.name in names else None


def _version(rel: Rel) -> Version | None:
    """The version of the one leaf that a relation reads row by row."""
    while isinstance(rel, _ROW_WISE):
        (rel,) = rel.inputs
    match rel:
        case Snapshot(of=Source(), at=at) | Load(at=at):
            return at
    return None


def _at_old(rel: Rel) -> Rel:
    def change(node: Node) -> Rel:
        return replace(node, at=OLD) if isinstance(node, Snapshot | Load) else node

    return rebuild(rel, change)


def _exact(attr: Attr) -> bool:
    return attr.type in _EXACT or attr.type.startswith("decimal")
