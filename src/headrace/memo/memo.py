"""The memo: classes of relations that hold the same rows.

Two nodes are in one group when they give the same bag of rows, weights added up, at every version. A
group of a query's operators is a Tvr; ``Snapshot`` and ``Delta`` nodes over it name its rows at a
version and its change between two, and have groups of their own, so that every way to compute them can
be added there. Interning is structural: equal operators over equal groups are one member. When two
groups turn out to be equal they are merged, and their parents, now perhaps equal too, are interned
again until nothing changes.

Tvrs are linked where one is a part of another, or a view that serves it (``link``). A link outlives a merge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from headrace.errors import InternalError
from headrace.ir.rel import Group, Node, Rel

N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Member:
    """A node of a group, and the rules that made it: ``query`` for what the user wrote, and a stroke behind the rule
    for what it made on the way, as an input of something else. The first comes first."""

    node: Node
    rules: tuple[str, ...]

    @property
    def rule(self) -> str:
        return self.rules[0]


class Memo:
    def __init__(self) -> None:
        self._groups: dict[int, Group] = {}
        self._leader: dict[int, int] = {}
        self._members: dict[int, dict[Node, tuple[str, ...]]] = {}
        self._interned: dict[Node, int] = {}
        self._parents: dict[int, dict[Node, None]] = {}
        self._links: dict[int, dict[str, dict[int, None]]] = {}
        self._news: list[Node] = []

    def find(self, rel: Rel) -> Group:
        """The group that stands for ``rel`` now."""
        if isinstance(rel, Group):
            return self._groups[self._root(rel.id)]
        if not isinstance(rel, Node):
            raise InternalError("BAD_NODE", f"a memo holds nodes and groups, not {type(rel).__name__}")
        known = self._interned.get(rel)
        return self.add(rel) if known is None else self._groups[self._root(known)]

    def add(self, node: Node, into: Group | None = None, rule: str = "query") -> Group:
        """Intern a node, its nested inputs first; with ``into``, as a member of that group."""
        node = self._canonical(node, rule if rule == "query" or rule.endswith("/") else f"{rule}/")
        known = self._interned.get(node)
        if known is None:
            group = self.find(into) if into is not None else self._new_group(node)
            if {a.id for a in node.attrs} != {a.id for a in group.attrs}:
                raise InternalError("BAD_NODE", f"{node} has other columns than its group")
            self._insert(node, group.id, (rule,))
            return group
        group = self._groups[self._root(known)]
        self._insert(node, group.id, (rule,))
        return group if into is None else self.merge(group, into)

    def merge(self, a: Group, b: Group) -> Group:
        """Say that two groups hold the same rows. The one with the smaller number stays."""
        work = [(a.id, b.id)]
        while work:
            x, y = (self._root(i) for i in work.pop())
            if x == y:
                continue
            keep, gone = min(x, y), max(x, y)
            self._leader[gone] = keep
            for node, rules in self._members.pop(gone).items():
                self._members[keep][node] = _both(self._members[keep].get(node, ()), rules)
                self._interned[node] = keep
            for kind, others in self._links.pop(gone, {}).items():
                self._links.setdefault(keep, {}).setdefault(kind, {}).update(others)
            parents = self._parents.pop(gone)
            for parent in parents:
                owner = self._interned.pop(parent, None)
                if owner is None:
                    continue
                owner = self._root(owner)
                rules = self._members[owner].pop(parent)
                changed = self._canonical(parent)
                twin = self._interned.get(changed)
                self._insert(changed, owner if twin is None else self._root(twin), rules)
                if twin is not None:
                    work.append((twin, owner))
        return self.find(a)

    def nodes(self, rel: Rel) -> list[Node]:
        """The nodes of a group, first come first."""
        return list(self._members[self.find(rel).id])

    def members(self, rel: Rel, kind: type[N]) -> list[N]:
        """The nodes of a group that are of a kind."""
        return [n for n in self.nodes(rel) if isinstance(n, kind)]

    def made(self, rel: Rel) -> list[Member]:
        return [Member(node, rules) for node, rules in self._members[self.find(rel).id].items()]

    def group_of(self, node: Node) -> Group | None:
        """The group that has a node as a member now; None where a merge has put another in its place."""
        known = self._interned.get(node)
        return None if known is None else self._groups[self._root(known)]

    def rules_of(self, node: Node) -> tuple[str, ...]:
        """The rules that made a member."""
        return self._members[self._root(self._interned[node])][node]

    def parents(self, rel: Rel) -> list[Node]:
        """The members that have a group among their inputs."""
        return [p for p in self._parents[self.find(rel).id] if p in self._interned]

    def link(self, of: Rel, kind: str, to: Rel) -> bool:
        """Say that one Tvr has another as its ``kind``, which is ``"kind of"`` the first; whether that is new."""
        one, other = self.find(of), self.find(to)
        new = other not in self.linked(one, kind)
        self._links.setdefault(one.id, {}).setdefault(kind, {})[other.id] = None
        self._links.setdefault(other.id, {}).setdefault(f"{kind} of", {})[one.id] = None
        return new

    def linked(self, of: Rel, kind: str) -> list[Group]:
        """The Tvrs that one is linked to, in the order in which the links were made."""
        found = self._links.get(self.find(of).id, {}).get(kind, {})
        return list(dict.fromkeys(self._groups[self._root(i)] for i in found))

    def links(self, of: Rel) -> dict[str, list[Group]]:
        return {kind: self.linked(of, kind) for kind in self._links.get(self.find(of).id, {})}

    def news(self) -> list[Node]:
        """The members that came since this was last asked."""
        found, self._news = self._news, []
        return [n for n in found if n in self._interned]

    def groups(self) -> Iterator[Group]:
        return iter([self._groups[i] for i in self._members])

    def dump(self) -> str:
        """One group a line, for people and tests."""
        lines = []
        for i, nodes in self._members.items():
            shown = " | ".join(f"{type(n).__name__}({', '.join(_name(x) for x in n.inputs)})" for n in nodes)
            lines.append(f"G{i}: {shown}")
        return "\n".join(lines)

    def _root(self, i: int) -> int:
        while self._leader[i] != i:
            self._leader[i] = self._leader[self._leader[i]]
            i = self._leader[i]
        return i

    def _canonical(self, node: Node, rule: str = "query") -> Node:
        inputs = tuple(self.add(i, rule=rule) if isinstance(i, Node) else self.find(i) for i in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        return node if same else node.with_inputs(inputs)

    def _new_group(self, node: Node) -> Group:
        number = len(self._leader)
        group = Group(number, node.attrs)
        self._groups[number] = group
        self._leader[number] = number
        self._members[number] = {}
        self._parents[number] = {}
        return group

    def _insert(self, node: Node, group: int, rules: tuple[str, ...]) -> None:
        if node not in self._members[group]:
            self._news.append(node)
        self._members[group][node] = _both(self._members[group].get(node, ()), rules)
        self._interned[node] = group
        for i in node.inputs:
            if isinstance(i, Group):
                self._parents[self._root(i.id)][node] = None


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return one + tuple(r for r in other if r not in one)


def _name(rel: Rel) -> str:
    return f"G{rel.id}" if isinstance(rel, Group) else type(rel).__name__
