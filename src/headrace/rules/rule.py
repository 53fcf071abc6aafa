"""What a rule is: a small generator that yields equivalents of one member, and its name.

The kind says where what it yields belongs: a relational rule gives further members of the same Tvr, a
delta rule members of the Tvr's delta, a snapshot rule members of its newest snapshot. A ``Link`` says that the
Tvr has a part, or a view that serves it. A rule holds its idea only; matching, order and choice are the planner's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headrace.ir.rel import Node
from headrace.memo.memo import Memo

# Rules that every method has, and those that every method but computing anew has.
ANY, CHANGES = "any", "changes"
PRIORITIES = {"relational": 0, "delta": 10, "snapshot": 20}


@dataclass(frozen=True)
class Link:
    """The Tvr of the member that a rule looks at has ``to`` as its ``kind``."""

    kind: str
    to: Node


Body = Callable[..., Iterator[Node | Link]]


@dataclass(frozen=True)
class Rule:
    """``method`` is the word that explain and reports use for what the rule does. ``families`` names the methods that
    it belongs to, ``links`` the kinds of links of its inputs that it looks at, and ``leaves`` rules whose yields it
    does not look at. Rules of a lower ``priority`` come first. For ``spare`` operators it yields only what nothing
    else has given."""

    name: str
    kind: str
    method: str
    types: tuple[type[Node], ...]
    body: Body
    families: frozenset[str] = frozenset({ANY})
    links: tuple[str, ...] = ()
    leaves: frozenset[str] = frozenset()
    priority: int = 0
    spare: tuple[type[Node], ...] = ()

    def __call__(self, node: Node, memo: Memo) -> Iterator[Node]:
        """The equivalents of a node."""
        return (made for made in self.body(node, memo) if isinstance(made, Node))

    def fire(self, node: Node, memo: Memo) -> Iterator[Node | Link]:
        """The equivalents of a node, and the links of its Tvr."""
        return self.body(node, memo)


def rule(
    kind: str,
    method: str,
    *types: type[Node],
    families: Iterable[str] | None = None,
    links: Iterable[str] = (),
    leaves: Iterable[str] = (),
    priority: int | None = None,
    spare: Iterable[type[Node]] = (),
) -> Callable[[Body], Rule]:
    """Make a rule of a generator. Without families it is one that every method has."""

    def made(body: Body) -> Rule:
        default = (CHANGES,) if kind == "delta" else (ANY,)
        return Rule(
            body.__name__,
            kind,
            method,
            types,
            body,
            frozenset(default if families is None else families),
            tuple(links),
            frozenset(leaves),
            PRIORITIES[kind] if priority is None else priority,
            tuple(spare),
        )

    return made
