"""From the plan of a view to the trees that DISS plans.

The delta of a join of n relations is a union of terms, one for each relation that moves. It becomes a left-deep tree:
the relations that move in the order in which the terms let them move, so that every join on the way is at one version
in every term, and those that rest as early as an equality links them, those that give the fewest rows first. A
relation that is read row by row may be kept by each key that links it to another, and a join on the way by the key of
the next relation that moves. The old rows of touched groups are looked up by their key: a tree of one relation.

Sizes are estimates. What is read row by row has half of its rows after each filter, as long as nothing was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from headrace.ir.expr import Attr, Equal, Expr
from headrace.ir.near import Near, Range
from headrace.ir.plan import Plan
from headrace.ir.probe import Index
from headrace.ir.rel import (
    Accumulate,
    Delta,
    Filter,
    Join,
    Load,
    Negate,
    Node,
    Partials,
    Project,
    Ref,
    Rel,
    Restrict,
    Snapshot,
    Source,
    Union,
)
from headrace.ir.time import OLD
from headrace.ir.walk import leaves, nodes
from headrace.planner.demand import DELTA, Demand, Emits, Key, Lookup
from headrace.planner.operators import Candidate, Forest, HashJoin, Materialize, Operator, Scan, Table, forest
from headrace.planner.row_wise import at_old, exact, index_of, is_near, version_of
from headrace.stats.estimate import Change, Estimate

_JOINS = 4  # joins on the way of one tree that may be kept: each doubles what is asked of those below it
_UNKNOWN = 1_000_000.0  # rows of a relation of which nothing is known


class Estimates(Protocol):
    """What is known of the rows that a plan reads, and of the delta that it will work in."""

    def rows(self, leaf: Snapshot | Load) -> int:
        """The rows of a source or a state."""

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        """The rows in files of a leaf whose values can be in all of some ranges."""

    def found(self, index: Index) -> float | None:
        """How many rows an index gives, or would give, for a key; None where that is not known."""

    def changed(self, source: str) -> Change:
        """What the next delta will do to a source."""

    def state(self, index: Index, rows: float) -> Candidate | None:
        """An index of so many rows as a state that may be held; None where it cannot be."""

    def about(self, rel: Rel) -> Estimate | None:
        """What is expected of a tree over leaves and over steps of the plan; None where nothing more is known of it
        than its leaves."""


@dataclass(frozen=True)
class Member:
    """One relation of a join: its rows before the delta, where some term has them, and its delta, where it moves."""

    attrs: tuple[Attr, ...]
    old: Rel | None
    delta: Rel | None

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(a.id for a in self.attrs)


@dataclass(frozen=True)
class Terms:
    """The delta of a join, ``whole``: a union of terms, each a join that begins with the delta of one member."""

    whole: Node
    members: tuple[Member, ...]
    equals: tuple[Equal, ...]
    residual: tuple[Expr, ...]

    @property
    def moving(self) -> list[Member]:
        """Those that move, in the order in which they do."""
        return [m for m in self.members if m.delta is not None]


def terms_of(rel: Rel) -> Iterator[Terms]:
    """The deltas of joins in a tree; a join that begins with a delta by itself is one of a single term."""
    unions = [t for n in nodes(rel) if isinstance(n, Union) and (t := _terms_of_union(n)) is not None]
    yield from unions
    known = {id(j) for t in unions for j in _joins(t.whole)}
    for node in nodes(rel):
        if isinstance(node, Join) and id(node) not in known:
            alone = _terms(node, [node])
            if alone is not None:
                yield alone


def _joins(node: Node) -> list[Join]:
    """The joins that are branches of a union, behind projections that only drop columns."""
    branches = node.branches if isinstance(node, Union) else ()
    return [b.input for b in branches if isinstance(b, Project) and b.pruning and isinstance(b.input, Join)]


def _terms_of_union(union: Union) -> Terms | None:
    joins = _joins(union)
    if len(joins) < len(union.branches) or any(o != union.columns for o in union.orders):
        return None
    return _terms(union, joins)


def _terms(whole: Node, joins: list[Join]) -> Terms | None:
    first = joins[0]
    every = {frozenset(a.id for a in m.attrs) for m in first.members}
    old: dict[frozenset[str], Rel] = {}
    deltas: dict[frozenset[str], Rel] = {}
    attrs: dict[frozenset[str], tuple[Attr, ...]] = {}
    for join in joins:
        ids = [frozenset(a.id for a in m.attrs) for m in join.members]
        same = set(ids) == every and (join.equals, join.residual) == (first.equals, first.residual)
        if not same or version_of(join.members[0]) is not None or ids[0] in deltas:
            return None
        deltas[ids[0]] = join.members[0]
        attrs[ids[0]] = join.members[0].attrs
        for i, member in zip(ids[1:], join.members[1:], strict=True):
            if i not in old or is_near(old[i]):
                old[i] = at_old(member)
            attrs.setdefault(i, member.attrs)
    order = [*deltas, *(i for i in attrs if i not in deltas)]
    members = tuple(Member(attrs[i], old.get(i), deltas.get(i)) for i in order)
    return Terms(whole, members, first.equals, first.residual)


@dataclass
class ViewTree:
    """The trees of a plan, and the indexes that their states are, by name. ``joins`` are those of several relations:
    how many members of which join each has."""

    needs: list[tuple[Operator, Demand]] = field(default_factory=list)
    indexes: dict[str, Index] = field(default_factory=dict)
    joins: dict[str, tuple[Terms, tuple[Member, ...]]] = field(default_factory=dict)

    @property
    def root(self) -> Forest:
        return forest(self.needs)


def view_tree(plan: Plan, estimates: Estimates, *, joins: bool = True) -> ViewTree:
    """The trees of a plan; with ``joins``, those in which joins may be kept too."""
    building = _Building(plan, estimates, joins)
    for step in plan.steps:
        for terms in terms_of(step.rel):
            building.join(terms)
        for node in nodes(step.rel):
            if isinstance(node, Restrict):
                building.groups(node)
    return building.finished()


class _Building:
    def __init__(self, plan: Plan, estimates: Estimates, joins: bool) -> None:
        self.steps = {s.name: s.rel for s in plan.steps}
        self.estimates = estimates
        self.joins = joins
        self.tree = ViewTree()
        self._asked: dict[str, tuple[Operator, Demand]] = {}

    def finished(self) -> ViewTree:
        self.tree.needs += self._asked.values()
        return self.tree

    # --- the old rows of touched groups

    def groups(self, node: Restrict) -> None:
        index = index_of(node.input, node.on)
        if index is None:
            return
        touched = self._changed(node.keys).rows
        key = _key(node.on)
        demand = Demand(Emits.NOTHING, (Lookup(key, touched, 1),))
        if index.name in self._asked:
            op, before = self._asked[index.name]
            self._asked[index.name] = (op, before | demand)
            return
        change = Change(updates=touched) if isinstance(index.leaf, Load) else self._changed_leaf(index)
        scan = self._scan(index.rel, change)
        leaf = self._keepable(scan, [(key, index)])
        if leaf is not scan:
            self._asked[index.name] = (leaf, demand)

    def _changed_leaf(self, index: Index) -> Change:
        return self.estimates.changed(index.source.name) if index.source else Change()

    # --- joins

    def join(self, terms: Terms) -> None:
        leaves = {m.ids: self._leaf(terms, m) for m in terms.members}
        order = self._order(terms, leaves)
        op: Operator = leaves[order[0].ids]
        joined = 0
        for n, member in enumerate(order[1:], 1):
            link = _link(terms, order[:n], member, leaves)
            left_key, right_key = link or ((), ())
            later = any(m.delta is not None for m in order[n:])
            if n > 1 and self.joins and later and left_key and member.delta is not None and joined < _JOINS:
                op, joined = self._kept_join(terms, order[:n], op, left_key), joined + 1
            op = _joined(op, leaves[member.ids], left_key, right_key)
        self.tree.needs.append((op, DELTA))

    def _leaf(self, terms: Terms, member: Member) -> Operator:
        """A relation of a join, which may be kept by each key that links it to another."""
        change = Change() if member.delta is None else self._changed(member.delta)
        scan = self._scan(member.old if member.old is not None else member.delta, change)
        keys: list[tuple[Key, Index]] = []
        for other in terms.members:
            pairs = _pairs(terms, member, other) if other is not member else []
            index = index_of(member.old, tuple(a for a, _ in pairs)) if pairs and member.old is not None else None
            if index is not None:
                keys.append((_key(index.keys), index))
        return self._keepable(self._linked(terms, member, scan), keys)

    def _linked(self, terms: Terms, member: Member, scan: Scan) -> Scan:
        """With the different values of columns that are linked: of those that nothing is known of, no more than the
        smaller of the two relations has rows."""
        distinct = dict(scan.distinct)
        for other in terms.members:
            for own, _ in _pairs(terms, member, other) if other is not member else []:
                known = self._found(member, (own,))
                guess = min(scan.base, self._base(other))
                distinct[own.id] = max(scan.rows / known if known else guess, 1.0)
        return replace(scan, distinct=distinct)

    def _found(self, member: Member, key: tuple[Attr, ...]) -> float | None:
        index = index_of(member.old, key) if member.old is not None else None
        return None if index is None else self.estimates.found(index)

    def _order(self, terms: Terms, leaves: Mapping[frozenset[str], Operator]) -> list[Member]:
        """Members from the first that moves on. One that rests comes as soon as it is linked, one that moves in its
        turn."""
        moving = terms.moving
        order, rest = [moving[0]], [m for m in terms.members if m is not moving[0]]
        while rest:
            turn = next((m for m in moving if m in rest), None)
            ready = [m for m in rest if m.delta is None or m is turn]
            linked = [(f, i, m) for i, m in enumerate(ready) if (f := _fewest(terms, order, m, leaves)) is not None]
            member = min(linked)[2] if linked else ready[0]
            order.append(member)
            rest.remove(member)
        return order

    def _kept_join(self, terms: Terms, members: list[Member], op: Operator, key: Key) -> Operator:
        """A join on the way, by the key of the next relation."""
        index = join_index(terms, members, key)
        if index is None:
            return op
        kept = self._keepable(op, [(key, index)])
        if kept is not op:
            self.tree.joins[index.name] = (terms, tuple(members))
        return kept

    # --- sizes

    def _keepable(self, op: Operator, keys: Iterable[tuple[Key, Index]]) -> Operator:
        tables: dict[Key, Table] = {}
        measured: dict[Key, float] = {}
        for key, index in keys:
            state = self.estimates.state(index, op.rows)
            if state is not None:
                tables[key] = Table(key, state)
                self.tree.indexes[index.name] = index
            found = self.estimates.found(index)
            if found is not None:
                measured[key] = found
        if not tables:
            return op
        return Materialize(
            *(op.rows, op.change, op.distinct, op.base),
            measured=measured,
            input=op,
            tables=tuple(tables.values()),
            replayed=False,  # runs look indexes up, and do not read them whole
        )

    def _scan(self, rel: Rel | None, change: Change) -> Scan:
        reads = self._leaf_rows(rel) if rel is not None else _UNKNOWN
        # Near a delta's range there may be no old row at all: its rows meet those that come with them.
        base = reads + (change.came if rel is not None and is_near(rel) else 0.0)
        filters = sum(isinstance(n, Filter) for n in nodes(rel)) if rel is not None else 0
        told = self.estimates.about(rel) if rel is not None and filters and not is_near(rel) else None
        rows = base * 0.5**filters if told is None or told.delta else min(told.rows, base)
        distinct = {a.id: max(base, 1.0) for a in rel.attrs} if rel is not None else {}
        return Scan(rows, change, distinct, base, reads=reads, reads_delta=change.rows)

    def _base(self, member: Member) -> float:
        rel = member.old if member.old is not None else member.delta
        change = Change() if member.delta is None else self._changed(member.delta)
        return self._scan(rel, change).base

    def _leaf_rows(self, rel: Rel) -> float:
        """The rows of the leaves of a relation; of a delta those of the source itself."""
        total, found = 0.0, False
        for n in leaves(rel):
            found = True
            match n:
                case Near(input=Snapshot() | Load() as leaf, within=within):
                    total += self.estimates.part(leaf, within)
                case Snapshot(of=Source()) | Load():
                    total += self.estimates.rows(n)
                case Delta(of=Source() as source):
                    total += self.estimates.rows(Snapshot(source, OLD))
                case _:
                    total += _UNKNOWN
        return total if found else _UNKNOWN

    def _changed(self, rel: Rel) -> Change:
        """The delta that a tree computes."""
        told = self.estimates.about(rel)
        if told is not None and told.delta:
            return told.change
        match rel:
            case Delta(of=Source(name=name)):
                return self.estimates.changed(name)
            case Ref(step=step):
                return self._changed(self.steps[step]) if step in self.steps else Change()
            case Filter(input=below):
                return self._changed(below) * 0.5
            case Negate(input=below):
                return self._changed(below).negated
            case Join(members=members):
                return self._changed(members[0])
            case Partials(input=below, change=True):
                return Change(inserts=self._changed(below).rows)
            case Accumulate(change=below):
                return Change(updates=self._changed(below).rows)
            case Node():
                return sum((self._changed(i) for i in rel.inputs), Change())
        return Change()


def join_index(terms: Terms, members: Iterable[Member], key: Key) -> Index | None:
    """The index that would hold a join of some members by a key."""
    chosen = list(members)
    have = frozenset[str]().union(*(m.ids for m in chosen))
    rels = [m.old for m in chosen]
    if any(r is None or version_of(r) is None or is_near(r) for r in rels):
        return None
    by_id = {a.id: a for m in chosen for a in m.attrs}
    if not all(k in by_id and exact(by_id[k]) for k in key):
        return None
    equals = tuple(e for e in terms.equals if e.refs <= have)
    residual = tuple(e for e in terms.residual if e.refs <= have)
    return Index(Join(tuple(r for r in rels if r is not None), equals, residual), tuple(by_id[k] for k in key))


def _joined(left: Operator, right: Operator, left_key: Key, right_key: Key) -> HashJoin:
    gives = right.fanout(right_key) if right_key else right.rows
    back = left.fanout(left_key) if left_key else left.rows * gives / max(right.rows, 1.0)
    change = left.change * gives + right.change * back
    return HashJoin(
        *(left.rows * gives, change, {**left.distinct, **right.distinct}, max(left.base, right.base)),
        left=left,
        right=right,
        left_key=left_key,
        right_key=right_key,
        by_terms=True,
    )


def _link(
    terms: Terms, before: list[Member], member: Member, leaves: Mapping[frozenset[str], Operator]
) -> tuple[Key, Key] | None:
    """The keys that link a member to one of those before it: of several the one by which it has the fewest rows."""
    found: list[tuple[float, Key, Key]] = []
    for other in before:
        pairs = _pairs(terms, member, other)
        if pairs:
            own = _key(tuple(a for a, _ in pairs))
            there = tuple(b.id for _, b in pairs if b is not None)
            found.append((leaves[member.ids].fanout(own), there if len(there) == len(own) else (), own))
    return min(found)[1:] if found else None


def _fewest(
    terms: Terms, before: list[Member], member: Member, leaves: Mapping[frozenset[str], Operator]
) -> float | None:
    link = _link(terms, before, member, leaves)
    return None if link is None else leaves[member.ids].fanout(link[1])


def _pairs(terms: Terms, member: Member, other: Member) -> list[tuple[Attr, Attr | None]]:
    """The columns of a member that equal columns of another, in the order of their ids, None for what is computed from
    its columns; all strict, or all null-safe."""
    own, there = {a.id: a for a in member.attrs}, {a.id: a for a in other.attrs}
    found: dict[str, tuple[Attr, Attr | None, bool]] = {}
    for e in terms.equals:
        for a, b in ((e.left, e.right), (e.right, e.left)):
            if a.kind == "ref" and a.type == b.type and a.refs <= own.keys() and b.refs and b.refs <= there.keys():
                (i,) = a.refs
                found.setdefault(i, (own[i], there[next(iter(b.refs))] if b.kind == "ref" else None, e.null_safe))
    pairs = [found[i] for i in sorted(found)]
    strict = [p for p in pairs if not p[2]]
    return [(a, b) for a, b, _ in strict or pairs]


def _key(attrs: tuple[Attr, ...]) -> Key:
    return tuple(a.id for a in attrs)
