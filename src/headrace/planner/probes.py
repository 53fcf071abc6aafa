"""Probes in the place of scans: which indexes the steps of a plan could use, and the steps that use some of them.

A term of a join's delta begins with the delta and goes outwards. A member that is read row by row from a source or
a state, and that an equality links to those before it, can be looked up by that key: the term then costs what its
delta costs. So can the old rows of touched groups. Of several that are linked, the one that is expected to give the
fewest rows for each is next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from headrace.ir.expr import Equal, Expr
from headrace.ir.plan import Pin, Plan, Remember, Step
from headrace.ir.probe import AccumulateFound, Index, Lookup, Missing, Probe, probed
from headrace.ir.rel import (
    Accumulate,
    Consolidate,
    Fallback,
    Finish,
    Join,
    Keys,
    Load,
    Negate,
    Node,
    Project,
    Ref,
    Rel,
    Restrict,
    Snapshot,
    Union,
    prune,
)
from headrace.ir.time import OLD, Version
from headrace.ir.walk import leaves, nodes, rebuild
from headrace.planner.row_wise import Links, at_old, index_of, is_near, links_of, version_of
from headrace.planner.subjoins import with_joins


class Sizes(Protocol):
    """What is known of the rows that a plan reads."""

    def rows(self, leaf: Snapshot | Load) -> int:
        """The rows of a source or a state."""

    def found(self, index: Index) -> float | None:
        """How many rows an index gives, or would give, for a key; None where that is not known."""


def candidates(plan: Plan, sizes: Sizes) -> dict[Index, int]:
    """Every index that a plan could use, and how often."""
    rewriting = _Rewriting(sizes, None, plan)
    return dict(Counter(index for step in plan.steps for index in probed(rewriting.rewritten(step.rel))))


def with_probes(plan: Plan, sizes: Sizes, chosen: Collection[Index], held: Collection[str] = ()) -> Plan:
    """The same plan with these indexes probed where it can use them, joins that are ``held`` brought up to date."""
    plan, joins = with_joins(plan, chosen, held)
    rewriting = _Rewriting(sizes, (*(i for i in chosen if not i.members), *joins), plan)
    return replace(plan, steps=_unpinned([rewriting.done(step) for step in plan.steps]))


_ABOUT_ONE = 2.0


class _Rewriting:
    """Trees with probes of the indexes that are ``chosen``, or of all that are possible."""

    def __init__(self, sizes: Sizes, chosen: tuple[Index, ...] | None, plan: Plan) -> None:
        self.sizes = sizes
        self.chosen = chosen
        self.names = None if chosen is None else frozenset(i.name for i in chosen)
        self.plan = plan
        self.remembered: set[str] = set()  # joins that are up to date in the steps to come

    def done(self, step: Step) -> Step:
        step = replace(step, rel=self.rewritten(step.rel))
        if isinstance(step, Remember):
            self.remembered.add(step.index.name)
        return step

    def rewritten(self, rel: Rel) -> Rel:
        return rebuild(rel, self._change)

    def _change(self, node: Node) -> Rel:
        if isinstance(node, Join):
            return self._probing(node)
        if isinstance(node, Restrict):
            index = index_of(node.input, node.on)
            if index is not None and (self.names is None or index.name in self.names):
                return prune(Lookup(node.keys, index, version_of(node.input) or OLD), node.attrs)
        if isinstance(node, Accumulate):
            found = _looked_up(node)
            return node if found is None else AccumulateFound(node.change, found, node.keys, node.calls)
        if isinstance(node, Consolidate):
            return _new_keys(node) or node
        return node

    def _probing(self, join: Join) -> Rel:
        """A join whose members, from the second on, are looked up where they can be, and joined in that order. What is
        left of its predicates is applied as soon as its columns are there."""
        current: Rel = join.members[0]
        if version_of(current) is not None:
            return join  # it does not begin with a delta
        equals, residual = list(join.equals), list(join.residual)
        rows = {a.id: self._rows(m) for m in join.members for a in m.attrs}
        rest, probed = list(join.members[1:]), False
        while rest:
            seen = {a.id for a in current.attrs}
            options: list[tuple[float, int, Index | None, Links]] = list(self._joined(rest, equals, residual, seen))
            together = self._together([index for _, _, index, _ in options if index is not None])
            for place, member in enumerate(rest):
                if at_old(member) in together:
                    continue
                links = links_of(member, equals, seen)
                index, used = self._index(member, links)
                if index is not None:
                    options.append((self._found(index, used, rows), place, index, used))
                elif links and (is_near(member) or index_of(member, tuple(own for own, _, _ in links)) is not None):
                    options.append((1.0 if is_near(member) else self._scanned(member, links, rows), place, None, links))
            if not options:
                break
            # What is looked up and gives about a row each comes before what must be scanned for it.
            _, place, index, links = min(options, key=lambda o: (o[2] is None or o[0] > _ABOUT_ONE, *o[:2]))
            added: tuple[Rel, ...] = ()
            if index is not None:
                probed = True
                members = [m for m in rest if at_old(m) in index.members] if index.members else [rest[place]]
                rest = [m for m in rest if m not in members]
                inside = {a.id for a in index.rel.attrs} if index.members else set[str]()
                equals = [e for e in equals if all(e is not used for _, _, used in links) and not e.refs <= inside]
                residual = [e for e in residual if not (e.refs and e.refs <= inside)]
                on = tuple(other for _, other, _ in links)
                (at,) = self._versions(members) or {OLD}
                current = Probe(current, index, on, at, null_safe=links[0][2].null_safe)
            else:
                added = (rest.pop(place),)
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

    def _index(self, member: Rel, links: Links) -> tuple[Index | None, Links]:
        """The index in which a member is looked up, and the equalities by which: of those that are chosen the one that
        gives the fewest rows."""
        whole = index_of(member, tuple(own for own, _, _ in links)) if links else None
        if whole is None or self.chosen is None:
            return whole, links
        by_id = {own.id: link for link in links for own in link[:1]}
        able = [i for i in self.chosen if all(k.id in by_id for k in i.keys) and i.rel == whole.rel]
        if not able:
            return None, links
        index = min(able, key=lambda i: (-len(i.keys), i.name))
        return index, [by_id[k.id] for k in index.keys]

    def _joined(
        self, rest: list[Rel], equals: list[Equal], residual: list[Expr], seen: set[str]
    ) -> Iterator[tuple[float, int, Index | None, Links]]:
        """The joins of several of the members that are left, by the predicates that these have here, all at one
        version, by keys that are there. A query may join the same relations in two places by different predicates."""
        for index in self.chosen or ():
            members = [m for m in rest if at_old(m) in index.members] if index.members else []
            at = self._versions(members)
            there = len(at) <= 1 and (at <= {OLD} or index.name in self.remembered)
            if members and len(members) == len(index.members) and there and _same_join(index, equals, residual):
                by_id = {own.id: link for link in links_of(index.rel, equals, seen) for own in link[:1]}
                if all(k.id in by_id for k in index.keys):
                    yield self.sizes.found(index) or 1.0, -1, index, [by_id[k.id] for k in index.keys]

    def _versions(self, members: list[Rel]) -> set[Version]:
        """The versions at which those of some members are that move: to the others all versions are one."""
        return {v for m in members if (v := version_of(m)) is not None and self.plan.moves(m)}

    def _together(self, joins: list[Index]) -> list[Rel]:
        """The members of joins that can be looked up, where one of them could only be scanned without the others."""
        alone = [i.rel for i in self.chosen or () if not i.members]
        return [m for j in joins if any(m not in alone for m in j.members) for m in j.members]

    def _scanned(self, member: Rel, links: Links, rows: Mapping[str, int]) -> float:
        """How many rows of a member that is scanned there are for each row before it."""
        index = index_of(member, tuple(own for own, _, _ in links))
        assert index is not None
        return self._found(index, links, rows)

    def _found(self, index: Index, links: Links, rows: Mapping[str, int]) -> float:
        """How many rows of an index there are for each row before it. Where it is not known, one of a smaller
        relation, and of a larger one as many as it is larger; a filter halves them."""
        known = self.sizes.found(index)
        if known is not None:
            return known
        other = min(rows.get(r, 1) for _, e, _ in links for r in e.refs)
        guess = max(sum(self.sizes.rows(leaf) for leaf in index.leaves) / max(other, 1), 1.0)
        return guess * 0.5**index.filters

    def _rows(self, member: Rel) -> int:
        return sum(self.sizes.rows(n) for n in nodes(member) if isinstance(n, Snapshot | Load))


def _same_join(index: Index, equals: Iterable[Equal], residual: Iterable[Expr]) -> bool:
    """Whether what an index holds was joined by just those of some predicates that are about its members alone."""
    assert isinstance(index.rel, Join)
    inside = {a.id for a in index.rel.attrs}
    own = {e for e in equals if e.refs and e.refs <= inside}, {e for e in residual if e.refs and e.refs <= inside}
    return own == (set(index.rel.equals), set(index.rel.residual))


def _new_keys(node: Consolidate) -> Missing | None:
    """Keys without those of them that are known, where known ones are looked up: each is asked for once."""
    union = node.input
    if not (isinstance(union, Union) and len(union.branches) == 2 and isinstance(union.branches[1], Negate)):
        return None
    came, known = union.branches[0], union.branches[1].input
    while isinstance(known, Project) and known.pruning:
        known = known.input
    if not (isinstance(known, Lookup) and isinstance(known.keys, Keys) and known.at == OLD):
        return None
    asked, index = known.keys, known.index
    alike = asked.members == (came,) and asked.on == (index.keys,) and not index.rest
    distinct = isinstance(came, Finish) and not came.calls and came.keys == index.keys
    return Missing(came, index) if alike and distinct else None


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
    """The steps without those that hold what only one other uses, unless that must know of it beforehand."""
    uses = Counter(r.step for s in steps for r in leaves(s.rel) if isinstance(r, Ref) for _ in range(_times(s.rel, r)))
    asked = {n.needed for s in steps for n in nodes(s.rel) if isinstance(n, Fallback)}
    found: list[Step] = []
    inlined: dict[str, Rel] = {}
    for step in steps:
        rel = rebuild(step.rel, lambda n: n.with_inputs(tuple(_inlined(i, inlined) for i in n.inputs)))
        step = replace(step, rel=_inlined(rel, inlined))
        if isinstance(step, Pin) and uses[step.name] == 1 and Ref(step.name, step.rel.attrs) not in asked:
            inlined[step.name] = step.rel
        else:
            found.append(step)
    return tuple(found)


def _times(rel: Rel, ref: Ref) -> int:
    """How often a tree uses what an earlier step computed."""
    return (rel == ref) + sum(i == ref for n in nodes(rel) for i in n.inputs)


def _inlined(rel: Rel, inlined: Mapping[str, Rel]) -> Rel:
    return inlined.get(rel.step, rel) if isinstance(rel, Ref) else rel
