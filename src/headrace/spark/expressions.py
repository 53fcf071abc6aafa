"""Catalyst's attributes and expressions as values of ours.

An expression stays the Catalyst object it is, with its text for equality; attributes are numbered in the order in
which they are met, so that another process has the same text for the same query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from headrace.ir.aggregate import Call, decimal_of
from headrace.ir.expr import Attr, Column, Expr, ref
from headrace.spark.catalyst import Catalyst, items
from headrace.spark.exact import exact

_SAFE_DIGITS = 28  # a sum has ten digits more, up to 38: 10^10 rows cannot overflow it


class Expressions:
    """The attributes and expressions of one query."""

    def __init__(self, catalyst: Catalyst) -> None:
        self.catalyst = catalyst
        self._ids: dict[int, str] = {}
        self._attrs: dict[int, Attr] = {}
        self._made = 0
        self.ansi = catalyst.spark.conf.get("spark.sql.ansi.enabled") == "true"

    def attr(self, attribute: Any) -> Attr:
        """Our attribute for a Catalyst one."""
        number = attribute.exprId().id()
        known = self._attrs.get(number)
        if known is not None:
            return known
        if number not in self._ids:
            self._ids[number] = str(len(self._ids))
        name = re.sub(r"#\d+L?", "", attribute.name())
        found = Attr(self._ids[number], name, _ddl(attribute.dataType()), attribute.nullable())
        self.catalyst.bind(found, attribute)
        self._attrs[number] = found
        return found

    def output(self, plan: Any) -> list[Attr]:
        return [self.attr(a) for a in items(plan.output())]

    def expr(self, expression: Any) -> Expr:
        """An expression as a value; a bare attribute becomes a reference."""
        kind = expression.getClass().getSimpleName()
        if kind == "AttributeReference":
            return ref(self.attr(expression))
        for attribute in items(expression.references().toSeq()):
            self.attr(attribute)
        refs = frozenset(self._ids[a.exprId().id()] for a in items(expression.references().toSeq()))
        text = self.text(expression)
        return Expr(text, refs, _ddl(expression.dataType()), "engine", expression, exact(expression))

    def text(self, thing: Any) -> str:
        """Catalyst's text with our attribute numbers, and without the marks it puts on bigints."""
        return re.sub(r"#(\d+)L?", lambda m: "#" + self._ids.get(int(m[1]), "x"), thing.toString())

    def conjuncts(self, expression: Any) -> list[Any]:
        if expression.getClass().getSimpleName() == "And":
            return self.conjuncts(expression.left()) + self.conjuncts(expression.right())
        return [expression]

    def new_attr(self, name: str, expression: Any) -> Attr:
        """An attribute that the plan does not have, for a value that we give a column."""
        self._made += 1
        return Attr(f"n{self._made}", name, _ddl(expression.dataType()))

    def copy_of(self, value: Attr) -> Attr:
        """Another attribute for the value of one, so that both can be columns of one relation."""
        self._made += 1
        attr = Attr(f"n{self._made}", value.name, value.type)
        self.catalyst.bind(attr, self.catalyst.java(self.catalyst.attr(value).newInstance()))
        self._ids[self.catalyst.java(self.catalyst.attr(attr).exprId().id())] = attr.id
        return attr

    def named(self, exprs: Iterable[Any]) -> tuple[Column, ...]:
        columns = []
        for e in exprs:
            if e.getClass().getSimpleName() == "Alias":
                columns.append(Column(self.attr(e.toAttribute()), self.expr(e.child())))
            else:
                columns.append(Column(self.attr(e), ref(self.attr(e))))
        return tuple(dict.fromkeys(columns))

    def call(self, call: Any) -> Call:
        kind = call.getClass().getSimpleName()
        attr = self.attr(call.resultAttribute())
        if kind != "AggregateExpression":
            return Call(
                attr,
                kind,
                tuple(self.expr(c) for c in items(call.children())),
                text=self.text(call),
                handle=call,
            )
        function = call.aggregateFunction()
        args = tuple(self.expr(c) for c in items(function.children()))
        name = "try" if "try_" in function.toString() else function.prettyName()
        if name in ("sum", "avg") and not self.ansi and _may_overflow(args):
            name = f"overflowing {name}"
        chosen = self.expr(call.filter().get()) if call.filter().isDefined() else None
        text = re.sub(r"#\w+", "", self.text(call))
        return Call(attr, name, args, call.isDistinct(), chosen, text, call)


def _ddl(kind: Any) -> str:
    """A type as text that Spark reads back. The name of a field may need quotes, which only the longer form has."""
    text = str(kind.catalogString())
    return str(kind.asNullable().sql()) if "struct<" in text else text


def _may_overflow(args: tuple[Expr, ...]) -> bool:
    """Whether a sum may run out of digits. Without ANSI it is NULL then, and a merge could not bring it back."""
    digits = decimal_of(args[0].type) if args else None
    return digits is not None and digits[0] > _SAFE_DIGITS


def cut(text: str) -> str:
    """The first line of a plan or an expression, for a message."""
    line = text.strip().splitlines()[0]
    return line if len(line) <= 160 else line[:159] + "…"
