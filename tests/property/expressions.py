"""Draws scalar expressions, predicates, aggregate calls and window calls over a scope.

Every expression is valid under ANSI mode (nothing overflows, nothing divides by zero, no cast fails) and
has one answer only, whatever the order in which its input arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from .relations import Expr, Scope
from .tables import DOMAIN, INTEGERS, NUMBERS, SUMMABLE, Kind, literal

T = TypeVar("T")
Template = tuple[str, Kind]
"""Text with {c} for the column, {o} for another column of its kind and {k} for a constant; and its kind."""

COMPARISONS = ("<>", "<=", ">=", "=", "IS DISTINCT FROM", "<", ">", "<=>", "<=", ">=", "<>")
INEQUALITIES = ("<=", ">=", "<>", "<", ">")


@cache
def _up_to(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n)


class Pen:
    """Makes choices. The first option is always the simplest."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def up_to(self, n: int) -> int:
        return self._draw(_up_to(n)) if n > 0 else 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.up_to(len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.up_to(one_in - 1) == one_in - 1

    def some(self, options: Sequence[T], least: int, most: int) -> tuple[T, ...]:
        """Between `least` and `most` different options, as far as there are so many."""
        left = list(options)
        count = min(least + self.up_to(most - least), len(left))
        return tuple(left.pop(self.up_to(len(left) - 1)) for _ in range(count))


def of_kind(scope: Scope, *kinds: Kind) -> Scope:
    return tuple(expr for expr in scope if expr.kind in kinds)


def comparable(one: Expr, other: Expr) -> bool:
    return one.kind is other.kind or (one.kind in NUMBERS and other.kind in NUMBERS)


def constant(pen: Pen, kind: Kind) -> Expr:
    """A literal of this kind; seldom NULL."""
    known = [value for value in DOMAIN[Kind.DOUBLE if kind is Kind.APPROX else kind] if value is not None]
    return Expr(literal(None if pen.chance(25) else pen.pick(known), kind), kind)


def any_of(*alternatives: object) -> Expr:
    return Expr(f"({' OR '.join(map(str, alternatives))})", Kind.BOOLEAN)


def all_of(*conditions: object) -> Expr:
    return Expr(" AND ".join(map(str, conditions)), Kind.BOOLEAN)


# --- scalars ---


def value(pen: Pen, scope: Scope) -> Expr:
    """A column, or something computed from columns."""
    column = pen.pick(scope)
    return computed(pen, scope, column) if pen.chance(4) else column


def computed(pen: Pen, scope: Scope, column: Expr) -> Expr:
    """Something computed from this column."""
    if pen.chance(4):
        return _case(pen, scope, column)
    anywhere: list[Template] = [
        ("coalesce({c}, {k})", column.kind),
        ("coalesce({c}, {o})", column.kind),
        ("nullif({c}, {o})", column.kind),
        ("({c} IS NULL)", Kind.BOOLEAN),
    ]
    template, kind = pen.pick([*_COMPUTED[column.kind], *anywhere])
    twin = pen.pick(of_kind(scope, column.kind)) if "{o}" in template else None
    known = constant(pen, column.kind) if "{k}" in template else None
    return Expr(template.format(c=column, o=twin, k=known), kind)


def _case(pen: Pen, scope: Scope, column: Expr) -> Expr:
    condition, kind = simple_predicate(pen, scope), column.kind
    match pen.up_to(3):
        case 0:
            return Expr(f"CASE WHEN {condition} THEN {column} END", kind)
        case 1:
            return Expr(f"if({condition}, {column}, {constant(pen, kind)})", kind)
        case 2:
            return Expr(f"CASE WHEN {condition} THEN {column} ELSE {pen.pick(of_kind(scope, kind))} END", kind)
        case _:
            return Expr(f"CASE WHEN {condition} THEN 'x' WHEN {column} IS NULL THEN 'y' ELSE 'z' END", Kind.STRING)


def _integer(kind: Kind) -> tuple[Template, ...]:
    return (
        ("({c} + 1)", kind),
        ("({c} - {o})", kind),
        ("({c} * 2)", kind),
        ("({c} % 2)", kind),
        ("(- {c})", kind),
        ("greatest({c}, {o})", kind),
        ("({c} % nullif({o}, 0))", kind),
        ("CAST({c} AS DOUBLE)", Kind.DOUBLE),
        ("CAST({c} AS DECIMAL(20,2))", Kind.DECIMAL),
        ("CAST({c} AS STRING)", Kind.STRING),
        ("try_divide({c}, {o})", Kind.APPROX),
        ("({c} BETWEEN 1 AND 2)", Kind.BOOLEAN),
        ("({c} * {o})", kind),
    )


_COMPUTED: dict[Kind, tuple[Template, ...]] = {
    Kind.INT: _integer(Kind.INT),
    Kind.BIGINT: _integer(Kind.BIGINT),
    Kind.STRING: (
        ("upper({c})", Kind.STRING),
        ("length({c})", Kind.INT),
        ("concat({c}, 'x')", Kind.STRING),
        ("({c} || {o})", Kind.STRING),
        ("substring({c}, 1, 1)", Kind.STRING),
        ("({c} LIKE 'a%')", Kind.BOOLEAN),
        ("({c} < {o})", Kind.BOOLEAN),
    ),
    Kind.DECIMAL: (
        ("({c} + 1)", Kind.DECIMAL),
        ("({c} * 2)", Kind.DECIMAL),
        ("({c} - {o})", Kind.DECIMAL),
        ("abs({c})", Kind.DECIMAL),
        ("round({c}, 1)", Kind.DECIMAL),
        ("CAST({c} AS DOUBLE)", Kind.APPROX),
        ("({c} > {k})", Kind.BOOLEAN),
        ("({c} * {o})", Kind.DECIMAL),
    ),
    Kind.DOUBLE: (
        ("({c} + 1)", Kind.DOUBLE),
        ("({c} * 2)", Kind.DOUBLE),
        ("({c} - {o})", Kind.DOUBLE),
        ("abs({c})", Kind.DOUBLE),
        ("floor({c})", Kind.BIGINT),
        ("({c} > {k})", Kind.BOOLEAN),
        ("try_divide({c}, {o})", Kind.APPROX),
    ),
    Kind.APPROX: (("({c} >= {k})", Kind.BOOLEAN),),
    Kind.DATE: (
        ("date_add({c}, 1)", Kind.DATE),
        ("month({c})", Kind.INT),
        ("year({c})", Kind.INT),
        ("datediff({c}, {o})", Kind.INT),
        ("trunc({c}, 'MM')", Kind.DATE),
        ("({c} <= {k})", Kind.BOOLEAN),
    ),
    Kind.BOOLEAN: (
        ("(NOT {c})", Kind.BOOLEAN),
        ("CAST({c} AS INT)", Kind.INT),
        ("({c} AND {o})", Kind.BOOLEAN),
        ("({c} OR {o})", Kind.BOOLEAN),
    ),
    Kind.ARRAY: (
        ("size({c})", Kind.INT),
        ("get({c}, 0)", Kind.INT),
        ("array_contains({c}, 1)", Kind.BOOLEAN),
        ("array_distinct({c})", Kind.ARRAY),
    ),
}


# --- predicates ---


def simple_predicate(pen: Pen, scope: Scope) -> Expr:
    """One test of one column, by itself, with a constant or with another column."""
    column = pen.pick(scope)
    match pen.up_to(11):
        case 0 | 9:
            return Expr(f"{column} IS NOT NULL", Kind.BOOLEAN)
        case 1 | 2 | 10:
            return Expr(f"{column} {pen.pick(COMPARISONS)} {constant(pen, column.kind)}", Kind.BOOLEAN)
        case 3:
            return Expr(f"{column} IS NULL", Kind.BOOLEAN)
        case 4:
            others = [other for other in scope if comparable(column, other)]
            return Expr(f"{column} {pen.pick(COMPARISONS)} {pen.pick(others)}", Kind.BOOLEAN)
        case 5:
            listed = ", ".join(constant(pen, column.kind).sql for _ in range(2 + pen.up_to(1)))
            return Expr(f"{column} IN ({listed})", Kind.BOOLEAN)
        case 6 | 11:
            listed = ", ".join(constant(pen, column.kind).sql for _ in range(1 + pen.up_to(1)))
            return Expr(f"{column} NOT IN ({listed})", Kind.BOOLEAN)
        case 7:
            flags = of_kind(scope, Kind.BOOLEAN)
            return pen.pick(flags) if flags else any_of(f"{column} IS NULL", simple_predicate(pen, scope))
        case _:
            truth = computed(pen, scope, column)
            return truth if truth.kind is Kind.BOOLEAN else Expr(f"{column} IS NOT NULL", Kind.BOOLEAN)


def predicate(pen: Pen, scope: Scope) -> Expr:
    """A test, or two of them."""
    first = simple_predicate(pen, scope)
    match pen.up_to(7):
        case 5:
            return any_of(first, simple_predicate(pen, scope))
        case 6:
            return all_of(first, simple_predicate(pen, scope))
        case 7:
            return Expr(f"NOT ({first})", Kind.BOOLEAN)
        case _:
            return first


def pairs(left: Scope, right: Scope) -> list[tuple[Expr, Expr]]:
    """Columns that can be compared. First those of one kind: they match more often."""
    both = [(one, other) for one in left for other in right if comparable(one, other)]
    return sorted(both, key=lambda pair: pair[0].kind is not pair[1].kind)


def match_on(pen: Pen, left: Scope, right: Scope) -> Expr:
    """A condition between two relations, of every kind that a join may have."""
    both = pairs(left, right)
    if not both:
        return simple_predicate(pen, left + right)
    same = [pair for pair in both if pair[0].kind is pair[1].kind] or both
    one, other = pen.pick(same if pen.up_to(3) < 3 else both)
    equal = Expr(f"{one} = {other}", Kind.BOOLEAN)
    match pen.up_to(12):
        case 0 | 1 | 2 | 3:
            return equal
        case 4 | 5:
            return Expr(f"{one} <=> {other}", Kind.BOOLEAN)
        case 6 | 12:
            return Expr(f"{one} {pen.pick(INEQUALITIES)} {other}", Kind.BOOLEAN)
        case 7:
            third, fourth = pen.pick(both)
            return all_of(equal, f"{third} {pen.pick(INEQUALITIES)} {fourth}")
        case 8:
            third, fourth = pen.pick(both)
            return all_of(equal, f"{third} {pen.pick(('=', '<=>'))} {fourth}")
        case 9:
            return all_of(equal, simple_predicate(pen, left))
        case 10:
            return all_of(equal, simple_predicate(pen, right))
        case _:
            return any_of(equal, simple_predicate(pen, left + right))


# --- aggregates ---

_CALLS: tuple[tuple[str, tuple[Kind, ...], Kind | None], ...] = (
    ("count(*)", (), Kind.BIGINT),
    ("sum({c})", SUMMABLE, None),
    ("count({c})", tuple(DOMAIN), Kind.BIGINT),
    ("max({c})", tuple(DOMAIN), None),
    ("min({c})", tuple(DOMAIN), None),
    ("avg({c})", SUMMABLE, Kind.APPROX),
    ("count(DISTINCT {c})", tuple(DOMAIN), Kind.BIGINT),
    ("sum(DISTINCT {c})", SUMMABLE, None),
    ("count(DISTINCT {c}, {o})", tuple(DOMAIN), Kind.BIGINT),
    ("bool_or({c})", (Kind.BOOLEAN,), Kind.BOOLEAN),
    ("every({c})", (Kind.BOOLEAN,), Kind.BOOLEAN),
    ("count_if({c})", (Kind.BOOLEAN,), Kind.BIGINT),
)
"""Call, kinds of its argument, kind of its result (None: by the argument). Those that every query meets."""

_RARE_CALLS: tuple[tuple[str, tuple[Kind, ...], Kind | None], ...] = (
    ("sort_array(collect_list({c}){f})", (Kind.INT,), Kind.ARRAY),
    ("sort_array(collect_set({c}){f})", (Kind.INT,), Kind.ARRAY),
    ("median({c})", INTEGERS, Kind.APPROX),
    ("bit_xor({c})", INTEGERS, None),
    ("approx_count_distinct({c})", SUMMABLE, Kind.BIGINT),
    ("listagg({c}, ',') WITHIN GROUP (ORDER BY {c})", (Kind.STRING,), Kind.STRING),
    ("max(named_struct('x', {c}, 'y', {o})).x", (Kind.INT,), None),
    ("avg(DISTINCT {c})", SUMMABLE, Kind.APPROX),
)

_VAGUE_CALLS = ("var_pop({c})", "var_samp({c})", "round(stddev_samp({c}), 4)", "covar_pop({c}, {o})")


def aggregate_call(pen: Pen, scope: Scope, *, vague: bool = False) -> Expr:
    """A call of an aggregate function, perhaps with DISTINCT and FILTER. `vague` allows deviations."""
    if vague and pen.chance(6) and (exact := of_kind(scope, *INTEGERS, Kind.DOUBLE)):
        return Expr(pen.pick(_VAGUE_CALLS).format(c=pen.pick(exact), o=pen.pick(exact)), Kind.VAGUE)
    kinds = {column.kind for column in scope}
    calls = [
        call
        for call in (_RARE_CALLS if pen.chance(8) else _CALLS)
        if not call[1] or kinds & {*call[1], *_alike(call[1])}
    ] or list(_CALLS[:1])
    template, argument_kinds, kind = pen.pick(calls)
    filtered = f" FILTER (WHERE {predicate(pen, scope)})" if pen.chance(5) else ""
    if not argument_kinds:
        return Expr(template + filtered, kind or Kind.BIGINT)
    candidates = of_kind(scope, *argument_kinds, *_alike(argument_kinds))
    column = pen.pick(candidates)
    if pen.chance(5):
        other = computed(pen, scope, column)
        column = other if other.kind in argument_kinds else column
    text = template.replace("{c}", column.sql).replace("{o}", pen.pick(candidates).sql)
    if kind is None:
        kind = column.kind
        if "sum" in template and kind is Kind.INT:
            kind = Kind.BIGINT
    if kind is Kind.APPROX and column.kind is Kind.DECIMAL and template.startswith("avg"):
        kind = Kind.DECIMAL
    if "{f}" in text:
        return Expr(text.replace("{f}", filtered), kind)
    if text.endswith(".x"):
        return Expr(text, kind)
    return Expr(text + ("" if text.startswith("round") else filtered), kind)


def _alike(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """A quotient goes wherever any kind goes."""
    return (Kind.APPROX,) if len(kinds) == len(DOMAIN) else ()


# --- windows ---


def _direction(pen: Pen) -> str:
    return pen.pick(("", " DESC", " NULLS LAST", " DESC NULLS FIRST"))


def ordered(pen: Pen, columns: Scope) -> str:
    return ", ".join(f"{column}{_direction(pen)}" for column in columns)


def window_call(pen: Pen, scope: Scope, *, positional: bool) -> Expr:
    """A window call with one answer: what depends on the order of peers is ordered by all columns.

    Only one call of a SELECT may be such a positional one: which two positions of two identical rows meet in
    one row of the answer would be left to chance.
    """
    partition = pen.some(scope, 0, 2)
    by = f"PARTITION BY {', '.join(map(str, partition))} " if partition else ""
    match pen.up_to(5 if positional else 3):
        case 0:
            name, kind = pen.pick(
                [
                    ("rank()", Kind.INT),
                    ("dense_rank()", Kind.INT),
                    ("percent_rank()", Kind.APPROX),
                    ("cume_dist()", Kind.APPROX),
                ]
            )
            return Expr(f"{name} OVER ({by}ORDER BY {ordered(pen, pen.some(scope, 1, 2))})", kind)
        case 1:
            call = _window_aggregate(pen, scope)
            return Expr(f"{call} OVER ({by.strip()})", call.kind)
        case 2:
            call = _window_aggregate(pen, scope)
            return Expr(f"{call} OVER ({by}ORDER BY {ordered(pen, pen.some(scope, 1, 2))})", call.kind)
        case 3:
            call = _window_aggregate(pen, scope)
            return Expr(f"{call} OVER ({by}{_range_frame(pen, scope)})", call.kind)
        case 4:
            call = _window_aggregate(pen, scope)
            frame = pen.pick(
                (
                    "1 PRECEDING AND CURRENT ROW",
                    "UNBOUNDED PRECEDING AND CURRENT ROW",
                    "1 PRECEDING AND 1 FOLLOWING",
                    "CURRENT ROW AND UNBOUNDED FOLLOWING",
                    "2 PRECEDING AND 1 PRECEDING",
                )
            )
            return Expr(f"{call} OVER ({by}{total_order(pen, scope)} ROWS BETWEEN {frame})", call.kind)
        case _:
            column = pen.pick(scope)
            name, kind = pen.pick(
                [
                    ("row_number()", Kind.INT),
                    (f"lag({column})", column.kind),
                    (f"lead({column}, 1)", column.kind),
                    (f"first_value({column})", column.kind),
                    (f"last_value({column})", column.kind),
                    (f"nth_value({column}, 2)", column.kind),
                    ("ntile(2)", Kind.INT),
                    (f"lag({column}, 2, {constant(pen, column.kind)})", column.kind),
                    (f"lag({column}) IGNORE NULLS", column.kind),
                ]
            )
            return Expr(f"{name} OVER ({by}{total_order(pen, scope)})", kind)


def total_order(pen: Pen, scope: Scope) -> str:
    """By every column, so that only identical rows can change places."""
    return f"ORDER BY {ordered(pen, pen.some(scope, len(scope), len(scope)))}"


def _range_frame(pen: Pen, scope: Scope) -> str:
    keys = of_kind(scope, *INTEGERS, Kind.DOUBLE, Kind.DATE, Kind.DECIMAL)
    if not keys:
        order = ordered(pen, pen.some(scope, 1, 1))
        return f"ORDER BY {order} RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
    key = pen.pick(keys)
    step = {Kind.DATE: "INTERVAL '1' DAY", Kind.DOUBLE: "1D"}.get(key.kind, "1")
    bounds = pen.pick(
        (
            f"{step} PRECEDING AND CURRENT ROW",
            f"{step} PRECEDING AND {step} FOLLOWING",
            f"CURRENT ROW AND {step} FOLLOWING",
            "UNBOUNDED PRECEDING AND CURRENT ROW",
        )
    )
    return f"ORDER BY {key}{_direction(pen)} RANGE BETWEEN {bounds}"


def _window_aggregate(pen: Pen, scope: Scope) -> Expr:
    column = pen.pick(scope)
    options = [
        Expr("count(*)", Kind.BIGINT),
        Expr(f"count({column})", Kind.BIGINT),
        Expr(f"max({column})", column.kind),
        Expr(f"min({column})", column.kind),
    ]
    if numbers := of_kind(scope, *SUMMABLE):
        number = pen.pick(numbers)
        summed = Kind.BIGINT if number.kind in INTEGERS else number.kind
        averaged = Kind.DECIMAL if number.kind is Kind.DECIMAL else Kind.APPROX
        options += [Expr(f"sum({number})", summed), Expr(f"avg({number})", averaged)]
    return pen.pick(options)
