"""Reading limits: of all the operators that Spark has for LIMIT, OFFSET and the order below them, one Limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.ir.expr import SortKey
from headrace.ir.rel import Limit, Node, Project
from headrace.spark.catalyst import items
from headrace.spark.expressions import Expressions


def read_limit(plan: Any, expressions: Expressions, node: Callable[[Any], Node]) -> Node:
    """GlobalLimit, Offset, the local limits and the sort below them are one operator."""
    count: int | None = None
    skip = 0
    while True:
        kind = plan.getClass().getSimpleName()
        if kind == "GlobalLimit":
            amount = int(plan.limitExpr().eval(None))
            count = amount if count is None else min(count, amount)
        elif kind == "Offset" and skip == 0:
            skip = int(plan.offsetExpr().eval(None))
        elif kind != "LocalLimit":
            break
        if kind == "Offset" and plan.child().getClass().getSimpleName() == "GlobalLimit":
            below = read_limit(plan.child(), expressions, node)
            return Limit(below, (), skip, count) if not isinstance(below, Limit) else _offset(below, skip, count)
        plan = plan.child()
    columns, below = _sorted(plan)
    if below.getClass().getSimpleName() != "Sort":
        return Limit(node(plan), (), skip, count)
    keys = tuple(
        SortKey(
            expressions.expr(o.child()),
            "Descending" in o.direction().getClass().getSimpleName(),
            "NullsFirst" in o.nullOrdering().getClass().getSimpleName(),
        )
        for o in items(below.order())
    )
    limit: Node = Limit(node(below.child()), keys, skip, count)
    for project in reversed(columns):
        limit = Project(limit, expressions.named(items(project.projectList())))
    return limit


def _sorted(plan: Any) -> tuple[list[Any], Any]:
    """The projections between a limit and its sort; a limit commutes with them."""
    columns: list[Any] = []
    start = plan
    while plan.getClass().getSimpleName() == "Project" and plan.subqueries().size() == 0:
        columns.append(plan)
        plan = plan.child()
    return (columns, plan) if plan.getClass().getSimpleName() == "Sort" else ([], start)


def _offset(below: Limit, skip: int, count: int | None) -> Node:
    left = None if below.count is None else max(below.count - skip, 0)
    amounts = [n for n in (left, count) if n is not None]
    return Limit(below.input, below.order, below.skip + skip, min(amounts) if amounts else None)
