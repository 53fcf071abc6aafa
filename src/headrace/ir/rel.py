"""Relations: the operators of a query, and the few that the algebra of deltas adds.

Every relation is a bag of rows with weights. A node is frozen and names its inputs, each a ``Rel``: a
node before the memo, a ``Group`` inside it, a ``Ref`` to an earlier step in a plan. Hashing is
therefore shallow where it matters. A node's docstring is its meaning under bag semantics with weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from headrace.errors import InternalError
from headrace.ir.aggregate import Buffer, Call
from headrace.ir.expr import Attr, Column, Equal, Expr, SortKey, ref
from headrace.ir.time import Version


class Rel:
    """Anything that stands for a bag of rows with known attributes."""

    @property
    def attrs(self) -> tuple[Attr, ...]:
        raise NotImplementedError


@dataclass(frozen=True)
class Group(Rel):
    """A class of equivalent nodes in a memo, named by number."""

    id: int
    output: tuple[Attr, ...] = field(compare=False, repr=False)

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.output


@dataclass(frozen=True)
class Ref(Rel):
    """The rows that an earlier step of the same plan computed."""

    step: str
    output: tuple[Attr, ...] = field(compare=False, repr=False)

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.output


@dataclass(frozen=True)
class Node(Rel):
    """An operator over named inputs."""

    @property
    def inputs(self) -> tuple[Rel, ...]:
        found: list[Rel] = []
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Rel):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(v for v in value if isinstance(v, Rel))
        return tuple(found)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Node:
        """The same operator over other inputs, given in the order of ``inputs``."""
        rest = list(inputs)
        changes: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Rel):
                changes[f.name] = rest.pop(0)
            elif isinstance(value, tuple) and any(isinstance(v, Rel) for v in value):
                changes[f.name] = tuple(rest.pop(0) for _ in value)
        return replace(self, **changes) if changes else self


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise InternalError("BAD_NODE", what)


def _ids(attrs: tuple[Attr, ...]) -> set[str]:
    return {a.id for a in attrs}


# --- leaves ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source(Node):
    """The rows of a base relation: the columns that its ``fields`` name."""

    name: str
    columns: tuple[Attr, ...]
    fields: tuple[str, ...]

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


@dataclass(frozen=True)
class Constant(Node):
    """Rows that never change: VALUES, range, the one-row relation."""

    columns: tuple[Attr, ...]
    text: str
    handle: Any = field(compare=False, repr=False, default=None)
    exact: str = ""

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


# --- linear operators --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Project(Node):
    """Each row mapped to ``columns``, weight kept."""

    input: Rel
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        have = _ids(self.input.attrs)
        for c in self.columns:
            _check(c.expr.refs <= have, f"Project {c} uses what its input does not have")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return tuple(c.attr for c in self.columns)

    @property
    def plain(self) -> bool:
        """Whether it computes nothing: it drops, orders or renames columns."""
        return all(c.plain for c in self.columns)

    @property
    def pruning(self) -> bool:
        """Whether it only drops or orders columns: every attribute keeps its id."""
        return all(c.plain and c.expr.refs == {c.attr.id} for c in self.columns)


@dataclass(frozen=True)
class Filter(Node):
    """The rows for which every conjunct is true, weight kept."""

    input: Rel
    conjuncts: tuple[Expr, ...]

    def __post_init__(self) -> None:
        have = _ids(self.input.attrs)
        for c in self.conjuncts:
            _check(c.refs <= have, f"Filter {c} uses what its input does not have")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Union(Node):
    """All rows of all branches, weights added. ``branches`` names, for each input, its columns in order."""

    branches: tuple[Rel, ...]
    orders: tuple[tuple[Attr, ...], ...]
    columns: tuple[Attr, ...]

    def __post_init__(self) -> None:
        _check(len(self.branches) == len(self.orders), "Union needs an order for each branch")
        for branch, order in zip(self.branches, self.orders, strict=True):
            _check(len(order) == len(self.columns), "Union branches differ in width")
            _check(_ids(order) <= _ids(branch.attrs), "Union names a column that its branch does not have")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


def prune(rel: Rel, attrs: tuple[Attr, ...]) -> Project:
    """The relation with just these of its columns."""
    return Project(rel, tuple(Column(a, ref(a)) for a in attrs))


def union(*branches: Rel) -> Node:
    """The union of relations with the same attributes."""
    columns = branches[0].attrs
    return Union(branches, tuple(columns for _ in branches), columns)


@dataclass(frozen=True)
class Expand(Node):
    """Each row once for every list of expressions in ``rows``, weight kept (grouping sets, several distincts)."""

    input: Rel
    rows: tuple[tuple[Expr, ...], ...]
    columns: tuple[Attr, ...]

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


@dataclass(frozen=True)
class Generate(Node):
    """Each row once for every element that a generator (explode, …) makes of it, weight kept."""

    input: Rel
    columns: tuple[Attr, ...]
    text: str
    handle: Any = field(compare=False, repr=False, default=None)
    exact: str = ""

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


@dataclass(frozen=True)
class EvalPython(Node):
    """Each row with the results of Python functions of it appended, weight kept."""

    input: Rel
    columns: tuple[Attr, ...]
    text: str
    handle: Any = field(compare=False, repr=False, default=None)
    exact: str = ""

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


# --- joins -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Join(Node):
    """The n-ary inner join: all combinations for which every predicate is true; weights multiply.

    The order of ``members`` is the order in which they are joined.
    """

    members: tuple[Rel, ...]
    equals: tuple[Equal, ...]
    residual: tuple[Expr, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for m in self.members:
            _check(not seen & _ids(m.attrs), "Join members share an attribute")
            seen |= _ids(m.attrs)
        predicates: tuple[Equal | Expr, ...] = (*self.equals, *self.residual)
        for p in predicates:
            _check(p.refs <= seen, f"Join predicate {p} uses what no member has")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return tuple(a for m in self.members for a in m.attrs)


@dataclass(frozen=True)
class PairJoin(Node):
    """A join of two inputs that is not bilinear. Each left row is treated by itself and keeps its weight;
    the right input, and both of a full outer join, count as bags of rows.

    ``kind``: left outer, full outer, left semi, left anti, existence (each left row with ``exists``
    appended) or left single (left outer that fails on a second match). ``keys`` pairs a left attribute
    with a right one; ``equi`` says that the condition is nothing but their equality.
    """

    left: Rel
    right: Rel
    kind: str
    keys: tuple[tuple[Attr, Attr], ...]
    equi: bool
    condition: Expr | None
    exists: Attr | None = None

    KINDS = ("left outer", "full outer", "left semi", "left anti", "existence", "left single")

    def __post_init__(self) -> None:
        _check(self.kind in self.KINDS, f"no join kind {self.kind}")
        _check((self.exists is None) == (self.kind != "existence"), "only an existence join adds a flag")
        _check(not _ids(self.left.attrs) & _ids(self.right.attrs), "join sides share an attribute")
        for left, right in self.keys:
            _check(left in self.left.attrs and right in self.right.attrs, "a join key is not in its side")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        if self.kind in ("left semi", "left anti"):
            return self.left.attrs
        if self.exists is not None:
            return (*self.left.attrs, self.exists)
        return self.left.attrs + self.right.attrs

    @property
    def left_keys(self) -> tuple[Attr, ...]:
        return tuple(left for left, _ in self.keys)

    @property
    def right_keys(self) -> tuple[Attr, ...]:
        return tuple(right for _, right in self.keys)


# --- keyed operators ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aggregate(Node):
    """One row for each group: its keys and the value of each call. Without keys, exactly one row."""

    input: Rel
    keys: tuple[Attr, ...]
    calls: tuple[Call, ...]

    def __post_init__(self) -> None:
        have = _ids(self.input.attrs)
        _check(_ids(self.keys) <= have, "Aggregate groups by what its input does not have")
        for c in self.calls:
            for e in (*c.args, *([c.filter] if c.filter else [])):
                _check(e.refs <= have, f"Aggregate {c} uses what its input does not have")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.keys + tuple(c.attr for c in self.calls)


@dataclass(frozen=True)
class Window(Node):
    """Each row with window functions over its partition appended."""

    input: Rel
    partition: tuple[Attr, ...]
    columns: tuple[Attr, ...]
    text: str
    handle: Any = field(compare=False, repr=False, default=None)
    exact: str = ""

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs + self.columns


@dataclass(frozen=True)
class Limit(Node):
    """``count`` rows after ``skip``, in the order of ``order`` and then of all columns, ``ties``, so that ties are
    settled. Over the same columns in another order it takes the same rows."""

    input: Rel
    order: tuple[SortKey, ...]
    skip: int
    count: int | None
    ties: tuple[Attr, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if _ids(self.ties) != _ids(self.input.attrs):
            object.__setattr__(self, "ties", self.input.attrs)

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Opaque(Node):
    """An operator that Headrace does not know: run by the engine on whole inputs, never guessed at."""

    members: tuple[Rel, ...]
    columns: tuple[Attr, ...]
    text: str
    handle: Any = field(compare=False, repr=False, default=None)
    exact: str = ""

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


# --- time --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Snapshot(Node):
    """The rows of a Tvr at a version."""

    of: Rel
    at: Version

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.of.attrs


@dataclass(frozen=True)
class Delta(Node):
    """What turns the snapshot at ``since`` into the one at ``until``: after the first, up to the second."""

    of: Rel
    since: Version
    until: Version

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.of.attrs


@dataclass(frozen=True)
class Load(Node):
    """The rows of a kept state at a version: its Segments up to then, merged by weight."""

    state: str
    columns: tuple[Attr, ...]
    at: Version
    unique: bool = False

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.columns


# --- the algebra of deltas ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Negate(Node):
    """The same rows with their weights negated."""

    input: Rel

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Consolidate(Node):
    """The same bag with each row once: weights of equal rows added, zeros gone."""

    input: Rel

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Provided(Node):
    """The same rows, which are right only in a run in which no row leaves ``grows``. It is in no plan: choosing asks
    whether that holds, and takes the rows."""

    input: Rel
    grows: Rel

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Measured(Node):
    """The same rows, counted on their way as the delta of an operator of the query."""

    input: Rel
    tvr: int

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Keys(Node):
    """The set of key values that occur in any input with any weight. ``on`` names the key columns of each."""

    members: tuple[Rel, ...]
    on: tuple[tuple[Attr, ...], ...]

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return ()


@dataclass(frozen=True)
class Restrict(Node):
    """The rows whose key, NULL equal to NULL, is among ``keys``; weight kept."""

    input: Rel
    on: tuple[Attr, ...]
    keys: Rel

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Meeting(Node):
    """The rows of ``input``, weight kept, that meet some row of ``other``, of any weight, under a condition."""

    input: Rel
    other: Rel
    condition: Expr | None

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


@dataclass(frozen=True)
class Head(Node):
    """What ``change`` makes of ``kept``, the first ``count`` rows of a relation, as far as these two tell: −kept + the
    first ``count`` of those rows of kept + change before which fewer than ``count`` rows of ``kept`` come. The order is
    that of a Limit; a row whose weights add up to nothing or less is none."""

    kept: Rel
    change: Rel
    order: tuple[SortKey, ...]
    ties: tuple[Attr, ...]
    count: int

    def __post_init__(self) -> None:
        _check(_ids(self.kept.attrs) == _ids(self.change.attrs) == _ids(self.ties), "Head has two kinds of rows")

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.kept.attrs


LACKING = Attr("lacking", "lacking", "bigint", nullable=False)


@dataclass(frozen=True)
class Shortfall(Node):
    """One row, with how many, where a Delta takes away more rows than it gives; else none."""

    input: Rel

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return (LACKING,)


@dataclass(frozen=True)
class Fallback(Node):
    """The rows of ``input``, weight kept, where ``needed`` has any row; else none. It mostly has none: then nothing of
    what only ``input`` reads is read."""

    input: Rel
    needed: Rel

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


COUNTED = Attr("rows", "rows", "bigint", nullable=False)


@dataclass(frozen=True)
class Partials(Node):
    """The partial state of an Aggregate: for each group its keys, its number of rows and its buffers.

    Over a snapshot it is the state itself; over a delta (``change``) it is what ``+γ`` adds to the state, where a
    group may have no or fewer than no rows.
    """

    input: Rel
    keys: tuple[Attr, ...]
    calls: tuple[Call, ...]
    change: bool = False

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(b for c in self.calls for b in c.buffers)

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return (*self.keys, COUNTED, *(b.attr for b in self.buffers))


@dataclass(frozen=True)
class Accumulate(Node):
    """The Delta of a partial state under ``+γ``: for each group in ``change``, −(its old row) + (old +γ change).

    ``needs_growth`` marks a merge that holds only while no row leaves the input.
    """

    state: Rel
    change: Rel
    keys: tuple[Attr, ...]
    calls: tuple[Call, ...]
    needs_growth: bool

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.state.attrs


@dataclass(frozen=True)
class Finish(Node):
    """Final values from partial states, row by row, weight kept."""

    input: Rel
    keys: tuple[Attr, ...]
    calls: tuple[Call, ...]

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.keys + tuple(c.attr for c in self.calls)
