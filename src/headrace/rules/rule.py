"""What a rule is: a small generator that yields equivalents of one member, and its name.

The kind says where what it yields belongs: a relational rule gives further members of the same Tvr, a
delta rule members of the Tvr's delta. A rule holds its idea only; matching, order and choice are the
planner's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.ir.rel import Node
from headrace.memo.memo import Memo

Body = Callable[..., Iterator[Node]]


@dataclass(frozen=True)
class Rule:
    """``method`` is the word that explain and reports use for what the rule does."""

    name: str
    kind: str
    method: str
    types: tuple[type[Node], ...]
    body: Body

    def __call__(self, node: Node, memo: Memo) -> Iterator[Node]:
        return self.body(node, memo)


def rule(kind: str, method: str, *types: type[Node]) -> Callable[[Body], Rule]:
    def made(body: Body) -> Rule:
        return Rule(body.__name__, kind, method, types, body)

    return made
