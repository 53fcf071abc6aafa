"""What there is to choose from, for one query: an explored memo made ready for a search over runs.

A *point* is a relation at a time: what a Tvr holds at a version, or what changes in it between two. Time is the vector
of DESIGN §1: a version is the set of sources that have moved in the run. What was explored holds between any two
versions, so each way to compute a delta is written down once, as a *program* in symbolic time, and put to use at every
point of every run.

Five kinds of points:

    rows       a Tvr at a version, however it is had
    operator   the same, computed by the Tvr's own operator from its inputs at that version
    anew       the newest rows, where they may differ by rounding from what was published before (see ``repeatable``)
    change     the delta of a Tvr between two versions
    found      a Tvr at a version, of which only the rows with some keys are looked up in memory
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Constant,
    Delta,
    Finish,
    Group,
    Keys,
    Negate,
    Node,
    Partials,
    Project,
    Provided,
    Rel,
    Restrict,
    Snapshot,
    Source,
)
from headrace.ir.time import NEW, Version
from headrace.memo.memo import Member, Memo
from headrace.memo.props import Facts
from headrace.memo.tvr import Tvr
from headrace.planner.explore import tvrs
from headrace.planner.row_wise import ROW_WISE
from headrace.rules import METHODS, RULES
from headrace.rules.rule import Rule

ROWS, OPERATOR, ANEW, CHANGE, FOUND = "rows", "operator", "anew", "change", "found"
Moved = frozenset[str]
NONE: Moved = frozenset()
_ALGEBRA = (Accumulate, Restrict, Keys)


Rules = tuple[tuple[str, ...], ...]  # steps to something, each by any one of some rules


class Point(NamedTuple):
    """A relation at a time. ``since`` is of use to changes alone."""

    kind: str
    tvr: int
    until: Moved
    since: Moved = NONE


class Input(NamedTuple):
    """An input of an operation: the result of an earlier one, or a Tvr at a symbolic time."""

    operation: int | None
    kind: str = ""
    tvr: int = -1
    at: Version = Version()


@dataclass(frozen=True)
class Operation:
    """An operator of the algebra of deltas, over earlier operations and Tvrs."""

    node: Node
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class Program:
    """One way to compute a relation: operations, the last of which gives it. Something that several operations use is
    one operation. ``grows`` are Tvrs that must not lose rows in the run; ``rules`` made it, one of each."""

    operations: tuple[Operation, ...]
    rules: Rules
    grows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Relation:
    """A Tvr: the node that the query, or the rule that first thought of it, has for it, and all ways to compute it."""

    id: int
    group: Group
    first: Node
    sources: frozenset[str]
    repeatable: bool
    operators: tuple[Program, ...]
    changes: tuple[Program, ...]
    merges: bool
    inputs: frozenset[int]
    over_leaf: bool
    signed: bool

    @cached_property
    def leaf(self) -> bool:
        return isinstance(self.first, Source | Constant)

    @cached_property
    def row_wise(self) -> tuple[Program, ...]:
        """The ways to compute it row by row from one other."""
        alone = (p for p in self.operators if len(p.operations) == 1)
        return tuple(p for p in alone if isinstance(p.operations[0].node, ROW_WISE))

    @cached_property
    def keepable(self) -> bool:
        """Whether it may be worth keeping: not what is read as fast from what it is made of."""
        if isinstance(self.first, Source | Constant | Negate | Finish | Accumulate | Restrict | Keys):
            return False
        if isinstance(self.first, Aggregate) and self.first.calls:
            return False
        return not self.signed and not (isinstance(self.first, Project) and self.over_leaf)


class Space:
    """The Tvrs of an explored memo by number."""

    def __init__(self, memo: Memo, root: Rel, rules: tuple[Rule, ...] = RULES) -> None:
        self.memo = memo
        self.root = memo.find(root)
        self.families = {r.name: r.families for r in rules}
        self.methods = {r.name: r.method for r in rules}
        self.facts = Facts(memo)
        self._allowed: dict[tuple[Rules, frozenset[str]], bool] = {}
        self.tvrs: dict[int, Relation] = {}
        waiting = tvrs(memo, self.root)
        while waiting:
            for group in waiting:
                self.tvrs[group.id] = self._relation(group)
            named = {i for r in self.tvrs.values() for i in r.inputs} - self.tvrs.keys()
            waiting = [memo.find(Group(i, ())) for i in sorted(named)]

    @cached_property
    def above(self) -> dict[int, frozenset[int]]:
        """For each Tvr, itself and all that are computed from it."""
        found: dict[int, set[int]] = {i: {i} for i in self.tvrs}
        before, now = -1, 0
        while before != now:
            for i in reversed(list(self.tvrs)):
                for below in self.tvrs[i].inputs:
                    found[below] |= found[i]
            before, now = now, sum(map(len, found.values()))
        return {i: frozenset(up) for i, up in found.items()}

    def allowed(self, rules: Rules, families: frozenset[str] | None) -> bool:
        """Whether rules of some families suffice; None stands for all."""
        if families is None:
            return True
        key = (rules, families)
        if key not in self._allowed:
            self._allowed[key] = all(any(self._of(r, families) for r in step) for step in rules)
        return self._allowed[key]

    def _of(self, rule: str, families: frozenset[str]) -> bool:
        return rule == "query" or bool(self.families[rule.rstrip("/")] & families)

    def _relation(self, group: Group) -> Relation:
        memo, tvr = self.memo, Tvr(self.memo, group)
        # An aggregate is computed by way of its partial state, however it is computed.
        operators = tuple(self._operator(m) for m in memo.made(group) if not isinstance(m.node, Aggregate))
        changes = tuple(self._program(m.node, label) for m, label in _by_rules(memo.made(tvr.delta())))
        merges = any(True for _ in _by_rules(memo.made(tvr.snapshot(NEW))))
        used = {i.tvr for p in (*operators, *changes) for o in p.operations for i in o.inputs if i.operation is None}
        return Relation(
            group.id,
            group,
            memo.nodes(group)[0],
            self.facts.sources(group),
            self.facts.repeatable(group),
            operators,
            changes,
            merges,
            frozenset(used - {group.id}),
            any(isinstance(self.memo.nodes(i)[0], Source) for i in memo.nodes(group)[0].inputs),
            self.facts.signed(group),
        )

    def _operator(self, member: Member) -> Program:
        """A Tvr's own operator over its inputs. What a rule has of the algebra of deltas in it is no Tvr by itself."""
        operations: list[Operation] = []
        done: dict[int, Input] = {}

        def visit(rel: Rel) -> Input:
            group = self.memo.find(rel)
            if group.id not in done:
                node = self.memo.nodes(group)[0]
                algebra = isinstance(node, _ALGEBRA)
                done[group.id] = add(node) if algebra else Input(None, ROWS, group.id)
            return done[group.id]

        def add(node: Node) -> Input:
            inputs = tuple(visit(i) for i in node.inputs)
            operations.append(Operation(node, inputs))
            return Input(len(operations) - 1)

        add(member.node)
        return Program(tuple(operations), (member.rules,))

    def _program(self, node: Node, label: str) -> Program:
        operations: list[Operation] = []
        grows: list[int] = []
        done: dict[int, Input] = {}

        def visit(rel: Rel) -> Input:
            if isinstance(rel, Group):
                if rel.id not in done:
                    done[rel.id] = visit(self.memo.nodes(rel)[0])
                return done[rel.id]
            match rel:
                case Snapshot(of=of, at=at):
                    return Input(None, ROWS, self.memo.find(of).id, at)
                case Delta(of=of):
                    return Input(None, CHANGE, self.memo.find(of).id)
                case Provided(input=below, grows=of):
                    grows.append(self.memo.find(of).id)
                    return visit(below)
            assert isinstance(rel, Node)
            if isinstance(rel, Accumulate) and rel.needs_growth:
                change = self.memo.members(rel.change, Partials)[0]
                grows.append(self.memo.find(self.memo.members(change.input, Delta)[0].of).id)
            inputs = tuple(visit(i) for i in rel.inputs)
            operations.append(Operation(rel, inputs))
            return Input(len(operations) - 1)

        visit(node)
        origins, _, rule = label.partition(">")
        return Program(tuple(operations), (tuple(origins.split("|")), (rule,)), tuple(grows))


def _by_rules(members: list[Member]) -> Iterator[tuple[Member, str]]:
    """The members that rules gave for a delta or a snapshot, and by which way."""
    for m in members:
        label = next((r for r in m.rules if ">" in r and not r.endswith("/")), None)
        if label is not None and not isinstance(m.node, Snapshot | Delta):
            yield m, label


def families_of(*methods: str) -> frozenset[str]:
    """The families of rules of some methods together."""
    return frozenset[str]().union(*(METHODS[m] for m in methods))
