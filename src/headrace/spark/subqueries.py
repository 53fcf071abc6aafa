"""Reading scalar subqueries: each becomes a relation of one row that is joined where its value is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import QueryError
from headrace.ir.aggregate import Call
from headrace.ir.expr import Attr, Column, Expr, ref
from headrace.ir.rel import Aggregate, Constant, Join, Node, Project
from headrace.spark.catalyst import items
from headrace.spark.expressions import Expressions, cut

_TOO_MANY = "SCALAR_SUBQUERY_TOO_MANY_ROWS"


class Subqueries:
    """The scalar subqueries of one query; ``node`` reads their plans."""

    def __init__(self, expressions: Expressions, node: Callable[[Any], Node]) -> None:
        self.catalyst = expressions.catalyst
        self._exprs = expressions
        self._node = node

    def joined(self, child: Node, exprs: list[Any]) -> tuple[Node, list[Any]]:
        """The child joined with the one-row relation of each scalar subquery, and expressions that read from it."""
        if not any("scalar-subquery" in e.toString() or "exists#" in e.toString() for e in exprs):
            return child, exprs
        scalars: dict[str, Node] = {}
        changed = [self._replace(e, scalars) for e in exprs]
        if not scalars:
            return child, exprs
        inner = through_pruning(child)
        base = inner if isinstance(inner, Join) else Join((child,), (), ())
        return Join((*base.members, *scalars.values()), base.equals, base.residual), changed

    def _replace(self, e: Any, scalars: dict[str, Node]) -> Any:
        kind = e.getClass().getSimpleName()
        if kind == "ScalarSubquery":
            attr = self._scalar(e.plan(), scalars)
            return self.catalyst.java(self.catalyst.attr(attr))
        if kind in ("Exists", "InSubquery", "ListQuery", "LateralSubquery"):
            raise QueryError(
                "SUBQUERY_PLACE",
                f"the subquery {cut(e.toString())} stands where it cannot be maintained",
                at=cut(e.toString()),
                hint="write it as a join, or set REFRESH POLICY FULL",
            )
        children = items(e.children())
        new = [self._replace(c, scalars) for c in children]
        if all(a is b for a, b in zip(children, new, strict=True)):
            return e
        return e.withNewChildren(self.catalyst.java(self.catalyst.seq(new)))

    def _scalar(self, plan: Any, scalars: dict[str, Node]) -> Attr:
        """A relation of exactly one row and column: the subquery's value, NULL over nothing, Spark's error over two."""
        node = self._node(plan)
        value = self._exprs.output(plan)[0]
        attr = self._exprs.copy_of(value)
        if not _one_row(node):
            several = Attr(f"{attr.id}.many", "many", "bigint")
            any_value = Call(
                Attr(f"{attr.id}.any", value.name, value.type),
                "any_value",
                (ref(value),),
                text=f"any_value({value})",
            )
            counted = Call(
                several,
                "count",
                (Expr("1", frozenset(), "int", "engine", self.catalyst.sql("1")),),
                text="count(1)",
            )
            node = Aggregate(node, (), (any_value, counted))
            text = f"the only one of {value.name}#{value.id}"
            checked = self.catalyst.checked(any_value.attr, several, _TOO_MANY)
            expression = Expr(text, frozenset({several.id, any_value.attr.id}), value.type, "engine", checked)
            node = Project(node, (Column(attr, expression),))
        else:
            node = Project(node, (Column(attr, ref(value)),))
        for known_attr, known in scalars.items():
            same = isinstance(known, Project) and known.input is node.input
            if same and known.columns[0].expr == node.columns[0].expr:  # type: ignore[attr-defined]
                return next(a for a in known.attrs if a.id == known_attr)
        scalars[attr.id] = node
        return attr


def _one_row(node: Node) -> bool:
    if isinstance(node, Project):
        return isinstance(node.input, Node) and _one_row(node.input)
    if isinstance(node, Constant):
        return "OneRowRelation" in node.text
    return isinstance(node, Aggregate) and not node.keys


def through_pruning(node: Any) -> Any:
    """What is below projections that only drop columns."""
    while isinstance(node, Project) and node.pruning:
        node = node.input
    return node
