"""The contract between planner and executor: for one run, the steps to do, in order.

The executor makes no choices. A step computes one relation and says what becomes of it; later steps
refer to it by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.ir.expr import Attr
from headrace.ir.probe import Index
from headrace.ir.rel import Load, Ref, Rel
from headrace.ir.time import Situation
from headrace.ir.walk import leaves, sources


@dataclass(frozen=True)
class Kept:
    """A state of a view: which Tvr it keeps and whether its rows are known to be distinct."""

    name: str
    operator: str
    rel: Rel = field(compare=False, repr=False)
    unique: bool = False


@dataclass(frozen=True)
class Pin:
    """Compute a relation once and hold it for the rest of the run, because several steps use it."""

    name: str
    rel: Rel


@dataclass(frozen=True)
class Remember:
    """Compute the Delta of what an index holds, once: for the index, where it is there, and for later steps."""

    name: str
    index: Index
    rel: Rel


@dataclass(frozen=True)
class Keep:
    """Add a relation to a state as its next Segment; ``base`` starts the state anew with it."""

    name: str
    state: str
    rel: Rel
    base: bool


@dataclass(frozen=True)
class Publish:
    """Make the result visible: ``replace`` takes ``rel`` as the whole result, else it is a Delta of it,
    and ``growing`` says that it only adds rows. A large result has its files in the order of ``cluster``."""

    rel: Rel
    replace: bool
    growing: bool = False
    cluster: Attr | None = None
    name: str = field(default="publish", init=False)


Step = Pin | Remember | Keep | Publish


@dataclass(frozen=True)
class Upkeep:
    """How one operator of the query is maintained in a plan, and why it is recomputed where it is."""

    tvr: int
    operator: str
    text: str
    method: str
    reason: str | None = None
    state: str | None = None
    depth: int = 0


@dataclass(frozen=True)
class Plan:
    """The steps of one run in one situation; ``situation`` is None for a load from scratch."""

    steps: tuple[Step, ...]
    situation: Situation | None
    upkeep: tuple[Upkeep, ...]

    def moves(self, rel: Rel) -> bool:
        """Whether what a tree reads is not the same before and after the run, or was found by a step of it."""
        moved = self.situation.moved if self.situation else frozenset[str]()
        states = {s.state for s in self.steps if isinstance(s, Keep)}
        for leaf in leaves(rel):
            if isinstance(leaf, Ref) or (isinstance(leaf, Load) and leaf.state in states):
                return True
        return not moved.isdisjoint(sources(rel))
