"""What to hold under a limit: of things with a size and a use, those that together are of most use and fit.

Kept on the way are the choices that no other one beats in both size and use. So the answer is exact without trying
every subset; only where thousands of choices are undominated, neighbours that differ little are taken for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """Something that may be held: the bytes it takes, and what it saves."""

    name: str
    bytes: int
    saves: float


@dataclass(frozen=True)
class _Choice:
    bytes: int
    saves: float
    names: tuple[str, ...]


_MOST = 5_000  # choices that are kept


def best(items: Sequence[Item], budget: int) -> frozenset[str]:
    """The items that save most within a budget; of equals, those that take least."""
    worth = [i for i in items if i.saves > 0 and i.bytes <= budget]
    if sum(i.bytes for i in worth) <= budget:
        return frozenset(i.name for i in worth)
    front = [_Choice(0, 0.0, ())]
    for item in sorted(worth, key=lambda i: (-i.saves / max(i.bytes, 1), i.name)):
        more = [
            _Choice(c.bytes + item.bytes, c.saves + item.saves, (*c.names, item.name))
            for c in front
            if c.bytes + item.bytes <= budget
        ]
        front = _undominated([*front, *more])
    return frozenset(front[-1].names)


def _undominated(choices: list[_Choice]) -> list[_Choice]:
    """Those that save more than every one that takes no more, in the order of their sizes."""
    found: list[_Choice] = []
    for choice in sorted(choices, key=lambda c: (c.bytes, -c.saves)):
        if not found or choice.saves > found[-1].saves:
            found.append(choice)
    step = -(-len(found) // _MOST)
    return found if step == 1 else [*found[:-1:step], found[-1]]
