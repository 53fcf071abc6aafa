"""How many rows a predicate leaves, by its shape.

An expression is a text, as Spark prints it: literals have no quotes, attributes are ``name#id``. What cannot be read
from it is guessed. Nothing depends on a guess but speed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache

from headrace.ir.expr import Equal, Expr
from headrace.stats.estimate import Estimate, Span, remaining

# Shares of rows where nothing is known of the values: those that optimisers have used since System R, or less where
# people look for something.
RANGE = 1 / 3
COMPUTED_EQUAL = 0.05
LIKE = 0.1
BEGINS = 0.05
NULL = 0.05
UNKNOWN = 1 / 3
_LEAST = 1e-9

_REF = re.compile(r"(?:[^\s()#]+(?:\([^#]*\))?)#([\w.]+)")
_COMPARED = ("<=>", "<=", ">=", "!=", "<>", "=", "<", ">")
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
# How many values parts of a date have.
_PARTS = {
    **{"month": 12.0, "quarter": 4.0, "dayofmonth": 31.0, "day": 31.0, "dayofweek": 7.0, "weekday": 7.0},
    **{"weekofyear": 53.0, "dayofyear": 366.0, "hour": 24.0, "minute": 60.0, "second": 60.0},
}
_YEAR, _YEARS = 365.25, 10.0
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Compared:
    """column op literal; a column that is computed has no id, a literal that is no number no value."""

    attr: str | None
    op: str
    value: float | None


@dataclass(frozen=True)
class SameAs:
    """column op column."""

    left: str
    op: str
    right: str


@dataclass(frozen=True)
class OneOf:
    attr: str | None
    count: int


@dataclass(frozen=True)
class IsNull:
    attr: str | None


@dataclass(frozen=True)
class Matches:
    """A text that begins with, ends with or holds another."""

    share: float


@dataclass(frozen=True)
class Not:
    of: Predicate


@dataclass(frozen=True)
class AnyOf:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class AllOf:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Constant:
    holds: bool


@dataclass(frozen=True)
class Other:
    """What is not known."""


Predicate = Compared | SameAs | OneOf | IsNull | Matches | Not | AnyOf | AllOf | Constant | Other


def selected(conjuncts: Iterable[Expr], of: Estimate) -> Estimate:
    """What conjuncts leave of a relation: fewer rows, and of the columns that they name fewer values. Its change is
    left as it was."""
    parts = [p for c in conjuncts for p in _flat(read(c.text))]
    share = 1.0
    bounded: dict[str, list[Compared]] = {}
    rest: list[Predicate] = []
    for part in parts:
        if isinstance(part, Compared) and part.attr in of.spans and part.op in _MIRRORED and part.value is not None:
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
            share *= math.prod(selectivity(p, of) for p in _flat(read(condition.text)))
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
    part = _CALL.fullmatch(_bare(expr.text))
    name = part[1].lower() if part else ""
    if name == "year" and len(expr.refs) == 1:
        (attr,) = expr.refs
        return min(found, of.spans[attr].width / _YEAR + 1 if attr in of.spans else _YEARS)
    return min(found, 2.0 if expr.type == "boolean" else _PARTS.get(name, math.inf))


@lru_cache(maxsize=50_000)
def read(text: str) -> Predicate:
    """A predicate by its text."""
    text = _bare(text.strip())
    for word, kind in ((" OR ", AnyOf), (" AND ", AllOf)):
        parts = _split(text, word)
        if len(parts) > 1:
            return kind(tuple(read(p) for p in parts))
    lower = text.lower()
    if lower in ("true", "false"):
        return Constant(lower == "true")
    if lower.startswith("not "):
        return Not(read(text[4:]))
    for word, of in ((" INSET ", text), (" IN ", text)):
        parts = _split(of, word)
        if len(parts) == 2:
            return OneOf(_attr(parts[0]), len(_split(_bare(parts[1].strip()), ",")))
    if len(_split(text, " LIKE ")) == 2:
        return Matches(LIKE)
    compared = _compared(text)
    if compared is not None:
        return compared
    return _call(text)


def _flat(predicate: Predicate) -> tuple[Predicate, ...]:
    return tuple(q for p in predicate.parts for q in _flat(p)) if isinstance(predicate, AllOf) else (predicate,)


def _call(text: str) -> Predicate:
    found = _CALL.fullmatch(text)
    name, inside = (found[1].lower(), found[2]) if found else ("", "")
    match name:
        case "isnotnull":
            return Not(IsNull(_attr(inside)))
        case "isnull":
            return IsNull(_attr(inside))
        case "not":
            return Not(read(inside))
        case "startswith":
            return Matches(BEGINS)
        case "endswith" | "contains" | "rlike":
            return Matches(LIKE)
    return Other()


def _compared(text: str) -> Predicate | None:
    for op in _COMPARED:
        parts = _split(text, f" {op} ")
        if len(parts) < 2:
            continue
        left, right = parts[0], f" {op} ".join(parts[1:])
        ours, theirs = _attr(left), _attr(right)
        if ours is not None and theirs is not None:
            return SameAs(ours, op, theirs)
        if theirs is not None and "#" not in left:
            return Compared(theirs, _MIRRORED.get(op, op), _number(left))
        if "#" in right and "#" in left:
            return Other() if op in _MIRRORED else Compared(None, op, None)
        return Compared(ours, op, _number(right) if "#" not in right else None)
    return None


def _attr(text: str) -> str | None:
    found = _REF.fullmatch(_bare(text.strip()))
    return found[1] if found else None


def _number(text: str) -> float | None:
    text = text.strip()
    try:
        value = float(text)
        return value if math.isfinite(value) else None
    except ValueError:
        pass
    try:
        if len(text) <= 10:
            return float(date.fromisoformat(text).toordinal())
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.toordinal() + (moment.hour * 3600 + moment.minute * 60 + moment.second) / 86_400


def _bare(text: str) -> str:
    """Without the parentheses around all of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for i, c in enumerate(text):
            depth += (c == "(") - (c == ")")
            if depth == 0 and i < len(text) - 1:
                return text
        if depth:
            return text
        text = text[1:-1].strip()
    return text


def _split(text: str, word: str) -> list[str]:
    """The parts between the occurrences of a word outside of parentheses."""
    if word not in text:
        return [text]
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        depth += (c == "(") - (c == ")")
        if depth == 0 and text.startswith(word, i):
            parts.append(text[start:i])
            i += len(word)
            start = i
            continue
        i += 1
    return [*parts, text[start:]]


def _within(span: Span, bounds: Iterable[Compared]) -> Span:
    low, high = span.low, span.high
    for b in bounds:
        assert b.value is not None
        if b.op in (">", ">="):
            low = max(low, b.value)
        else:
            high = min(high, b.value)
    return Span(min(low, span.high), max(min(high, span.high), min(low, span.high)), 0.0)


def _share(part: Span, of: Span, values: float) -> float:
    """The share of rows that lie in a part of a span, at least that of one value."""
    least = 1 / max(values, 1.0)
    share = part.width / of.width if of.width > 0 else 1.0
    return (1 - of.nulls) * min(max(share, least), 1.0)
