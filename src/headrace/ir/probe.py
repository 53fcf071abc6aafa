"""Looking rows up by key instead of reading all of them.

An index holds the rows of a relation, by key, in memory: one that is read row by row from a source or a state, or a
join of several such. It is a cache: what it holds follows from its relation, and losing it costs time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from headrace.ir.aggregate import Call
from headrace.ir.expr import Attr, Expr
from headrace.ir.rel import Filter, Join, Load, Node, Project, Rel, Snapshot, Source
from headrace.ir.time import Version
from headrace.ir.walk import nodes, swap


@dataclass(frozen=True)
class Index:
    """The rows of ``rel``, a chain of row-wise operators over one leaf or a join of such chains, by the values of
    ``keys``. Leaves are snapshots of sources or states; at which version, each use says."""

    rel: Rel
    keys: tuple[Attr, ...]

    @cached_property
    def name(self) -> str:
        """The same for the same rows by the same key."""
        text = f"{self.rel!r}\n{[k.id for k in self.keys]}"
        return f"index-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @cached_property
    def leaves(self) -> tuple[Snapshot | Load, ...]:
        return tuple(n for n in nodes(self.rel) if isinstance(n, Snapshot | Load))

    @property
    def members(self) -> tuple[Rel, ...]:
        """The relations that it holds the join of; none where it holds a single one."""
        return self.rel.members if isinstance(self.rel, Join) else ()

    @property
    def leaf(self) -> Snapshot | Load | None:
        """The one leaf that it is read from; None for a join."""
        return None if self.members else self.leaves[0]

    @property
    def source(self) -> Source | None:
        """The source whose rows it holds; None for those of a state and of a join."""
        of = self.leaf.of if isinstance(self.leaf, Snapshot) else None
        return of if isinstance(of, Source) else None

    def over(self, leaf: Rel) -> Rel:
        """Its relation over other rows of its one leaf: a delta, say."""
        return swap(self.rel, self.leaves[0], leaf)

    def field(self, attr: Attr) -> str | None:
        """The column of the source that one of its columns is; None for one that is computed."""
        wanted, node = attr.id, self.rel
        while isinstance(node, Project | Filter):
            if isinstance(node, Project):
                column = next(c for c in node.columns if c.attr.id == wanted)
                if not column.plain:
                    return None
                (wanted,) = column.expr.refs
            node = node.input
        source = self.source
        if source is None or node is not self.leaf:
            return None
        return next((f for a, f in zip(source.columns, source.fields, strict=True) if a.id == wanted), None)

    @property
    def filters(self) -> int:
        """The filters that its rows have passed."""
        return sum(isinstance(n, Filter) for n in nodes(self.rel))

    def __str__(self) -> str:
        of = " ⋈ ".join(dict.fromkeys(_name(leaf) for leaf in self.leaves))
        return f"{of} by {', '.join(map(str, self.keys))}"

    @property
    def rest(self) -> tuple[Attr, ...]:
        """The columns that are not part of the key."""
        return tuple(a for a in self.rel.attrs if a not in self.keys)


def _name(leaf: Snapshot | Load) -> str:
    if isinstance(leaf, Load):
        return leaf.state
    return leaf.of.name if isinstance(leaf.of, Source) else "?"


@dataclass(frozen=True)
class Probe(Node):
    """Each row of ``input`` with each row of an index whose key equals the values of ``on``; weights multiply."""

    input: Rel
    index: Index
    on: tuple[Expr, ...]
    at: Version
    null_safe: bool = False

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return (*self.input.attrs, *self.index.rel.attrs)


@dataclass(frozen=True)
class Lookup(Node):
    """The rows of an index whose key, NULL equal to NULL, is among ``keys``; weight kept."""

    keys: Rel
    index: Index
    at: Version

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.index.rel.attrs


@dataclass(frozen=True)
class AccumulateFound(Node):
    """The Delta of a partial state under ``+γ``, its old rows looked up: for each group in ``change``, −(its row in the
    index) + (that +γ change)."""

    change: Rel
    index: Index
    keys: tuple[Attr, ...]
    calls: tuple[Call, ...]

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.change.attrs


@dataclass(frozen=True)
class Missing(Node):
    """The rows of ``input``, weight kept, whose key, NULL equal to NULL, an index does not have before the run."""

    input: Rel
    index: Index

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return self.input.attrs


def probed(rel: Rel) -> list[Index]:
    """The index of each place of a tree that probes one."""
    return [n.index for n in nodes(rel) if isinstance(n, Probe | Lookup | AccumulateFound | Missing)]


def indexes(rel: Rel) -> dict[str, Index]:
    """The indexes that a tree probes, by name."""
    return {index.name: index for index in probed(rel)}
