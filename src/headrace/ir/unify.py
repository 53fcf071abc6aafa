"""Aggregates of the same groups are one.

    γ[k; f] σ[k is not NULL] A = σ[k is not NULL] γ[k; f] A        also inside of an inner join

A common table expression that a query reads twice comes out of the engine's optimiser as two aggregates: one has lost a
column that nobody uses there, the other wants its key not to be NULL, for it is joined by it. By the law that is asked
above the aggregate, where not all ask it, and one that has all calls stands for the others. Then it is computed once,
and kept once. Other conditions on keys commute too, but are left where they are: they are there to have fewer groups.

Rows are compared by what they are made of: each column has the words of its expression over sources. So it is done for
aggregates over sources that are filtered, projected and joined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

from headrace.ir.aggregate import Call
from headrace.ir.expr import Attr, Column, Expr, ref
from headrace.ir.rel import Aggregate, Filter, Join, Node, Project, Rel, Source, prune
from headrace.ir.walk import nodes, swap

Names = Mapping[str, str]  # the words of each column
_LONG = 500


@dataclass(frozen=True)
class _Condition:
    """A conjunct of a filter: its words, and those of the columns that it looks at."""

    words: str
    columns: frozenset[str]
    expr: Expr

    def inside(self, place: int) -> _Condition:
        """The same of a join that has its relation at some place."""
        return _Condition(f"{place}: {self.words}", frozenset(f"{place}: {c}" for c in self.columns), self.expr)

    @property
    def not_null(self) -> bool:
        return self.expr.text.startswith("isnotnull(") and len(self.columns) == 1


@dataclass(frozen=True)
class _Rows:
    """What rows are made of: some relation, in words, less those that do not meet some conditions."""

    of: str
    names: Names
    conditions: tuple[_Condition, ...] = ()


@dataclass(frozen=True)
class _Grouped:
    """An aggregate and what its input, its keys and its calls are in words."""

    node: Aggregate
    rows: _Rows
    keys: Mapping[str, Attr]
    calls: Mapping[object, Attr]

    def on_keys(self) -> dict[str, _Condition]:
        """The conditions that keys are not NULL."""
        return {c.words: c for c in self.rows.conditions if c.not_null and c.columns <= self.keys.keys()}


def unify_aggregates(query: Node) -> Node:
    """The same query with aggregates of the same groups computed once."""
    for alike in _alike(query):
        whole = max(alike, key=lambda g: len(g.calls))
        some = [g for g in alike if g.calls.keys() <= whole.calls.keys()]
        common = set.intersection(*(set(g.on_keys()) for g in some))
        dropped = whole.on_keys().keys() - common
        base = Aggregate(_without(whole.node.input, dropped, {}), whole.node.keys, whole.node.calls)
        for grouped in some if len(some) > 1 else ():
            made = _from(base, whole, grouped, common)
            if made is not None:
                swapped = swap(query, grouped.node, made)
                assert isinstance(swapped, Node)
                query = swapped
    return query


def _alike(query: Node) -> list[list[_Grouped]]:
    """Aggregates over the same rows by the same keys, but for keys that are not to be NULL."""
    found: dict[object, list[_Grouped]] = defaultdict(list)
    known: dict[int, _Rows | None] = {}
    for node in nodes(query):
        rows = _rows(node.input, known) if isinstance(node, Aggregate) and node.keys else None
        if isinstance(node, Aggregate) and rows is not None:
            keys = {rows.names[k.id]: k for k in node.keys}
            calls = {_call(c, rows.names): c.attr for c in node.calls}
            grouped = _Grouped(node, rows, keys, calls)
            others = frozenset(c.words for c in rows.conditions if c.words not in grouped.on_keys())
            if len(keys) + len(calls) == len(node.attrs):  # each has its own words
                found[rows.of, frozenset(keys), others].append(grouped)
    return [some for some in found.values() if len(some) > 1]


def _from(base: Aggregate, whole: _Grouped, grouped: _Grouped, common: set[str]) -> Rel | None:
    """An aggregate from the one that stands for it; None where its columns cannot be had under their names."""
    conditions = [c.expr for words, c in grouped.on_keys().items() if words not in common]
    columns = {grouped.keys[w].id: Column(grouped.keys[w], ref(k)) for w, k in whole.keys.items()}
    columns |= {a.id: Column(a, ref(whole.calls[c])) for c, a in grouped.calls.items()}
    have = {a.id for a in base.attrs}
    if any(e.refs - columns.keys() for e in conditions):
        return None
    if any(c.attr.id in have and c.expr.refs != {c.attr.id} for c in columns.values()):
        return None
    made: Rel = base if columns.keys() == have else Project(base, tuple(columns.values()))
    if conditions:
        made = Filter(made, tuple(conditions))
    return made if made.attrs == grouped.node.attrs else prune(made, grouped.node.attrs)


def _without(rel: Rel, dropped: Collection[str], known: dict[int, _Rows | None]) -> Rel:
    """Rows with some conditions of filters left out."""
    if isinstance(rel, Project):
        return Project(_without(rel.input, dropped, known), rel.columns)
    if isinstance(rel, Join):
        inside = (
            [w.removeprefix(f"{i}: ") for w in dropped if w.startswith(f"{i}: ")] for i in range(len(rel.members))
        )
        members = (_without(m, some, known) for m, some in zip(rel.members, inside, strict=True))
        return Join(tuple(members), rel.equals, rel.residual)
    if not isinstance(rel, Filter):
        return rel
    below, input_ = _rows(rel.input, known), _without(rel.input, dropped, known)
    assert below is not None
    left = tuple(c for c in rel.conjuncts if _words(c, below.names) not in dropped)
    return Filter(input_, left) if left else input_


def _rows(rel: Rel, known: dict[int, _Rows | None]) -> _Rows | None:
    """What rows are made of; None where that has no words here."""
    if id(rel) not in known:
        known[id(rel)] = _made(rel, known)
    return known[id(rel)]


def _made(rel: Rel, known: dict[int, _Rows | None]) -> _Rows | None:
    match rel:
        case Source(name=name, columns=columns, fields=fields):
            return _Rows(repr(name), {a.id: repr((name, f)) for a, f in zip(columns, fields, strict=True)})
        case Project(input=below, columns=columns):
            rows = _rows(below, known)
            if rows is None:
                return None
            return _Rows(rows.of, {c.attr.id: _words(c.expr, rows.names) for c in columns}, rows.conditions)
        case Filter(input=below, conjuncts=conjuncts):
            rows = _rows(below, known)
            if rows is None:
                return None
            more = (_Condition(_words(c, rows.names), _columns(c, rows.names), c) for c in conjuncts)
            return _Rows(rows.of, rows.names, (*rows.conditions, *more))
        case Join(members=members, equals=equals, residual=residual):
            parts = [_rows(m, known) for m in members]
            names: dict[str, str] = {}
            conditions: list[_Condition] = []
            for place, part in enumerate(parts):
                if part is None:
                    return None
                names |= {i: f"{place}: {words}" for i, words in part.names.items()}
                conditions += (c.inside(place) for c in part.conditions)
            sides = [sorted((_words(e.left, names), _words(e.right, names))) for e in equals]
            met = sorted((str(e.null_safe), *s) for e, s in zip(equals, sides, strict=True))
            rest = sorted(_words(e, names) for e in residual)
            return _Rows(repr(([p.of for p in parts if p], met, rest)), names, tuple(conditions))
    return None


def _call(call: Call, names: Names) -> object:
    chosen = None if call.filter is None else _words(call.filter, names)
    return call.function, tuple(_words(a, names) for a in call.args), call.distinct, chosen, call.text


def _columns(expr: Expr, names: Names) -> frozenset[str]:
    return frozenset(names[i] for i in expr.refs)


def _words(expr: Expr, names: Names) -> str:
    """An expression with columns by their words. One that only passes a column on is that column."""
    if expr.kind == "ref":
        (column,) = expr.refs
        return names[column]
    text = re.sub(r"\w+#(\w+)", lambda m: f"<{names[m[1]]}>" if m[1] in names else m[0], expr.text)
    words = repr((text, sorted(_columns(expr, names)), expr.type, expr.kind, expr.exact))
    return words if len(words) < _LONG else sha256(words.encode()).hexdigest()  # they are made of each other
