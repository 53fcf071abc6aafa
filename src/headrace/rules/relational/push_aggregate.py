"""γ[k; f(x)] (A ⋈ M) = γ[k; f'(p)] (A ⋈ γ[m; f(x) AS p] M), where x is of M alone and m is what the rest needs of M.

Of M the rest needs the columns by which it is joined and grouped. Rows of M that agree in them meet the same rows of
A and end in the same groups, so they may be put together before: a count or a sum of parts is the sum of what the
parts have, a minimum the least of theirs. What is kept of M is then a row for each m, not a row for each of its rows.
M is a join of all members but one, for the changes of that one, or the one member that has x.

Breaks for calls whose parts do not tell the whole: distinct ones, means, medians. For a count of everything, which is
zero over no rows, where a sum is NULL. For sums of BIGINT, which might overflow for rows that meet nothing, and
decimals whose sum of sums has no room for more digits. Yan and Larson, Eager Aggregation; Tempura §4.2, DBToaster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace.ir.aggregate import DIGITS_OF_SUM, MOST_DIGITS, Call, Merging, decimal_of
from headrace.ir.expr import Attr, Column, ref
from headrace.ir.rel import Aggregate, Join, Node, Project, Rel, prune
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.rules.hov import MOST_MEMBERS, without
from headrace.rules.rule import rule

_SUMMED = ("tinyint", "smallint", "int", "float", "double")
_LATER = 5  # when joins are flat


@rule(
    "relational",
    "aggregate below a join",
    Aggregate,
    families=("HOV",),
    leaves=("push_aggregate/", "split_distinct/"),
    priority=_LATER,
)
def push_aggregate(aggregate: Aggregate, memo: Memo) -> Iterator[Node]:
    join, columns = _joined(aggregate.input, memo)
    if join is None or not 2 <= len(join.members) <= MOST_MEMBERS or not all(map(_in_parts, aggregate.calls)):
        return
    if not aggregate.keys and any(c.function == "count" for c in aggregate.calls):
        return
    for inside, others in _divided(join, columns, aggregate.calls):
        pushed = _pushed(aggregate, join, columns, inside, others)
        if pushed is not None and not Facts(memo).unique_on(inside, frozenset(k.id for k in pushed[0].keys)):
            yield pushed[1]


def _joined(rel: Rel, memo: Memo) -> tuple[Join | None, dict[str, Column]]:
    """The join that an aggregate reads, flat, and what a projection between them computes, by the id of the column."""
    joins = memo.members(rel, Join)
    columns: dict[str, Column] = {}
    for project in memo.members(rel, Project) if not joins else ():
        joins = memo.members(project.input, Join)
        if joins:
            columns = {c.attr.id: c for c in project.columns if c.expr != ref(c.attr)}
            break
    return max(joins, key=lambda j: len(j.members), default=None), columns


def _divided(join: Join, columns: dict[str, Column], calls: tuple[Call, ...]) -> Iterator[tuple[Rel, tuple[Rel, ...]]]:
    """Parts of a join that have all that calls look at, and the members beside each."""
    looked_at = frozenset[str]().union(*(_raw(i, columns) for c in calls for i in _refs(c)))
    for place, member in enumerate(join.members):
        rest = (*join.members[:place], *join.members[place + 1 :])
        view = rest[0] if len(rest) == 1 else without(join, place)
        if view is not None and looked_at <= _ids(view):
            yield view, (member,)
        if len(rest) > 1 and looked_at and looked_at <= _ids(member):
            yield member, rest


def _pushed(
    aggregate: Aggregate, join: Join, columns: dict[str, Column], inside: Rel, others: tuple[Rel, ...]
) -> tuple[Aggregate, Node] | None:
    """The aggregate of one part of a join, and the whole by way of it."""
    have = _ids(inside)
    equals = tuple(e for e in join.equals if not e.refs <= have)
    residual = tuple(e for e in join.residual if not e.refs <= have)
    # Columns that are made of the part alone are made in it; the others above the join, of what they need.
    own = {i: c for i, c in columns.items() if c.expr.refs <= have}
    grouped = {k.id for k in aggregate.keys}
    needed = frozenset[str]().union(*(e.refs for e in equals), *(e.refs for e in residual))
    needed |= frozenset[str]().union(*(c.expr.refs for i, c in columns.items() if i in grouped and i not in own))
    needed |= grouped - columns.keys()
    named = {a.id: a for a in inside.attrs}
    keys = (*(named[i] for i in named if i in needed), *(c.attr for i, c in own.items() if i in grouped))
    if not keys:
        return None
    arguments = frozenset[str]().union(*(_refs(c) for c in aggregate.calls))
    raw = {k.id for k in keys} | arguments
    below = (*(Column(a, ref(a)) for a in inside.attrs if a.id in raw), *(c for i, c in own.items() if i in raw))
    parts = [_in_parts(c) for c in aggregate.calls]
    inner = Aggregate(Project(inside, below), keys, tuple(p[0] for p in parts if p))
    above = Join((*others, inner), equals, residual)
    made = {i: c for i, c in columns.items() if i in grouped and i not in own}
    passed = (*aggregate.keys, *(p[0].attr for p in parts if p))
    rows = Project(above, tuple(made[a.id] if a.id in made else Column(a, ref(a)) for a in passed))
    whole = Aggregate(rows, aggregate.keys, tuple(p[1] for p in parts if p))
    values = [Column(c.attr, ref(p[1].attr)) for c, p in zip(aggregate.calls, parts, strict=True) if p]
    if not values:
        return inner, prune(whole, aggregate.attrs)
    return inner, Project(whole, (*(Column(k, ref(k)) for k in aggregate.keys), *values))


def _in_parts(call: Call) -> tuple[Call, Call] | None:
    """The call over a part of the rows, and the one that puts parts together; None where there is none."""
    if call.distinct or call.merging is Merging.NEVER:
        return None
    function = call.function
    if function == "sum":
        digits = decimal_of(call.args[0].type)
        roomy = digits is not None and digits[0] + 2 * DIGITS_OF_SUM <= MOST_DIGITS
        if not roomy and call.args[0].type not in _SUMMED:
            return None
    elif function not in ("count", "min", "max"):
        return None
    type_ = "bigint" if function == "count" else call.attr.type
    part = Attr(f"{call.attr.id}.p", f"{call.attr.name} of a part", type_)
    together = "sum" if function == "count" else function
    all_of_it = Attr(f"{call.attr.id}.w", call.attr.name, call.attr.type)
    return replace(call, attr=part), Call(all_of_it, together, (ref(part),), text=f"{together}({part})")


def _refs(call: Call) -> frozenset[str]:
    return frozenset[str]().union(*(e.refs for e in (*call.args, *([call.filter] if call.filter else []))))


def _raw(column: str, columns: dict[str, Column]) -> frozenset[str]:
    """The columns of the join that a column is made of."""
    return columns[column].expr.refs if column in columns else frozenset({column})


def _ids(rel: Rel) -> frozenset[str]:
    return frozenset(a.id for a in rel.attrs)
