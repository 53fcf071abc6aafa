"""Taking a plan out of an explored memo: for each group, the first applicable alternative of a fixed preference.

For a delta: the preference of ``rules.RELATIONAL`` for how the Tvr is written, then of ``rules.DELTA`` for
how its change is computed. For a snapshot: a kept state, then the operator over its inputs' snapshots.
An alternative applies when its guards hold in the situation at hand. Deltas that are empty vanish with
every term that multiplies by them.
"""

from __future__ import annotations

from headrace.errors import InternalError
from headrace.ir.plan import Kept
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Constant,
    Delta,
    EvalPython,
    Expand,
    Filter,
    Finish,
    Generate,
    Group,
    Keys,
    Load,
    Measured,
    Negate,
    Node,
    Partials,
    Project,
    Provided,
    Ref,
    Rel,
    Snapshot,
    Source,
    Union,
    prune,
)
from headrace.ir.time import NEW, OLD, Situation, Version
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.memo.tvr import Tvr
from headrace.rules import DELTA, RELATIONAL

LINEAR = (Project, Filter, Union, Expand, Generate, EvalPython, Finish, Negate)
_ORIGINS = {**{r.name: i for i, r in enumerate(RELATIONAL)}, "query": len(RELATIONAL)}
_DELTAS = {r.name: i for i, r in enumerate(DELTA)}
_NEW_KEYS = "add_new_keys"  # before all others, however the Tvr is written


class Extraction:
    """The choices for one situation. ``deltas`` holds a tree for each Tvr whose delta is used, in order."""

    def __init__(
        self,
        memo: Memo,
        situation: Situation,
        states: dict[int, Kept],
        counted: frozenset[int],
        *,
        loading: bool = False,
        choosing: bool = False,
    ) -> None:
        """``choosing`` says that what is to be kept is not known yet."""
        self.loading = loading
        self.choosing = choosing
        self.memo = memo
        self.facts = Facts(memo, situation)
        self.states = states
        self.counted = counted
        self.deltas: dict[int, Node] = {}
        self.chosen: dict[int, tuple[str, str]] = {}
        self.wanted: dict[int, Group] = {}
        self._realised: dict[int, Rel | None] = {}
        self._snapshots: dict[tuple[int, Version], Rel] = {}

    def delta(self, rel: Rel) -> Rel | None:
        """The delta of a Tvr as a reference to its tree in ``deltas``; None when it is empty."""
        group = self.memo.find(rel)
        if self.facts.empty_delta(group):
            return None
        first = self.memo.nodes(group)[0]
        if isinstance(first, Source):
            return Delta(first, OLD, NEW)
        if group.id not in self.deltas and group.id not in self.chosen:
            origin, rule, node = self._choose(group)
            self.chosen[group.id] = (origin, rule)
            tree = self.realise(node)
            if tree is None:
                return None
            # A projection's rows are as many as its input's, so counting them again would tell nothing.
            if group.id in self.counted and not isinstance(first, Project):
                tree = Measured(tree, group.id)
            self.deltas[group.id] = tree
        return Ref(f"d{group.id}", group.attrs) if group.id in self.deltas else None

    def snapshot(self, rel: Rel, at: Version, *, wanted: bool = True) -> Rel:
        """The rows of a Tvr at a version. What would be better kept as a state is noted in ``wanted``."""
        group = self.memo.find(rel)
        if self.facts.empty_delta(group) and not self.loading:
            at = OLD
        kept = self.states.get(group.id)
        if kept is not None:
            if at == NEW and not self.loading:
                self.delta(group)
            if (group.id, at) not in self._snapshots:
                self._snapshots[group.id, at] = Load(kept.name, group.attrs, at, kept.unique)
            return self._snapshots[group.id, at]
        node = written(self.memo, group)
        if wanted and not self.cheap(group):
            target = self._worth_keeping(group)
            self.wanted.setdefault(target.id, target)
            wanted = False
        if (group.id, at) not in self._snapshots:
            inputs = tuple(self.snapshot(i, at, wanted=wanted) for i in node.inputs)
            made = Snapshot(node, at) if isinstance(node, Source) else node.with_inputs(inputs)
            self._snapshots[group.id, at] = made
        return self._snapshots[group.id, at]

    def _worth_keeping(self, group: Group) -> Group:
        """What to keep so that this snapshot is cheap: the partial state of an aggregate below row-wise operators,
        one state for all that only rename, else the relation itself, filtered and pruned as it is needed."""
        below, renamed = group, group
        node = written(self.memo, group)
        while isinstance(node, LINEAR) and len(node.inputs) == 1:
            if self._only_gains_keys(below):
                return below
            below = self.memo.find(node.inputs[0])
            if renamed == group and isinstance(node, Project) and node.plain and len(node.columns) == len(below.attrs):
                renamed = below
            node = written(self.memo, below)
        return below if isinstance(node, Partials) else renamed

    def cheap(self, rel: Rel) -> bool:
        """Whether a snapshot is read from sources and states by row-wise operators alone."""
        group = self.memo.find(rel)
        if group.id in self.states:
            return True
        node = written(self.memo, group)
        if isinstance(node, Source | Constant):
            return True
        return isinstance(node, LINEAR) and all(self.cheap(i) for i in node.inputs)

    def realise(self, rel: Rel) -> Node | None:
        """A concrete tree for a node of the memo; None when it is empty."""
        found = self._realise(rel)
        return found if found is None or isinstance(found, Node) else prune(found, found.attrs)

    def _realise(self, rel: Rel) -> Rel | None:
        if isinstance(rel, Group):
            if rel.id not in self._realised:
                self._realised[rel.id] = self._realise(self.memo.nodes(rel)[0])
            return self._realised[rel.id]
        match rel:
            case Provided(input=below):
                return self._realise(below)
            case Delta(of=of):
                return self.delta(of)
            case Snapshot(of=of, at=at):
                return self.snapshot(of, at)
            case Union(branches=branches, orders=orders, columns=columns):
                kept = [(b, o) for b, o in ((self._realise(b), o) for b, o in zip(branches, orders, strict=True)) if b]
                if not kept:
                    return None
                return Union(tuple(b for b, _ in kept), tuple(o for _, o in kept), columns)
            case Keys(members=members, on=on):
                found = [(m, o) for m, o in ((self._realise(m), o) for m, o in zip(members, on, strict=True)) if m]
                return Keys(tuple(m for m, _ in found), tuple(o for _, o in found)) if found else None
            case Node():
                inputs = [self._realise(i) for i in rel.inputs]
                if any(i is None for i in inputs):
                    return None
                return rel.with_inputs(tuple(i for i in inputs if i is not None))
        raise InternalError("BAD_PLAN", f"cannot realise {rel}")

    def _choose(self, group: Group) -> tuple[str, str, Node]:
        options = []
        for made in self.memo.made(Tvr(self.memo, group).delta()):
            for label in made.rules:
                origins, _, rule = label.partition(">")
                origin = origins.split("|")[0]
                origin = "query" if origin.endswith("/") else origin
                if origin in _ORIGINS and rule in _DELTAS:
                    place = -1 if rule == _NEW_KEYS else _ORIGINS[origin]
                    options.append((place, _DELTAS[rule], origin, rule, made.node))
        for *_, origin, rule, node in sorted(options, key=lambda o: o[:2]):
            if self._only_gains_keys(group) if rule == _NEW_KEYS else self._applies(node):
                return origin, rule, node
        raise InternalError("BAD_PLAN", f"no way to maintain {self.memo.nodes(group)[0]}")

    def _only_gains_keys(self, group: Group) -> bool:
        """Whether a Tvr is a set of keys that is never lost from, and is kept as such."""
        distinct = next((a for a in self.memo.members(group, Aggregate) if a.keys and not a.calls), None)
        if distinct is None or not (self.choosing or group.id in self.states):
            return False
        return self.facts.growing(distinct.input)

    def _applies(self, node: Node) -> bool:
        if isinstance(node, Provided):
            return self.facts.growing(node.grows)
        if isinstance(node, Accumulate) and node.needs_growth:
            change = self.memo.members(node.change, Partials)[0]
            delta = self.memo.members(change.input, Delta)[0]
            return self.facts.growing(delta.of)
        return True


def written(memo: Memo, rel: Rel) -> Node:
    """How a Tvr is computed from scratch: as the query has it, but an aggregate through its partial state."""
    made = memo.made(rel)
    for wish in ("split_distinct", "partial_states"):
        for member in made:
            if member.rule == wish:
                return member.node
    return made[0].node
