"""Rows of operators that treat each row by itself, and the arithmetic of changes that all share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headrace.ir.expr import Attr, Column
from headrace.ir.rel import (
    Expand,
    Filter,
    Node,
    Union,
)
from headrace.stats.estimate import NOTHING, Change, Estimate, Span, width_of
from headrace.stats.known import Known
from headrace.stats.selectivity import UNKNOWN, different, selected

# Of updated rows, the share whose update leaves what a filter looks at as it was; of others it is as of new rows.
_STICKY = 0.5


def projected(node: Node, columns: Sequence[Column], of: Estimate) -> Estimate:
    distinct: dict[str, float] = {}
    spans: dict[str, Span] = {}
    domains: dict[str, float] = {}
    new: dict[str, str] = {}
    for c in columns:
        if c.plain:
            (old,) = c.expr.refs
            new.setdefault(old, c.attr.id)
            if old in of.distinct:
                distinct[c.attr.id] = of.distinct[old]
            if old in of.spans:
                spans[c.attr.id] = of.spans[old]
            if old in of.domains:
                domains[c.attr.id] = of.domains[old]
        elif all(r in of.distinct for r in c.expr.refs):
            distinct[c.attr.id] = different(c.expr, of)
    determined: dict[str, str] = {}
    for c in columns:
        root = _root(c, of, new)
        if root is not None and root != c.attr.id:
            determined[c.attr.id] = root
    width = scaled_width(node, (of,))
    return replace(of, distinct=distinct, spans=spans, determined=determined, domains=domains, width=width)


def _root(column: Column, of: Estimate, new: Mapping[str, str]) -> str | None:
    """The nearest column that is still there of which one is a function, under its new name."""
    if len(column.expr.refs) != 1:
        return None
    (at,) = column.expr.refs
    if at in new and new[at] != column.attr.id:
        return new[at]
    for up in chain(at, of.determined):
        if up in new:
            return new[up]
    return None


def chain(attr: str, determined: Mapping[str, str]) -> Iterable[str]:
    """The columns of which one is a function, nearest first."""
    seen = {attr}
    while (attr := determined.get(attr, attr)) not in seen:
        seen.add(attr)
        yield attr


def filtered(node: Filter, of: Estimate, known: Known) -> Estimate:
    kept, learned = selected(node.conjuncts, of), known.learned(node)
    share = kept.rows / of.rows if of.rows > 0 else UNKNOWN
    change = _passed(of.change, min(share * learned.change, 1.0))
    rows = change.rows if of.delta else min(kept.rows * learned.rows, of.rows)
    return replace(kept, rows=rows, change=change)


def _passed(change: Change, share: float) -> Change:
    """What of a change passes a filter: of an update both rows, or only one of them, which then comes or leaves."""
    one = share * (1 - share) * (1 - _STICKY)
    return Change(
        change.inserts * share + change.updates * one,
        change.updates * (share - one),
        change.deletes * share + change.updates * one,
    )


def united(node: Union, inputs: tuple[Estimate, ...]) -> Estimate:
    delta = any(i.delta for i in inputs)
    rows = sum(i.rows for i in inputs)
    # Beside a Delta a snapshot is one too: all its rows come.
    change = sum((Change(i.rows) if delta and not i.delta else i.change for i in inputs), NOTHING)
    distinct: dict[str, float] = {}
    spans: dict[str, Span] = {}
    domains: dict[str, float] = {}
    for place, attr in enumerate(node.columns):
        ids = [order[place].id for order in node.orders]
        if all(i in e.distinct for i, e in zip(ids, inputs, strict=True)):
            distinct[attr.id] = together([(e.distinct[i], e.rows) for i, e in zip(ids, inputs, strict=True)])
            domains[attr.id] = max(distinct[attr.id], *(e.domain(i) for i, e in zip(ids, inputs, strict=True)))
        found = [e.spans[i] for i, e in zip(ids, inputs, strict=True) if i in e.spans]
        if len(found) == len(inputs):
            nulls = sum(s.nulls * e.rows for s, e in zip(found, inputs, strict=True)) / max(rows, 1.0)
            known = [s.since for s in found if s.since is not None]
            since = min(known) if len(known) == len(found) else None
            low, high, rising = min(s.low for s in found), max(s.high for s in found), all(s.rising for s in found)
            spans[attr.id] = Span(low, high, min(nulls, 1.0), since, rising)
    width = sum(i.bytes for i in inputs) / rows if rows else row_width(node.attrs)
    return Estimate(rows, change, distinct, width, delta, spans, _common(node, inputs), domains)


def _common(node: Union, inputs: tuple[Estimate, ...]) -> dict[str, str]:
    """What one column is a function of in all branches alike."""
    found: dict[str, str] | None = None
    for order, e in zip(node.orders, inputs, strict=True):
        name = {a.id: c.id for a, c in zip(order, node.columns, strict=True)}
        one = {name[a]: name[up] for a in name for up in chain(a, e.determined) if up in name}
        found = one if found is None else {a: up for a, up in found.items() if one.get(a) == up}
    return found or {}


def together(parts: Sequence[tuple[float, float]]) -> float:
    """The values of several (values, rows) together: of a column that has few, all have the same; of one in which
    each row has its own, none."""
    most = max(range(len(parts)), key=lambda i: parts[i][0])
    total = parts[most][0]
    for i, (values, rows) in enumerate(parts):
        if i != most and rows > 0:
            total += values * min(values / rows, 1.0)
    return total


def expanded(node: Expand, of: Estimate) -> Estimate:
    times = float(len(node.rows))
    distinct = {}
    for place, attr in enumerate(node.columns):
        exprs = [row[place] for row in node.rows]
        if all(r in of.distinct for e in exprs for r in e.refs):
            distinct[attr.id] = max((different(e, of) for e in exprs if e.refs), default=0.0) + any(
                not e.refs for e in exprs
            )
    return Estimate(of.rows * times, of.change * times, distinct, scaled_width(node, (of,)), of.delta)


def multiplied(node: Node, of: Estimate, times: float) -> Estimate:
    have = {a.id for a in node.attrs}
    return replace(
        of,
        rows=of.rows * times,
        change=of.change * times,
        distinct={a: d for a, d in of.distinct.items() if a in have},
        spans={a: s for a, s in of.spans.items() if a in have},
        determined={a: up for a, up in of.determined.items() if a in have and up in have},
        width=scaled_width(node, (of,)),
    )


def row_width(attrs: Iterable[Attr]) -> float:
    return max(sum(width_of(a.type) for a in attrs), 1.0)


def scaled_width(node: Node, inputs: tuple[Estimate, ...]) -> float:
    """The width by types, as many times as the inputs' widths are those by their types."""
    by_type = sum(row_width(i.attrs) for i in node.inputs)
    return row_width(node.attrs) * (sum(e.width for e in inputs) / by_type if by_type > 0 else 1.0)


def of_rows(change: Change, rows: float) -> Change:
    """A change of so many rows, made up like another."""
    return change * (rows / change.rows) if change.rows > 0 else Change(rows)


def at_most(change: Change, rows: float, before: float) -> Change:
    """No more comes than is there afterwards, and no more leaves than was there before."""
    inserts = min(change.inserts, rows)
    return Change(inserts, min(change.updates, max(rows - inserts, 0.0)), min(change.deletes, before))


def share_of(of: Estimate, share: float) -> Estimate:
    """A share of a relation's rows, taken at random."""
    share = min(max(share, 0.0), 1.0)
    return of.thinned(of.rows * share, of.change * share)
