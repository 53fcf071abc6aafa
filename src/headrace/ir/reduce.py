"""Aggregates of just those groups that a join asks for.

    γ[k; f] A ⋈ B = γ[k; f] (A ⋉ B) ⋈ B        on k = b, b of B

Groups whose key no row of B has meet nothing, so they need be neither computed nor kept; of those that are left all
rows are. It is what a subquery correlated with a filtered table comes to: the mean quantity of each part, of which
only parts of one brand are looked at.

Done where B is a filtered source, the aggregate is used by this join alone, and what A reads is joined with B by the
same key besides: a new row of B has to find the rows of A with its key, and does so anyway. Else the groups of all
keys, kept, would answer it at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.ir.expr import Attr, Equal, ref
from headrace.ir.rel import Aggregate, Filter, Join, Node, Project, Rel, Source, prune
from headrace.ir.walk import nodes, sources, swap


def reduce_groups(query: Node) -> Node:
    """The same query with aggregates of the groups that are asked for, where they are known."""
    done: set[int] = set()
    made: list[Node] = []  # what is held keeps its id
    while True:
        uses = Counter(id(i) for n in nodes(query) for i in n.inputs)
        joins = [n for n in nodes(query) if isinstance(n, Join)]
        found = next((r for join in reversed(joins) for r in _reductions(join, uses, done)), None)
        if found is None:
            return query
        whole, part = found
        done.add(id(part))
        made.append(part)
        swapped = swap(query, whole, part)
        assert isinstance(swapped, Node)
        query = swapped


def _reductions(join: Join, uses: Counter[int], done: set[int]) -> Iterator[tuple[Aggregate, Aggregate]]:
    members, equals = _flat(join)
    for member in members:
        grouped = _grouped(member)
        if grouped is None or id(grouped[0]) in done or _shared(join, grouped[0], uses):
            continue
        aggregate, keys = grouped
        read = sources(aggregate.input)
        others = [m for m in members if m is not member]
        for asking in others:
            if not _filtered(asking) or read & sources(asking):
                continue
            for link in _links(keys, asking, equals):
                by = {a.id for a in asking.attrs} & link.refs
                alike = _equal_to(link.refs, equals)
                again = (m for m in others if m is not asking and read & sources(m))
                if any(_linked(m, by | alike, equals) for m in again):
                    yield aggregate, _of(aggregate, asking, link)


def _of(aggregate: Aggregate, asking: Rel, link: Equal) -> Aggregate:
    by = tuple(a for a in asking.attrs if a.id in link.refs)
    met = Join((aggregate.input, Aggregate(prune(asking, by), by, ())), (link,), ())
    return Aggregate(prune(met, aggregate.input.attrs), aggregate.keys, aggregate.calls)


def _links(keys: dict[str, Attr], asking: Rel, equals: list[Equal]) -> Iterator[Equal]:
    """Equalities between a key of the aggregate and what a relation has, as they are written or by way of others."""
    have = {a.id: a for a in asking.attrs}
    passed = {own for own, key in keys.items() if own == key.id}
    for e in equals:
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if not e.null_safe and one.refs and one.refs <= passed and other.refs and other.refs <= have.keys():
                yield e
    for own, key in keys.items():
        for i in sorted(_equal_to(frozenset({own}), equals) & have.keys()):
            if have[i].type == key.type:
                yield Equal(ref(key), ref(have[i]))


def _linked(member: Rel, columns: set[str], equals: list[Equal]) -> bool:
    own = {a.id for a in member.attrs}
    return bool(own & columns) or any(e.refs & own and e.refs & columns for e in equals)


def _shared(join: Join, below: Rel, uses: Counter[int]) -> bool:
    """Whether anything but a join uses what is below it, or something on the way there."""
    way = [n for n in nodes(join) if n is not join and any(m is below for m in nodes(n))]
    return any(uses[id(n)] > 1 for n in way)


def _flat(join: Join) -> tuple[list[Rel], list[Equal]]:
    """The members of a join and of joins in it, and all their equalities."""
    members: list[Rel] = []
    equals = list(join.equals)
    for member in join.members:
        below = member
        while isinstance(below, Project) and below.pruning:
            below = below.input
        if isinstance(below, Join):
            inner = _flat(below)
            members += inner[0]
            equals += inner[1]
        else:
            members.append(member)
    return members, equals


def _grouped(member: Rel) -> tuple[Aggregate, dict[str, Attr]] | None:
    """The aggregate that a member reads row by row, and which of its keys the member's columns are."""
    names = {a.id: a.id for a in member.attrs}
    while isinstance(member, Project | Filter):
        if isinstance(member, Project):
            passed = {c.attr.id: next(iter(c.expr.refs)) for c in member.columns if c.plain}
            names = {own: passed[below] for own, below in names.items() if below in passed}
        member = member.input
    if not isinstance(member, Aggregate):
        return None
    keys = {k.id: k for k in member.keys}
    return member, {own: keys[below] for own, below in names.items() if below in keys}


def _equal_to(columns: frozenset[str], equals: list[Equal]) -> set[str]:
    """The columns that equalities make equal to some, these among them."""
    found, before = set(columns), 0
    while len(found) > before:
        before = len(found)
        for e in equals:
            if not e.null_safe and e.left.kind == e.right.kind == "ref" and e.refs & found:
                found |= e.refs
    return found


def _filtered(member: Rel) -> bool:
    """Whether a member is a source read row by row, of which a filter leaves a part."""
    filters = False
    while isinstance(member, Project | Filter):
        if isinstance(member, Filter):
            filters = filters or any(not c.text.startswith("isnotnull(") for c in member.conjuncts)
        member = member.input
    return filters and isinstance(member, Source)
