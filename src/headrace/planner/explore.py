"""Filling a memo: every rule on every member of every Tvr, once, in symbolic time.

A relational rule's yields join the member's own group; a delta rule's join the group of the Tvr's delta,
tagged with the rules that made the member they came from, so that choosing knows the whole way; a snapshot
rule's join the group of its newest snapshot. What is explored holds between any two versions, so that
exploring does not grow with the number of runs (Tempura §5.3).

Rules are indexed by the operators and links that they look at. Whatever may fire waits in one queue, in the
order of priority and then of first sight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from headrace.ir.rel import Group, Node, Rel
from headrace.ir.time import NEW
from headrace.memo.memo import Memo
from headrace.memo.tvr import Tvr
from headrace.rules import DELTA, RELATIONAL
from headrace.rules.rule import Link, Rule

BASIC = (*RELATIONAL, *DELTA)


@dataclass(frozen=True)
class Fired:
    """A rule that gave something new: of which node it made which."""

    rule: str
    on: Node
    made: Node


def explore(memo: Memo, root: Rel, rules: Sequence[Rule] = BASIC) -> Group:
    """Explore all that ``root`` is made of; returns its group."""
    Engine(memo, rules).explore(root)
    return memo.find(root)


class Engine:
    """Fires rules until nothing is new. Without ``pruning`` also those whose yields hardly ever pay; ``trace`` tells
    what made what."""

    def __init__(self, memo: Memo, rules: Sequence[Rule], *, pruning: bool = True) -> None:
        self.memo = memo
        self.rules = tuple(rules)
        self.pruning = pruning
        self.trace: list[Fired] = []
        self.tried: Counter[str] = Counter()
        self._indexed: dict[type[Node], list[Rule]] = {}
        self._queue: list[tuple[int, int, Rule, Node]] = []
        self._waiting: set[tuple[str, Node]] = set()
        self._seen: set[tuple[str, Node]] = set()
        self._number = 0

    def explore(self, root: Rel) -> None:
        for group in tvrs(self.memo, self.memo.find(root)):
            for node in self.memo.nodes(group):
                self._found(node)
        self.memo.news()
        while self._queue:
            *_, rule, node = heappop(self._queue)
            self._waiting.discard((rule.name, node))
            owner = self.memo.group_of(node)
            if owner is not None:
                self._fire(rule, node, owner)

    def _found(self, node: Node, link: str | None = None) -> None:
        """A member that came, or one of whose inputs was linked."""
        kind = type(node)
        if kind not in self._indexed:
            self._indexed[kind] = [r for r in self.rules if issubclass(kind, r.types)]
        for rule in self._indexed[kind]:
            key = (rule.name, node)
            wanted = link in rule.links if link is not None else key not in self._seen
            if wanted and key not in self._waiting:
                self._waiting.add(key)
                self._seen.add(key)
                self._number += 1
                heappush(self._queue, (rule.priority, self._number, rule, node))

    def _fire(self, rule: Rule, node: Node, group: Group) -> None:
        memo, origins = self.memo, self.memo.rules_of(node)
        if rule.leaves.intersection(origins) or (
            self.pruning and isinstance(node, rule.spare) and self._has_delta(group)
        ):
            return
        self.tried[rule.name] += 1
        for made in rule.fire(node, memo):
            group = memo.find(group)
            if isinstance(made, Link):
                if memo.link(group, made.kind, memo.add(made.to, rule=f"{rule.name}/")):
                    self._linked(group, made.kind)
            elif rule.kind == "relational":
                memo.add(made, into=group, rule=rule.name)
            else:
                tvr = Tvr(memo, group)
                memo.news()
                into = tvr.delta() if rule.kind == "delta" else tvr.snapshot(NEW)
                memo.add(made, into=into, rule=f"{'|'.join(origins)}>{rule.name}")
            new = memo.news()
            if new:
                self.trace.append(Fired(rule.name, node, new[-1]))
            if rule.kind == "relational":
                for n in new:
                    self._found(n)

    def _linked(self, group: Group, kind: str) -> None:
        for parent in self.memo.parents(group):
            self._found(parent, kind)

    def _has_delta(self, group: Group) -> bool:
        return len(self.memo.nodes(Tvr(self.memo, group).delta())) > 1


def tvrs(memo: Memo, top: Group) -> list[Group]:
    """The groups below ``top``, inputs first."""
    seen: dict[int, Group] = {}
    entered: set[int] = set()

    def visit(rel: Rel) -> None:
        group = memo.find(rel)
        if group.id in entered:
            return
        entered.add(group.id)
        for node in memo.nodes(group):
            for i in node.inputs:
                visit(i)
        seen[group.id] = group

    visit(top)
    return list(seen.values())
