"""How many rows a predicate leaves, by its shape and by what is known of the columns that it names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from headrace.ir.expr import Equal, Expr
from headrace.stats.estimate import Estimate, Span, remaining
from headrace.stats.predicate import (
    MIRRORED,
    AllOf,
    AnyOf,
    Compared,
    Constant,
    IsNull,
    Matches,
    Not,
    OneOf,
    Predicate,
    SameAs,
    flat,
    function,
    read,
)

# Shares of rows where nothing is known of the values: those that optimisers have used since System R, or less where
# people look for something.
RANGE = 1 / 3
COMPUTED_EQUAL = 0.05
NULL = 0.05
UNKNOWN = 1 / 3
_LEAST = 1e-9

# How many values parts of a date have.
_PARTS = {
    **{"month": 12.0, "quarter": 4.0, "dayofmonth": 31.0, "day": 31.0, "dayofweek": 7.0, "weekday": 7.0},
    **{"weekofyear": 53.0, "dayofyear": 366.0, "hour": 24.0, "minute": 60.0, "second": 60.0},
}
_YEAR, _YEARS = 365.25, 10.0


def selected(conjuncts: Iterable[Expr], of: Estimate) -> Estimate:
    """What conjuncts leave of a relation: fewer rows, and of the columns that they name fewer values. Its change is
    left as it was."""
    parts = [p for c in conjuncts for p in flat(read(c.text))]
    share = 1.0
    bounded: dict[str, list[Compared]] = {}
    rest: list[Predicate] = []
    for part in parts:
        if isinstance(part, Compared) and part.attr in of.spans and part.op in MIRRORED and part.value is not None:
            bounded.setdefault(part.attr or "", []).append(part)
        else:
            rest.append(part)
    share *= math.prod(selectivity(p, of) for p in rest)
    distinct, spans = dict(of.distinct), dict(of.spans)
    named: dict[str, float] = {}
    for attr, bounds in bounded.items():
        within = _within(of.spans[attr], bounds)
        part_share = _share(within, of.spans[attr], of.values(attr))
        share *= part_share
        distinct[attr], spans[attr] = max(of.values(attr) * part_share, min(1.0, of.rows)), within
        named[attr] = distinct[attr]
    for part in parts:
        few = 1.0 if isinstance(part, Compared) and part.op in ("=", "<=>") else None
        few = float(part.count) if isinstance(part, OneOf) else few
        if few is not None and isinstance(part, Compared | OneOf) and part.attr is not None:
            distinct[part.attr] = min(of.values(part.attr), few)
            named[part.attr] = distinct[part.attr]
        if isinstance(part, Not) and isinstance(part.of, IsNull) and part.of.attr in spans:
            spans[part.of.attr] = replace(spans[part.of.attr], nulls=0.0)
    rows = of.rows * min(max(share, _LEAST), 1.0)
    for attr, values in distinct.items():
        distinct[attr] = min(values, rows) if attr in named else remaining(values, of.rows, rows)
    return replace(of, rows=rows, distinct=distinct, spans=spans, domains={**of.domains, **named})


def selectivity(predicate: Predicate, of: Estimate) -> float:
    """The share of rows for which a predicate is expected to be true."""
    match predicate:
        case Compared(attr=None, op="=" | "<=>"):
            return COMPUTED_EQUAL
        case Compared(attr=str(attr), op="=" | "<=>"):
            return (1 - of.nulls(attr)) / max(of.values(attr), 1.0)
        case Compared(attr=attr, op="!=" | "<>"):
            return 1 - selectivity(Compared(attr, "=", None), of)
        case Compared(attr=str(attr), value=float()) if attr in of.spans:
            return _share(_within(of.spans[attr], [predicate]), of.spans[attr], of.values(attr))
        case Compared():
            return RANGE
        case SameAs(left=left, op="=" | "<=>", right=right):
            return 1 / max(of.values(left), of.values(right), 1.0)
        case SameAs(left=left, op="!=" | "<>", right=right):
            return 1 - 1 / max(of.values(left), of.values(right), 1.0)
        case SameAs():
            return RANGE
        case OneOf(attr=attr, count=count):
            return min(1.0, count * selectivity(Compared(attr, "=", None), of))
        case IsNull(attr=None):
            return NULL
        case IsNull(attr=str(attr)):
            return of.nulls(attr) if attr in of.spans else NULL
        case Matches(share=share):
            return share
        case Not(of=IsNull(attr=attr)):
            return 1 - of.nulls(attr) if attr in of.spans and attr is not None else 1.0
        case Not(of=inner):
            return 1 - selectivity(inner, of)
        case AnyOf(parts=parts):
            return 1 - math.prod(1 - selectivity(p, of) for p in parts)
        case AllOf(parts=parts):
            return _all_of(parts, of)
        case Constant(holds=holds):
            return 1.0 if holds else _LEAST
    return UNKNOWN


def _all_of(parts: Iterable[Predicate], of: Estimate) -> float:
    """Who asks for one or another combination of a category and a brand asks for brands of that category: of equalities
    the most selective counts, the next as its root, and so on. Otherwise predicates are taken to be independent."""
    chosen, share = [], 1.0
    for part in parts:
        if isinstance(part, OneOf) or (isinstance(part, Compared) and part.op == "="):
            chosen.append(selectivity(part, of))
        else:
            share *= selectivity(part, of)
    for place, one in enumerate(sorted(chosen)):
        share *= one ** (0.5**place)
    return share


def holds(conditions: Iterable[Expr | Equal], of: Estimate) -> float:
    """The share of combinations of rows for which all of some conditions are expected to be true."""
    share = 1.0
    for condition in conditions:
        if isinstance(condition, Equal):
            share /= max(different(condition.left, of), different(condition.right, of), 1.0)
        else:
            share *= math.prod(selectivity(p, of) for p in flat(read(condition.text)))
    return min(max(share, 0.0), 1.0)


def domain(expr: Expr, of: Estimate) -> float:
    """From how many values those of an expression are."""
    return max(math.prod(of.domain(r) for r in expr.refs), different(expr, of))


def different(expr: Expr, of: Estimate) -> float:
    """How many values an expression has: no more than what it is a function of, and no more than its kind has."""
    if not expr.refs:
        return min(1.0, of.rows)
    found = min(math.prod(of.values(r) for r in expr.refs), max(of.rows, 0.0))
    if expr.kind == "ref":
        return found
    name = function(expr.text)
    if name == "year" and len(expr.refs) == 1:
        (attr,) = expr.refs
        return min(found, of.spans[attr].width / _YEAR + 1 if attr in of.spans else _YEARS)
    return min(found, 2.0 if expr.type == "boolean" else _PARTS.get(name, math.inf))


def _within(span: Span, bounds: Iterable[Compared]) -> Span:
    low, high = span.low, span.high
    for b in bounds:
        assert b.value is not None
        if b.op in (">", ">="):
            low = max(low, b.value)
        else:
            high = min(high, b.value)
    return replace(span, low=min(low, span.high), high=max(min(high, span.high), min(low, span.high)), nulls=0.0)


def _share(part: Span, of: Span, values: float) -> float:
    """The share of rows that lie in a part of a span, at least that of one value."""
    least = 1 / max(values, 1.0)
    share = part.width / of.width if of.width > 0 else 1.0
    return (1 - of.nulls) * min(max(share, least), 1.0)
