"""When a view is due.

A policy is a pure function of a Moment. It has one primitive, ``next``: the time from which on it is due if nothing
but the clock moves, ``moment.now`` when it is due already, None when only an event can make it due. So

    due(m)  =  next(m) ≤ m.now
    due, once reached by the clock, lasts until the view runs
    (a | b).next  =  the earlier          (a & b).next  =  the later, None if one is None

The last line holds because of the one before it: when the later part becomes due, the earlier one still is. Hence
``every("10 min") & after_rows(1000)`` is due at the first moment at which the last run is ten minutes old and a
thousand rows wait, in whichever order the two came about; and it asks for no alarm while fewer rows wait.

``|`` and ``&`` are commutative, associative and idempotent in ``due``; chains are flat and hold each part once.
The policies that they join are in ``by_clock`` and ``by_event``.
``str(policy)`` is the text of settings, which ``policy_text.parse`` reads; ``repr(policy)`` is Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.runtime.moment import Moment


class Policy(ABC):
    """To add one: a frozen dataclass with ``next``, ``why``, its text and its Python; see CONTRIBUTING.md."""

    @abstractmethod
    def next(self, moment: Moment) -> float | None:
        """The time from which on it is due if nothing but the clock moves; ``moment.now`` when it is due."""

    @abstractmethod
    def why(self, moment: Moment) -> str:
        """In a few words why it is due; where it is not, what there is so far."""

    def due(self, moment: Moment) -> bool:
        at = self.next(moment)
        return at is not None and at <= moment.now

    @property
    def inputs(self) -> frozenset[str]:
        """The inputs that it names: a view that does not read them all cannot have it."""
        return frozenset()

    def __or__(self, other: Policy) -> Policy:
        return _joined(Either, (self, other)) if isinstance(other, Policy) else NotImplemented

    def __and__(self, other: Policy) -> Policy:
        return _joined(Both, (self, other)) if isinstance(other, Policy) else NotImplemented


@dataclass(frozen=True, repr=False)
class _Chain(Policy):
    parts: tuple[Policy, ...]

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset().union(*(p.inputs for p in self.parts))


class Either(_Chain):
    """Due when one of its parts is."""

    def next(self, moment: Moment) -> float | None:
        return min((at for p in self.parts if (at := p.next(moment)) is not None), default=None)

    def why(self, moment: Moment) -> str:
        due = [p for p in self.parts if p.due(moment)]
        return "; ".join(p.why(moment) for p in due or self.parts)

    def __str__(self) -> str:
        return " | ".join(str(p) for p in self.parts)

    def __repr__(self) -> str:
        return " | ".join(repr(p) for p in self.parts)


class Both(_Chain):
    """Due when all of its parts are, at the same moment."""

    def next(self, moment: Moment) -> float | None:
        latest = moment.now
        for p in self.parts:
            at = p.next(moment)
            if at is None:
                return None
            latest = max(latest, at)
        return latest

    def why(self, moment: Moment) -> str:
        missing = [p for p in self.parts if not p.due(moment)]
        return " and ".join(p.why(moment) for p in missing or self.parts)

    def __str__(self) -> str:
        return " & ".join(f"({p})" if isinstance(p, Either) else str(p) for p in self.parts)

    def __repr__(self) -> str:
        return " & ".join(f"({p!r})" if isinstance(p, Either) else repr(p) for p in self.parts)


def _joined(kind: type[_Chain], parts: Iterable[Policy]) -> Policy:
    flat = dict.fromkeys(q for p in parts for q in (p.parts if isinstance(p, kind) else (p,)))
    return kind(tuple(flat)) if len(flat) > 1 else next(iter(flat))
