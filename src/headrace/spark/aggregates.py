"""Partial states of aggregates in Spark: how buffers are computed, merged and finished.

``ir.aggregate`` says which functions merge and what their buffers are; here are the formulas. What does
not merge is computed by Spark's own function, and finishing a mean or a spread is Spark's own
expression too, so that types and rounding are Spark's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.ir.aggregate import Call, Merging, decimal_of
from headrace.ir.expr import Attr, Expr
from headrace.spark.catalyst import Catalyst, name_of

_SPREAD_OF = "var_pop"


def computed(call: Call, argument: list[str], weight: str | None) -> list[str]:
    """The SQL of each buffer of a merging call over rows of the given weight (None: all one). But for counts,
    the weight must be +1 or −1.

    ``argument`` names the columns that hold the call's arguments, NULL where its FILTER fails.
    """
    present = " AND ".join(f"isnotnull({a})" for a in argument) or "true"
    count = f"count({', '.join(argument) or '1'})"
    if weight is not None:
        count = f"coalesce(sum(if({present}, {weight}, 0L)), 0L)"
    if call.function == "count":
        return [count]
    x = argument[0]
    if call.function in ("min", "max"):
        return [f"{call.function}({x})"]
    if call.function in ("sum", "avg"):
        kind = call.buffers[0].attr.type
        wide = x if decimal_of(kind) and decimal_of(call.args[0].type) else f"cast({x} as {kind})"
        signed = wide if weight is None else f"if({weight} < 0, -{wide}, {wide})"
        return [f"cast(sum({signed}) as {kind})", count]
    number = f"cast(count({x}) as double)"
    return [number, f"avg({x})", f"{_SPREAD_OF}({x}) * {number}"]


def merged(call: Call, old: list[str], new: list[str]) -> list[str]:
    """The SQL of each buffer after ``+γ``, where ``old`` and ``new`` name the buffers of the state and of the change,
    but for those that add, of which ``new`` is the sum of both already; a side without the group has NULLs."""
    out = []
    for i, (o, n, buffer) in enumerate(zip(old, new, call.buffers, strict=True)):
        match buffer.merge:
            case "least" | "greatest":
                out.append(f"{buffer.merge}({o}, {n})")
            case "spread":
                out.append(_spread(i, old, new))
            case _:
                out.append(n)
    return out


def _spread(part: int, old: list[str], new: list[str]) -> str:
    """Count, mean and sum of squared differences of two parts together (Chan, Golub, LeVeque 1979)."""
    (n1, a1, m1), (n2, a2, m2) = ([f"coalesce({b}, 0D)" for b in side] for side in (old, new))
    total = f"({n1} + {n2})"
    if part == 0:
        return total
    gap = f"({a2} - {a1})"
    body = f"{a1} + {gap} * {n2} / {total}" if part == 1 else f"{m1} + {m2} + {gap} * {gap} * {n1} * {n2} / {total}"
    return f"if({total} = 0D, cast(null as double), {body})"


def finished(c: Catalyst, call: Call) -> tuple[list[Any], Any]:
    """The value of a call from its buffers: columns to bind first, and the expression over them."""
    names = [name_of(b.attr) for b in call.buffers]
    if call.merging is Merging.NEVER or call.function in ("min", "max"):
        return [], c.sql(names[0])
    if call.function == "count":
        return [], c.sql(names[0])
    if call.function == "sum":
        value = f"if({names[1]} = 0L, null, cast({names[0]} as {call.attr.type}))"
        return [], c.sql(value)
    if call.function == "avg" and not decimal_of(call.args[0].type):
        value = f"if({names[1]} = 0L, null, cast({names[0]} as double) / cast({names[1]} as double))"
        return [], c.sql(value)
    function = c.aggregate_function(call.handle)
    slots = [function.aggBufferAttributes().apply(i) for i in range(len(names))]
    sources = [c.sql(n if i or call.function == "avg" else f"coalesce({n}, 0D)") for i, n in enumerate(names)]
    bound = [c.alias(s, slot) for s, slot in zip(sources, slots, strict=True)]
    return bound, function.evaluateExpression()


_Argument = tuple[Attr, Expr, Expr | None]


def arguments(calls: Iterable[Call]) -> tuple[list[_Argument], dict[str, list[str]]]:
    """Columns for the arguments of merging calls, NULL where a FILTER fails; and the names of those of each call by the
    id of its attribute. What two calls share is one column: of a sum and a mean Spark then computes what they have in
    common once."""
    columns: list[_Argument] = []
    names: dict[str, list[str]] = {}
    known: dict[tuple[Expr, Expr | None], str] = {}
    for call in calls:
        own = names[call.attr.id] = []
        for i, e in enumerate(call.args if call.merging is not Merging.NEVER else ()):
            if e.kind == "ref" and call.filter is None:
                known[e, None] = name_of(Attr(next(iter(e.refs)), "", e.type))
            elif (e, call.filter) not in known:
                attr = Attr(f"{call.attr.id}.x{i}", "x", e.type)
                columns.append((attr, e, call.filter))
                known[e, call.filter] = name_of(attr)
            own.append(known[e, call.filter])
    return columns, names
