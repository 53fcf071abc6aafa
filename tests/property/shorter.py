"""Shorter queries that say less of the same: what is left when one thing is taken out of a query.

Not all of them are valid; Spark tells. What makes an answer the only one (the order inside of a window, the
order before a LIMIT) is never taken out alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import sqlglot
from sqlglot import exp

Edit = Callable[[Any], Any]
"""Changes a node in place, or gives what stands in its place."""


def shorter(sql: str) -> list[str]:
    """All shorter queries that are one edit away."""
    tree = sqlglot.parse_one(sql, read="spark")
    found: dict[str, None] = {}
    for place, node in enumerate(tree.walk()):
        for edit in _edits(node):
            copy = tree.copy()
            target = next(other for i, other in enumerate(copy.walk()) if i == place)
            new = edit(target)
            if new is not None:
                if target is copy:
                    copy = new.copy()
                else:
                    target.replace(new.copy())
            found[copy.sql("spark")] = None
        if isinstance(node, exp.Query) and node is not tree:
            found[node.sql("spark")] = None
    return [text for text in found if len(text) < len(sql)]


def _edits(node: Any) -> Iterator[Edit]:
    match node:
        case exp.Select():
            yield from _select_edits(node)
        case exp.SetOperation():
            yield lambda n: n.left.unnest()
            yield lambda n: n.right.unnest()
        case exp.Subquery() if _hoistable(node):
            yield _hoist
        case exp.And() | exp.Or():
            yield lambda n: n.left
            yield lambda n: n.right
        case exp.Not() | exp.Paren() | exp.Filter():
            yield lambda n: n.this
        case exp.Case():
            yield lambda n: n.args["ifs"][0].args["true"]
            yield lambda n: n.args.get("default")
        case exp.If() if not isinstance(node.parent, exp.Case):
            yield lambda n: n.args.get("true")
        case exp.Distinct() if len(node.expressions) == 1:
            yield lambda n: n.expressions[0]
        case exp.Distinct():
            for i in range(len(node.expressions)):
                yield partial(_without, "expressions", i)
        case exp.Group():
            yield _plain_group
        case exp.Join():
            yield partial(_clear, "side")
        case exp.Window():
            yield partial(_clear, "spec")
            for i in range(len(node.args.get("partition_by") or [])):
                yield partial(_without, "partition_by", i)
        case exp.AggFunc():
            return
        case exp.Func() | exp.Binary():
            for name, argument in node.args.items():
                if isinstance(argument, exp.Expression) and not isinstance(argument, exp.DataType):
                    yield partial(_argument, name)


def _select_edits(select: exp.Select) -> Iterator[Edit]:
    for clause in ("where", "having", "distinct", "offset", "group"):
        if select.args.get(clause):
            yield partial(_clear, clause)
    if select.args.get("order") or select.args.get("limit"):
        yield _without_limit
    for clause in ("joins", "laterals"):
        for i in range(len(select.args.get(clause) or [])):
            yield partial(_without, clause, i)
    if len(select.expressions) > 1:
        for i in range(len(select.expressions)):
            yield partial(_without, "expressions", i)


def _clear(name: str, node: Any) -> None:
    node.set(name, None)


def _without(name: str, i: int, node: Any) -> None:
    node.set(name, [part for j, part in enumerate(node.args[name]) if j != i])


def _argument(name: str, node: Any) -> Any:
    return node.args[name]


def _without_limit(select: Any) -> None:
    for clause in ("order", "limit", "offset"):
        select.set(clause, None)


def _hoistable(subquery: exp.Subquery) -> bool:
    return isinstance(subquery.this, exp.Select) and isinstance(_input(subquery), exp.Subquery)


def _input(subquery: Any) -> Any:
    clause = subquery.this.find(exp.From)
    return clause.this if clause else None


def _hoist(subquery: Any) -> None:
    """(SELECT … FROM (X) AS a) AS b: (X) AS b."""
    inner = _input(subquery)
    if inner is not None:
        subquery.set("this", inner.this.copy())


def _plain_group(group: Any) -> None:
    """Without ROLLUP, CUBE and GROUPING SETS."""
    columns = list({column.sql(): column.copy() for column in group.find_all(exp.Column)}.values())
    for name in list(group.args):
        group.set(name, None)
    group.set("expressions", columns)
