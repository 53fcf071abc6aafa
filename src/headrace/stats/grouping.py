"""Rows of what has groups: aggregates, partial states, windows; and of limits and unknown operators.

Where InQP tells two cases apart, whether every group has a row or not, here a formula has both as its limits: a row is
of a group at random, each group has as many rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

from headrace.ir.expr import Attr
from headrace.ir.rel import (
    Aggregate,
    Limit,
    Node,
    Opaque,
    Window,
)
from headrace.stats.estimate import KEY, NOTHING, Change, Estimate, delta_of, drawn, population
from headrace.stats.known import Known
from headrace.stats.rowwise import at_most, chain, of_rows, row_width, scaled_width


def groups(keys: tuple[Attr, ...], of: Estimate) -> float:
    """How many groups rows have by some columns. A column that is a function of another one of them makes no more."""
    if not keys:
        return 1.0
    ids = {k.id for k in keys}
    free = [k for k in sorted(ids) if not any(up in ids for up in chain(k, of.determined))]
    if not free:
        free = sorted(ids)[:1]
    if len(free) == 1:
        return min(of.values(free[0]) + (of.nulls(free[0]) > 0), of.rows)
    sharing: dict[str, float] = {}
    for k in free:
        root = [k, *(up for up in chain(k, of.determined) if up in of.distinct)][-1]
        sharing[root] = sharing.get(root, 1.0) * population(of.values(k), of.rows)
    # Columns of one table have no more combinations than it has keys.
    combined = math.prod(min(product, max(of.values(root), 1.0)) for root, product in sharing.items())
    return max(drawn(combined, of.rows), *(of.values(k) for k in free))


def regrouped(of: Estimate, number: float) -> Change:
    """How groups change when rows do: a group comes when it had no row before, leaves when it has none afterwards, and
    otherwise changes when any of its rows does. Which group a row is of is chance; but where each row has a group of
    its own, that is a key.

    With a row a group every insert is a group that comes, with many nearly every one changes a group that is there:
    InQP's two cases.
    """
    change, rows, before = of.change, of.rows, of.before
    if number <= 0 or number >= KEY * rows:
        return change
    many = population(number, rows)
    touched = -many * math.expm1(-(change.inserts + change.updates + change.deletes) / many)
    new = -many * math.exp(-before / many) * math.expm1(-change.inserts / many)
    gone = -many * math.exp(-rows / many) * math.expm1(-change.deletes / many)
    new, gone = min(new, change.inserts, number), min(gone, change.deletes)
    return Change(new, min(max(touched - new - gone, 0.0), number - new), gone)


def aggregated(node: Node, keys: tuple[Attr, ...], of: Estimate, known: Known) -> Estimate:
    learned = known.learned(node)
    if not keys:
        return _single(node, of)
    if of.delta:
        number = min(groups(keys, of) * learned.change, of.rows)
        return _of_groups(node, keys, of, number, Change(number), delta=True)
    number = min(groups(keys, of) * learned.rows, of.rows)
    change = regrouped(of, number) * learned.change
    return _of_groups(node, keys, of, number, at_most(change, number, of.before), delta=False)


def _single(node: Node, of: Estimate) -> Estimate:
    """One row whatever there is; where anything changes, it does."""
    if of.delta:
        return Estimate(min(1.0, of.rows), Change(min(1.0, of.rows)), {}, row_width(node.attrs), True)
    change = Change(0.0, min(1.0, of.change.rows), 0.0) if of.before > 0 else Change(min(1.0, of.change.rows))
    return Estimate(1.0, change, {a.id: 1.0 for a in node.attrs}, row_width(node.attrs))


def _of_groups(
    node: Node, keys: tuple[Attr, ...], of: Estimate, number: float, change: Change, *, delta: bool
) -> Estimate:
    ids = {k.id for k in keys}
    determined = {k: up for k in ids for up in list(chain(k, of.determined))[:1] if up in ids}
    if len(keys) == 1:
        determined |= {a.id: keys[0].id for a in node.attrs if a.id not in ids}
    # Counts lie around their mean: three times as far as chance takes most of them, to either side.
    each = 6 * math.sqrt(of.rows / number) + 1 if number > 0 else 0.0
    calls = node.calls if isinstance(node, Aggregate) else ()
    counts = {c.attr.id: min(each, number) for c in calls if c.function == "count" and not c.distinct}
    return Estimate(
        number,
        change,
        {k: min(of.values(k), number) for k in ids if k in of.distinct} | counts,
        row_width(node.attrs),
        delta,
        {k: of.spans[k] for k in ids if k in of.spans},
        determined,
        {k: of.domains[k] for k in ids if k in of.domains},
    )


def accumulated(node: Node, state: Estimate, change: Estimate) -> Estimate:
    """The old and the new row of each touched group; of one that is new, only that."""
    told = state.change
    whole, there = told.inserts + told.updates + told.deletes, told.updates + told.deletes
    known = there / whole if whole > 0 else min(state.rows, 1.0)
    old = min(change.rows * known, max(state.rows, state.before))
    gone = told.deletes / there if there > 0 else 0.0
    made = Change(change.rows - old, old * (1 - gone), old * gone)
    return replace(delta_of(made, change), width=state.width)


def windowed(node: Window, partition: tuple[Attr, ...], of: Estimate) -> Estimate:
    width = scaled_width(node, (of,))
    if of.delta or not of.change:
        return replace(of, width=width)
    share = 1.0
    if partition:
        number = groups(partition, of)
        touched = regrouped(of, number)
        share = min((touched.inserts + touched.updates) / number, 1.0) if number > 0 else 0.0
    kept = max(of.rows - of.change.inserts, 0.0)
    change = Change(of.change.inserts, min(max(kept * share, of.change.updates), kept), of.change.deletes)
    return replace(of, change=change, width=width)


def limited(node: Limit, of: Estimate) -> Estimate:
    """As many of the first rows are others as of all rows have changed. (InQP takes all of them back and gives all
    anew; what a state of them adds up to is only the difference.)"""

    def kept(rows: float) -> float:
        left = max(rows - node.skip, 0.0)
        return left if node.count is None else min(left, float(node.count))

    rows, before = kept(of.rows), kept(of.before)
    if of.delta:
        return of.thinned(rows, of_rows(of.change, rows))
    share = min((of.change.inserts + of.change.updates + of.change.deletes) / max(of.rows, of.before, 1.0), 1.0)
    other = share * min(rows, before)
    change = Change(other + max(rows - before, 0.0), 0.0, other + max(before - rows, 0.0)) if of.change else NOTHING
    return of.thinned(rows, change)


def headed(kept: Estimate, change: Estimate) -> Estimate:
    """What changes in the first rows; not without a change."""
    other = at_most(kept.change, change.rows, kept.rows) if change.rows > 0 else NOTHING
    return delta_of(other, kept)


def shortened(of: Estimate) -> Estimate:
    """Whether more rows leave than come, as a part of a row: in half of the runs in which any leaves, for as many come
    on average. Which leave is chance."""
    chance = -math.expm1(-of.change.left) / 2
    return Estimate(chance, Change(chance), {}, 8.0, True)


def opaque(node: Opaque, inputs: tuple[Estimate, ...]) -> Estimate:
    """As many rows as its largest input; where any changes, all may."""
    rows = max((i.rows for i in inputs), default=1.0)
    before = max((i.before for i in inputs), default=1.0)
    change = Change(rows, 0.0, before) if any(i.change for i in inputs) else NOTHING
    return Estimate(rows, change, {}, row_width(node.attrs))
