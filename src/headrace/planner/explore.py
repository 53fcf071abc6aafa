"""Filling a memo: every rule on every member of every Tvr, once, in symbolic time.

A relational rule's yields join the member's own group; a delta rule's join the group of the Tvr's delta,
tagged with the rule that made the member they came from, so that choosing knows the whole way.
"""

from __future__ import annotations

from headrace.ir.rel import Group, Rel
from headrace.memo.memo import Memo
from headrace.memo.tvr import Tvr
from headrace.rules import DELTA, RELATIONAL


def explore(memo: Memo, root: Rel) -> Group:
    """Explore all that ``root`` is made of; returns its group."""
    top = memo.find(root)
    for group in _rewrite(memo, top):
        delta = Tvr(memo, group).delta()
        for made in memo.made(group):
            for rule in DELTA:
                if isinstance(made.node, rule.types):
                    for node in rule(made.node, memo):
                        memo.add(node, into=delta, rule=f"{made.rule}>{rule.name}")
    return memo.find(top)


def _rewrite(memo: Memo, top: Group) -> list[Group]:
    """Apply relational rules until nothing is new; returns the groups that are Tvrs, in order of first sight."""
    tried: set[tuple[str, int]] = set()
    while True:
        groups = tvrs(memo, top)
        before = len(tried)
        for group in groups:
            for node in memo.nodes(group):
                for rule in RELATIONAL:
                    if isinstance(node, rule.types) and (rule.name, hash(node)) not in tried:
                        tried.add((rule.name, hash(node)))
                        for made in rule(node, memo):
                            memo.add(made, into=memo.find(group), rule=rule.name)
        if len(tried) == before:
            return groups


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
