"""A query as DISS sees it: a binary tree of operators with their sizes, the predicted change of each, and the states
that could stay in memory for it.

``rows`` is a result as it is before the next delta, ``change`` what the delta will do to it. States are over
Materialize nodes, Sorts and Aggregates. A hash table of one side of a join is a state of the Materialize above that
side: so it can serve rows that come from further up as well. Everything else is pipelined and keeps nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headrace.ir.aggregate import Merging
from headrace.planner.demand import Demand, Key
from headrace.stats.estimate import Change


@dataclass(frozen=True)
class Candidate:
    """A state that may stay in memory. ``there`` says that it is built anyway, or is there already. Where it is not,
    ``making`` are the seconds of computing its rows, where no run does that by itself, and ``part`` is the part of its
    price that this delta pays: what is made now may serve many deltas."""

    name: str
    bytes: int
    there: bool = False
    making: float = 0.0
    part: float = 1.0

    def made(self, build: float) -> float:
        """What making it costs this delta, if building it from its rows takes so many seconds."""
        return 0.0 if self.there else self.part * (self.making + build)


@dataclass(frozen=True)
class Table:
    """A state that is a hash table by a key."""

    key: Key
    candidate: Candidate


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator with all below it. ``distinct`` are the different values that each column can have, ``base`` the
    rows that there would be without filters, which bounds the different values of several columns; ``measured`` is how
    many rows there are for a value of a key, where that is known better."""

    rows: float
    change: Change
    distinct: Mapping[str, float] = field(default_factory=dict)
    base: float = 0.0
    measured: Mapping[Key, float] = field(default_factory=dict, kw_only=True)

    @property
    def after(self) -> float:
        """The rows of the full result once the delta is in."""
        return max(self.rows + self.change.inserts - self.change.deletes, 0.0)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return ()

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Its own states."""
        return ()

    def fanout(self, key: Key) -> float:
        """How many rows there are for a value of a key, on average; less than one where filters leave few."""
        if key in self.measured:
            return self.measured[key]
        values = math.prod(self.distinct.get(c, 1.0) for c in key)
        return self.rows / max(min(values, max(self.base, self.rows)), 1.0)


@dataclass(frozen=True, eq=False)
class Scan(Operator):
    """Rows of a base relation, filtered and projected on their way. ``reads`` are the rows that must be read for all
    of its result, ``reads_delta`` those for its delta."""

    name: str = ""
    reads: float = 0.0
    reads_delta: float = 0.0


@dataclass(frozen=True, eq=False)
class Materialize(Operator):
    """The rows of its input, which may be kept: as they are (``as_rows``), or in hash tables by keys. ``replayed`` says
    that what is kept may be read whole too."""

    input: Operator = field(kw_only=True)
    as_rows: Candidate | None = None
    tables: tuple[Table, ...] = ()
    replayed: bool = True

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return (*([self.as_rows] if self.as_rows else []), *(t.candidate for t in self.tables))


@dataclass(frozen=True, eq=False)
class Sort(Operator):
    """Its input in order. What is sorted is there after a batch, and may be kept."""

    input: Operator = field(kw_only=True)
    state: Candidate = field(kw_only=True)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return (self.state,)


@dataclass(frozen=True, eq=False)
class Aggregate(Operator):
    """Groups of its input. ``durable`` says that their state is in files too, where it takes no memory."""

    input: Operator = field(kw_only=True)
    state: Candidate = field(kw_only=True)
    merging: Merging = Merging.ALWAYS
    durable: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return (self.state,)

    @property
    def incremental(self) -> bool:
        """Whether the delta of the input is enough to bring the groups up to date."""
        left = self.input.change.left > 0
        return self.merging is Merging.ALWAYS or (self.merging is Merging.GROWING and not left)


@dataclass(frozen=True, eq=False)
class HashJoin(Operator):
    """An inner join by equality of two keys, the hash table over the right side. ``by_terms`` says that its delta is
    computed as a sum of terms, each of which begins with the delta of one relation and goes outwards: it looks up what
    is held, and reads the rest for itself. A full result then comes from both sides in full."""

    left: Operator = field(kw_only=True)
    right: Operator = field(kw_only=True)
    left_key: Key = ()
    right_key: Key = ()
    by_terms: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    @cached_property
    def terms(self) -> int:
        """Of how many terms its delta is the sum."""
        return terms_of(self.left) + terms_of(self.right)


def terms_of(op: Operator) -> int:
    """Of how many terms the delta of a result is the sum: one for each relation that moves."""
    while isinstance(op, Materialize):
        op = op.input
    return op.terms if isinstance(op, HashJoin) else int(bool(op.change))


@dataclass(frozen=True, eq=False)
class Forest(Operator):
    """Several trees at once, and what is asked of each."""

    parts: tuple[Operator, ...] = ()
    demands: tuple[Demand, ...] = ()

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return self.parts


def forest(needs: Iterable[tuple[Operator, Demand]]) -> Forest:
    """Trees with what is asked of them, to be planned together."""
    asked = list(needs)
    moved = sum(op.change.rows for op, _ in asked) or 1.0
    return Forest(0.0, Change(moved), parts=tuple(op for op, _ in asked), demands=tuple(d for _, d in asked))


def walk(op: Operator) -> Iterator[Operator]:
    """Every operator of a tree, inputs first."""
    for i in op.inputs:
        yield from walk(i)
    yield op


def candidates(op: Operator) -> dict[str, Candidate]:
    """The states of a tree by name. Of one that occurs twice the tree has it twice, and it counts once here."""
    return {c.name: c for o in walk(op) for c in o.candidates}
