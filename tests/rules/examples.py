"""Operators to try the rules on, with columns k, x of a source s and j, y of a source t."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.ir.aggregate import Call
from headrace.ir.expr import Attr, Column, Equal, Expr, SortKey, ref
from headrace.ir.rel import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    PairJoin,
    Partials,
    Project,
    Source,
    Union,
    Window,
    prune,
)

K, X, J, Y, Z = (Attr(n, n, "int") for n in "kxjyz")
U, V, N, E = Attr("u", "u", "int"), Attr("v", "v", "int"), Attr("n", "n", "bigint"), Attr("e", "e", "boolean")
S = Source("s", (K, X), ("k", "x"))
T = Source("t", (J, Y), ("j", "y"))
R = Source("r", (U, V), ("u", "v"))


def expr(text: str, refs: str, function: Callable[[Any], Any], type_: str = "int") -> Expr:
    return Expr(text, frozenset(refs), type_, handle=function)


def compared(a: str, op: str, b: str) -> Expr:
    """a op b, NULL when either is."""

    def value(row: dict[str, Any]) -> bool | None:
        if row[a] is None or row[b] is None:
            return None
        return bool({"=": row[a] == row[b], ">": row[a] > row[b]}[op])

    return expr(f"{a} {op} {b}", a + b, value, "boolean")


def both(*conditions: Expr) -> Expr:
    def value(row: dict[str, Any]) -> bool | None:
        values = [c.handle(row) for c in conditions]
        return False if False in values else None if None in values else True

    refs = frozenset().union(*(c.refs for c in conditions))
    return Expr(" AND ".join(c.text for c in conditions), refs, "boolean", handle=value)


def call(function: str, argument: Attr | None = X, **more: Any) -> Call:
    args = () if argument is None else (ref(argument),)
    distinct = "DISTINCT " if more.get("distinct") else ""
    filtered = f" FILTER {more['filter']}" if more.get("filter") else ""
    text = f"{function}({distinct}{argument or '*'}){filtered}"
    return Call(Attr(f"{function}{len(distinct)}", text, "int"), function, args, text=text, **more)


def pair_join(kind: str, *, equi: bool = True, keyed: bool = True) -> PairJoin:
    condition = compared("k", "=", "j") if keyed else compared("x", ">", "y")
    if keyed and not equi:
        condition = both(condition, compared("x", ">", "y"))
    keys = ((K, J),) if keyed else ()
    return PairJoin(S, T, kind, keys, equi and keyed, condition, E if kind == "existence" else None)


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """row_number() over x, ties settled by all columns."""
    ordered = sorted(rows, key=lambda r: [(v is not None, v or 0) for _, v in sorted(r.items(), reverse=True)])
    return [{**r, "n": i + 1} for i, r in enumerate(ordered)]


POSITIVE = Filter(S, (expr("x > 0", "x", lambda r: None if r["x"] is None else r["x"] > 0, "boolean"),))
SHIFTED = Project(S, (Column(K, ref(K)), Column(Z, expr("x + 1", "x", lambda r: r["x"] and r["x"] + 1))))
STACKED = Union((S, T), ((K, X), (J, Y)), (U, V))
TWICE = Expand(S, ((ref(K), ref(X)), (Expr("NULL", frozenset(), "int", "null"), ref(X))), (U, V))
SPREAD = Generate(S, (K, X, Z), "explode(…)", lambda r: [{**r, "z": i} for i in range(r["x"] or 0)])
DISTINCT = Aggregate(S, (K,), ())
PAIR = Join((S, T), (Equal(ref(K), ref(J)),), ())
LOOSE = Join((S, T), (), (compared("x", ">", "y"),))
CHAIN = Join((S, T, R), (Equal(ref(K), ref(J)), Equal(ref(Y), ref(U))), ())
NESTED = Join((prune(PAIR, (K, X, Y)), R), (Equal(ref(Y), ref(U)),), ())
SELF = Join((S, Project(S, (Column(U, ref(K)), Column(V, ref(X))))), (Equal(ref(K), ref(U), null_safe=True),), ())
RANKED = Window(S, (K,), (N,), "row_number() over (partition by k order by x)", numbered)
OVERALL = Window(S, (), (N,), "row_number() over (order by x)", numbered)
FIRST = Limit(S, (SortKey(ref(X), False, True),), 0, 2)


def grouped(*calls: Call, keys: tuple[Attr, ...] = (K,)) -> Aggregate:
    return Aggregate(S, keys, calls)


def partials(*calls: Call, keys: tuple[Attr, ...] = (K,)) -> Partials:
    return Partials(S, keys, calls)


OVER_PAIR = Aggregate(PAIR, (K,), (call("sum", Y), call("count", None), call("max", Y)))
OVER_CHAIN = Aggregate(
    Project(CHAIN, (Column(V, ref(V)), Column(Z, expr("x + 1", "x", lambda r: r["x"] and r["x"] + 1)))),
    (V,),
    (call("sum", Z), call("count", Z), call("min", Z)),
)
