"""Rows of joins that are not bilinear: each left row with its matches, without one, or by whether there is any.

What comes from the left passes with what it gives. What comes from the right also turns left rows over whose first
match comes or whose last one leaves (InQP §3.1.2): as many as have a key that appears or disappears there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headrace.ir.expr import Equal
from headrace.ir.rel import (
    PairJoin,
)
from headrace.stats.estimate import NOTHING, Change, Estimate
from headrace.stats.grouping import groups, regrouped
from headrace.stats.joins import Sides, reference, side_by_side, some
from headrace.stats.known import Known
from headrace.stats.rowwise import at_most, of_rows, row_width
from headrace.stats.selectivity import holds


def pair_joined(node: PairJoin, left: Estimate, right: Estimate, known: Known) -> Estimate:
    if node.keys:
        sides = Sides.of(left, right, [(reference(a), reference(b)) for a, b in node.keys])
        share = 1.0 if node.equi or node.condition is None else _residual(node, left, right)
        inner, meets_left, meets_right = sides.pairs * share, sides.left, sides.right
        if share < 1:  # one of the rows with the same key has to be right
            meets_left *= some(share, sides.pairs / (left.rows * sides.left) if left.rows * sides.left > 0 else 0.0)
            meets_right *= some(
                share, sides.pairs / (right.rows * sides.right) if right.rows * sides.right > 0 else 0.0
            )
    else:
        share = holds([node.condition] if node.condition else [], side_by_side((left, right)))
        inner = left.rows * right.rows * share
        meets_left, meets_right = some(share, right.rows), some(share, left.rows)
    learned = known.learned(node)
    sizes = _Matches(inner, meets_left, meets_right)
    made = left if node.kind in ("left semi", "left anti", "existence") else _padded(node, left, right, sizes)
    most = left.rows * max(right.rows, 1.0) + right.rows
    if left.delta or right.delta:
        side = left if left.delta else right
        rows = min(_paired(node.kind, left.rows, right.rows, sizes) * learned.change, most)
        return _kept_values(node, made, rows, of_rows(side.change, rows), delta=True)
    rows = min(_paired(node.kind, left.rows, right.rows, sizes) * learned.rows, most)
    change = _paired_change(node, left, right, sizes) * learned.change
    return _kept_values(node, made, rows, at_most(change, rows, math.inf), delta=False)


def _padded(node: PairJoin, left: Estimate, right: Estimate, sizes: _Matches) -> Estimate:
    """Both sides, where columns of the one are NULL in rows of the other that found no match."""
    made = side_by_side((left, right))
    total = max(_paired(node.kind, left.rows, right.rows, sizes), 1.0)
    alone = {id(right): left.rows * (1 - sizes.left) / total, id(left): right.rows * (1 - sizes.right) / total}
    spans = dict(made.spans)
    for side in (left, right) if node.kind == "full outer" else (right,):
        missing = min(max(alone[id(side)], 0.0), 1.0)
        for attr, span in side.spans.items():
            spans[attr] = replace(span, nulls=span.nulls + (1 - span.nulls) * missing)
    return replace(made, spans=spans)


@dataclass(frozen=True)
class _Matches:
    """The pairs that match, and the shares of rows of each side that have a match."""

    inner: float
    left: float
    right: float


def _residual(node: PairJoin, left: Estimate, right: Estimate) -> float:
    """What a condition leaves beside the equalities that it begins with."""
    assert node.condition is not None
    both = side_by_side((left, right))
    keys = [Equal(reference(a), reference(b)) for a, b in node.keys]
    alone = holds(keys, both)
    return min(holds([node.condition], both) / alone, 1.0) if alone > 0 else 1.0


def _paired(kind: str, left: float, right: float, sizes: _Matches) -> float:
    match kind:
        case "left semi":
            return left * sizes.left
        case "left anti":
            return left * (1 - sizes.left)
        case "left outer":
            return sizes.inner + left * (1 - sizes.left)
        case "full outer":
            return sizes.inner + left * (1 - sizes.left) + right * (1 - sizes.right)
    return left


def _paired_change(node: PairJoin, left: Estimate, right: Estimate, sizes: _Matches) -> Change:
    """From the left, each row with what it gives. From the right, besides the pairs that come and leave, those left
    rows whose first match comes or last one leaves: as many as have a key that appears or disappears."""
    each = _paired(node.kind, left.rows, right.rows, sizes) / left.rows if left.rows > 0 else 0.0
    if node.kind == "full outer":
        each = sizes.inner / left.rows + 1 - sizes.left if left.rows > 0 else 0.0
    own = left.change * each
    keys = _flips(node, right, by_left=False)
    per_key = left.rows / max(groups(tuple(a for a, _ in node.keys), left), 1.0) if node.keys else left.rows
    appear, gone = (min(n * per_key * max(sizes.left, 0.0), left.rows) for n in (keys.inserts, keys.deletes))
    pairs = right.change * (sizes.inner / right.rows if right.rows > 0 else 0.0)
    match node.kind:
        case "left semi":
            return own + Change(appear, 0.0, gone)
        case "left anti":
            return own + Change(gone, 0.0, appear)
        case "existence":
            return own + Change(0.0, appear + gone, 0.0)
        case "left single":
            return own + Change(0.0, min(right.change.rows * per_key, left.rows), 0.0)
        case "full outer":
            back = _flips(node, left, by_left=True)
            per_left = right.rows / max(groups(node.right_keys, right), 1.0) if node.keys else right.rows
            alone = right.change * (1 - sizes.right)
            lost, found = (min(n * per_left * sizes.right, right.rows) for n in (back.inserts, back.deletes))
            return own + pairs + alone + Change(gone + found, 0.0, appear + lost)
    return own + pairs + Change(gone, 0.0, appear)


def _flips(node: PairJoin, of: Estimate, *, by_left: bool) -> Change:
    """The keys of one side that appear and disappear."""
    if not of.change:
        return NOTHING
    if not node.keys:
        return Change(float(of.before <= 0 < of.rows), 0.0, float(of.rows <= 0 < of.before))
    keys = node.left_keys if by_left else node.right_keys
    return regrouped(of, groups(keys, of))


def _kept_values(node: PairJoin, made: Estimate, rows: float, change: Change, *, delta: bool) -> Estimate:
    kept = made.thinned(min(rows, made.rows), change)
    width = row_width(node.attrs) if node.kind in ("left outer", "full outer", "left single") else made.width
    return replace(kept, rows=change.rows if delta else rows, change=change, delta=delta, width=width)
