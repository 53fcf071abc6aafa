"""Predicates by their texts.

An expression is a text, as Spark prints it: literals have no quotes, attributes are ``name#id``. What cannot be read
from it is guessed. Nothing depends on a guess but speed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

# Shares of rows that match a pattern, and that begin with a text.
LIKE = 0.1
BEGINS = 0.05
# An id is a number, of an attribute that was made for a plan with a letter before it; a number after a hash in a
# constant, which has none of the ids, reads x.
_REF = re.compile(r"(?:[^\s()#]+(?:\([^#]*\))?)#(?!x\b)([\w.]+)")
_ID = re.compile(r"#(?!x\b)([\w.]+)")
_COMPARED = ("<=>", "<=", ">=", "!=", "<>", "=", "<", ">")
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
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


def flat(predicate: Predicate) -> tuple[Predicate, ...]:
    return tuple(q for p in predicate.parts for q in flat(p)) if isinstance(predicate, AllOf) else (predicate,)


def _call(text: str) -> Predicate:
    found = _CALL.fullmatch(text)
    name, inside = (found[1].lower(), found[2]) if found else ("", "")
    match name:
        case "isnotnull":
            return Not(_is_null(inside))
        case "isnull":
            return _is_null(inside)
        case "not":
            return Not(read(inside))
        case "startswith":
            return Matches(BEGINS)
        case "endswith" | "contains" | "rlike":
            return Matches(LIKE)
    return Other()


def _is_null(text: str) -> Predicate:
    """A computed value is NULL mostly where something that it is made of is."""
    attr, parts = _attr(text), dict.fromkeys(_ID.findall(text))
    if attr is None and parts:
        return AnyOf(tuple(IsNull(p) for p in parts))
    return IsNull(attr)


def _compared(text: str) -> Predicate | None:
    for op in _COMPARED:
        parts = _split(text, f" {op} ")
        if len(parts) < 2:
            continue
        left, right = parts[0], f" {op} ".join(parts[1:])
        ours, theirs = _attr(left), _attr(right)
        if ours is not None and theirs is not None:
            return SameAs(ours, op, theirs)
        if theirs is not None and not _ID.search(left):
            return Compared(theirs, MIRRORED.get(op, op), _number(left))
        if _ID.search(right) and _ID.search(left):
            return Other() if op in MIRRORED else Compared(None, op, None)
        return Compared(ours, op, _number(right))
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


def function(text: str) -> str:
    """The name of the function whose call a text is; nothing for one that is no call."""
    found = _CALL.fullmatch(_bare(text.strip()))
    return found[1].lower() if found else ""
