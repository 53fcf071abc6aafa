"""Relations that are read row by row from one leaf: what an index can hold, by which keys rows are looked up in it, and
at which version each use of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.ir.expr import Attr, Equal, Expr
from headrace.ir.near import Near
from headrace.ir.probe import Index
from headrace.ir.rel import Filter, Finish, Load, Node, Project, Rel, Snapshot, Source
from headrace.ir.time import OLD, Version
from headrace.ir.walk import rebuild

ROW_WISE = (Project, Filter, Finish)

Links = list[tuple[Attr, Expr, Equal]]
# Types whose equal values have equal bytes. Of floats -0.0 and 0.0 are equal, of collated strings many.
_EXACT = ("boolean", "tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "binary")


def index_of(rel: Rel, keys: tuple[Attr, ...]) -> Index | None:
    """The index that would hold a relation by a key."""
    if version_of(rel) is None or is_near(rel) or not all(exact(k) for k in keys):
        return None
    return Index(at_old(rel), keys)


def version_of(rel: Rel) -> Version | None:
    """The version of the one leaf that a relation reads row by row."""
    while isinstance(rel, (*ROW_WISE, Near)):
        (rel,) = rel.inputs
    match rel:
        case Snapshot(of=Source(), at=at) | Load(at=at):
            return at
    return None


def is_near(rel: Rel) -> bool:
    """Whether a relation reads, row by row, just a part of a leaf."""
    while isinstance(rel, ROW_WISE):
        (rel,) = rel.inputs
    return isinstance(rel, Near)


def at_old(rel: Rel) -> Rel:
    def change(node: Node) -> Rel:
        return replace(node, at=OLD) if isinstance(node, Snapshot | Load) else node

    return rebuild(rel, change)


def exact(attr: Attr) -> bool:
    return attr.type in _EXACT or attr.type.startswith("decimal")


def links_of(member: Rel, equals: Sequence[Equal], seen: set[str]) -> Links:
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
