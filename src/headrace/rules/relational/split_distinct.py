"""γ[k; f(DISTINCT x), g(y)] A = γ[k; f(x)] (Distinct k, x A) ⋈ₖ γ[k; g(y)] A, the join null-safe.

The distinct pairs are a counted state: a value leaves when its last row leaves, and only then does f
see a change. Both sides have the same groups, for a group has a pair as soon as it has a row (x may be
NULL there, which f ignores). Without other calls there is nothing to join.

Breaks for a FILTER on the distinct call: the pairs would have to remember which rows passed it; such a
call stays whole and its touched groups are recomputed. DESIGN §4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace.ir.aggregate import Call, Merging
from headrace.ir.expr import Attr, Column, Equal, ref
from headrace.ir.rel import Aggregate, Join, Node, Project, prune
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("relational", "counted distinct", Aggregate)
def split_distinct(aggregate: Aggregate, memo: Memo) -> Iterator[Node]:
    distinct = [c for c in aggregate.calls if c.distinct]
    others = tuple(c for c in aggregate.calls if not c.distinct)
    if not distinct or len({c.args for c in distinct}) > 1 or any(c.filter for c in distinct):
        return
    keys, first = aggregate.keys, distinct[0]
    values = tuple(
        Attr(f"{first.attr.id}.arg{i}", f"{first.attr.name}.arg{i}", e.type) for i, e in enumerate(first.args)
    )
    calls = tuple(_plain(c, values) for c in distinct)
    if any(c.merging is Merging.NEVER for c in calls):
        return
    columns = tuple(Column(k, ref(k)) for k in keys)
    columns += tuple(Column(a, e) for a, e in zip(values, first.args, strict=True))
    pairs = Aggregate(Project(aggregate.input, columns), (*keys, *values), ())
    counted = Aggregate(pairs, keys, calls)
    if not others:
        yield prune(counted, aggregate.attrs)
        return
    renamed = tuple(Attr(f"{k.id}.d{first.attr.id}", k.name, k.type, k.nullable) for k in keys)
    right = Project(
        counted,
        tuple(Column(new, ref(k)) for new, k in zip(renamed, keys, strict=True))
        + tuple(Column(c.attr, ref(c.attr)) for c in calls),
    )
    equals = tuple(Equal(ref(k), ref(new), null_safe=True) for k, new in zip(keys, renamed, strict=True))
    yield prune(Join((Aggregate(aggregate.input, keys, others), right), equals, ()), aggregate.attrs)


def _plain(call: Call, values: tuple[Attr, ...]) -> Call:
    return replace(call, args=tuple(map(ref, values)), distinct=False)
