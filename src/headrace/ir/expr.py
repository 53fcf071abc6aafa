"""Expressions and attributes as frozen values.

An attribute's identity is its id, never its name: names repeat in self-joins. An expression is its
text, the attributes it uses and its type; the handle of the engine that can evaluate it is carried
along and takes no part in equality, so two expressions are equal when they mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Attr:
    """A column of a relation. Equality is identity of the column, not of its name."""

    id: str
    name: str = field(compare=False)
    type: str = field(compare=False)
    nullable: bool = field(compare=False, default=True)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Expr:
    """A scalar expression. ``text`` names attributes by ``name#id``; ``handle`` evaluates it. Where two expressions may
    have one text, ``exact`` tells them apart.

    Without a handle it is one of those that Headrace itself writes, told apart by ``kind``: a reference to
    an attribute (ref), a typed NULL (null), a Boolean literal (boolean), or SQL over unique names (sql).
    ``refs`` follows from the text; a set's order differs between processes, so it stays out of ``repr``,
    from which names of states are made.
    """

    text: str
    refs: frozenset[str] = field(repr=False)
    type: str
    kind: str = "engine"
    handle: Any = field(compare=False, repr=False, default=None)
    exact: str = ""

    def __str__(self) -> str:
        return pretty(self.text)


def ref(attr: Attr) -> Expr:
    return Expr(f"{attr.name}#{attr.id}", frozenset({attr.id}), attr.type, "ref")


def null(type_: str) -> Expr:
    return Expr("NULL", frozenset(), type_, "null")


def boolean(value: bool) -> Expr:
    return Expr(str(value).lower(), frozenset(), "boolean", "boolean")


def pretty(text: str) -> str:
    """The text without attribute ids, as a person wrote it."""
    out: list[str] = []
    i = 0
    while i < len(text):
        if text[i] == "#" and i + 1 < len(text) and text[i + 1].isdigit():
            i += 1
            while i < len(text) and text[i].isdigit():
                i += 1
            continue
        out.append(text[i])
        i += 1
    return "".join(out)


@dataclass(frozen=True)
class Column:
    """One output of a projection: the attribute it defines and the expression that gives its value."""

    attr: Attr
    expr: Expr

    @property
    def plain(self) -> bool:
        """Whether it only passes an attribute on, under the same id or a new one."""
        return self.expr.kind == "ref"

    def __str__(self) -> str:
        text = str(self.expr)
        return text if text == self.attr.name else f"{text} AS {self.attr.name}"


@dataclass(frozen=True)
class Equal:
    """An equality between two members of an inner join; ``null_safe`` makes NULL equal to NULL."""

    left: Expr
    right: Expr
    null_safe: bool = False

    @property
    def refs(self) -> frozenset[str]:
        return self.left.refs | self.right.refs

    def __str__(self) -> str:
        return f"{self.left} {'<=>' if self.null_safe else '='} {self.right}"


@dataclass(frozen=True)
class SortKey:
    """One key of an ORDER BY."""

    expr: Expr
    descending: bool
    nulls_first: bool

    def __str__(self) -> str:
        return f"{self.expr}{' DESC' if self.descending else ''}"
