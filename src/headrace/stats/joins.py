"""Rows of joins: a pair of rows matches where its keys are equal, and keys are drawn from the side that has more of
them, so that one pair in as many matches. What the other side has not finds no match."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.ir.expr import Attr, Equal, Expr
from headrace.ir.rel import (
    Join,
)
from headrace.stats.estimate import NOTHING, Change, Estimate
from headrace.stats.known import Known
from headrace.stats.rowwise import at_most, chain, of_rows
from headrace.stats.selectivity import different, domain, holds


def join_sizes(join: Join, inputs: tuple[Estimate, ...]) -> tuple[float, ...]:
    """The rows of the first member, of its join with the second, and so on to the last."""
    return tuple(e.rows for e in _in_order(join, inputs))


def fewest_first(join: Join, inputs: tuple[Estimate, ...]) -> tuple[int, ...]:
    """The members in the order in which the first one meets those that an equality links to it: each time the one that
    leaves the fewest rows. Others come last, as they are."""
    joining, order = _Joining(join, inputs), [0]
    rest = list(range(1, len(inputs)))
    while rest:
        linked_ = {place: met.rows for place in rest if (met := joining.met(place)) is not None}
        best = min(linked_, key=lambda place: linked_[place]) if linked_ else rest[0]
        joining.add(best)
        order.append(best)
        rest.remove(best)
    return tuple(order)


def _in_order(join: Join, inputs: tuple[Estimate, ...]) -> list[Estimate]:
    """The first member, its join with the second, and so on."""
    joining, found = _Joining(join, inputs), [inputs[0]]
    for place in range(1, len(inputs)):
        found.append(joining.add(place))
    found[-1], _ = _with_ready(found[-1], joining.predicates, joining.seen)
    return found


class _Joining:
    """A join member by member, from the first on. A predicate holds from where its columns are there."""

    def __init__(self, join: Join, inputs: tuple[Estimate, ...]) -> None:
        self.join = join
        self.inputs = inputs
        self.current = inputs[0]
        self.seen = {a.id for a in join.members[0].attrs}
        self.predicates: list[Equal | Expr] = [*join.equals, *join.residual]
        self.same: dict[str, str] = {}

    def met(self, place: int) -> Estimate | None:
        """What there would be with one more member; None where no equality links it to those before."""
        links, _ = self._links(place)
        return linked(self.current, self.inputs[place], links) if links else None

    def add(self, place: int) -> Estimate:
        links, rest = self._links(place)
        current = linked(self.current, self.inputs[place], links)
        for link in links:
            if link.left.kind == link.right.kind == "ref":
                (a,), (b,) = link.left.refs, link.right.refs
                self.same[b] = self.same.get(a, a)
        self.seen |= {a.id for a in self.join.members[place].attrs}
        self.current, self.predicates = _with_ready(current, rest, self.seen)
        return self.current

    def _links(self, place: int) -> tuple[list[Link], list[Equal | Expr]]:
        """The equalities that link a member to those before it, and the predicates that are left."""
        own = {a.id for a in self.join.members[place].attrs}
        links: dict[tuple[str, str], Link] = {}
        rest: list[Equal | Expr] = []
        for p in self.predicates:
            link = _link(p, self.seen, own)
            if link is None:
                rest.append(p)
            else:
                links.setdefault((_name(link.left, self.same), link.right.text), link)
        return list(links.values()), rest


@dataclass(frozen=True)
class Link:
    """An expression of what is there before a member that equals one of the member."""

    left: Expr
    right: Expr
    null_safe: bool


def _link(p: Equal | Expr, seen: set[str], own: set[str]) -> Link | None:
    if isinstance(p, Equal) and p.left.refs and p.right.refs:
        for left, right in ((p.left, p.right), (p.right, p.left)):
            if left.refs <= seen and right.refs <= own:
                return Link(left, right, p.null_safe)
    return None


def _with_ready(
    current: Estimate, predicates: Sequence[Equal | Expr], seen: set[str]
) -> tuple[Estimate, list[Equal | Expr]]:
    """What those predicates leave whose columns are there, and the others."""
    ready = [p for p in predicates if p.refs <= seen]
    if ready:
        current = current.thinned(current.rows * holds(ready, current), current.change)
    return current, [p for p in predicates if not p.refs <= seen]


def _name(expr: Expr, same: Mapping[str, str]) -> str:
    """The same name for columns that are equal already."""
    if expr.kind == "ref":
        (a,) = expr.refs
        return same.get(a, a)
    return expr.text


def linked(left: Estimate, right: Estimate, links: Sequence[Link]) -> Estimate:
    """Two relations side by side, where some expressions are equal: rows of the one side whose values the other has not
    are gone."""
    sides = Sides.of(left, right, [(k.left, k.right) for k in links])
    filled = 1.0
    for link in links:
        if not link.null_safe:
            filled *= _filled(link.left, left) * _filled(link.right, right)
    rows = sides.pairs * filled
    one = left.thinned(min(left.rows * sides.left, rows) if links else left.rows, NOTHING)
    other = right.thinned(min(right.rows * sides.right, rows) if links else right.rows, NOTHING)
    distinct = {**one.distinct, **other.distinct}
    determined = {**left.determined, **right.determined}
    domains = {**left.domains, **right.domains}
    for link in links:
        if link.left.kind == link.right.kind == "ref":
            (x,), (y,) = link.left.refs, link.right.refs
            _shrink(distinct, x, left, sides.left)
            _shrink(distinct, y, right, sides.right)
            distinct[x] = distinct[y] = min(one.values(x), other.values(y))
            domains[x] = domains[y] = min(left.domain(x), right.domain(y))
            _equate(x, y, determined)
    for attr, of in determined.items():
        if attr in distinct and of in distinct:
            distinct[attr] = min(distinct[attr], distinct[of])
    width, delta, spans = left.width + right.width, left.delta or right.delta, {**left.spans, **right.spans}
    return Estimate(rows, NOTHING, distinct, width, delta, spans, determined, domains)


@dataclass(frozen=True)
class Sides:
    """The pairs that have equal keys, and the shares of rows of each side whose key the other has. A key of either side
    is one of so many values, of which the other has some."""

    pairs: float
    left: float
    right: float

    @staticmethod
    def of(left: Estimate, right: Estimate, keys: Sequence[tuple[Expr, Expr]]) -> Sides:
        if not keys:
            return Sides(left.rows * right.rows, min(right.rows, 1.0), min(left.rows, 1.0))
        ours, theirs = _Side.of(left, right, keys, 0), _Side.of(right, left, keys, 1)
        values = max(_domain(left, right, keys, ours.share, theirs.share), min(ours.values, theirs.values), 1.0)
        pairs = ours.rows * theirs.rows / values
        meeting = [min(s.values / values, 1.0) for s in (theirs, ours)]
        return Sides(
            pairs,
            meeting[0] * (ours.rows / left.rows if left.rows > 0 else 0.0),
            meeting[1] * (theirs.rows / right.rows if right.rows > 0 else 0.0),
        )


@dataclass(frozen=True)
class _Side:
    """The rows and the values of one side that lie where the other's values lie too, and the share that is of where its
    own lie. Of a table from which some rows were chosen, more lie there than chance would have it: of a calendar of two
    hundred years people ask for days that they have data of. How many is not known; the middle is taken."""

    rows: float
    values: float
    share: float

    @staticmethod
    def of(side: Estimate, other: Estimate, keys: Sequence[tuple[Expr, Expr]], place: int) -> _Side:
        values = min(math.prod(different(k[place], side) for k in keys), side.rows)
        share = _overlap(side, other, keys[0][place], keys[0][1 - place]) if len(keys) == 1 else 1.0
        if share >= 1 or values <= 0:
            return _Side(side.rows, values, 1.0)
        there = domain(keys[0][place], side) * share
        kept = math.sqrt(share * min(there / values, 1.0))
        return _Side(side.rows * kept, values * kept, share)


def _overlap(side: Estimate, other: Estimate, key: Expr, same: Expr) -> float:
    """The share of where the values of a column lie in which those of another lie too."""
    if not (key.kind == same.kind == "ref"):
        return 1.0
    (a,), (b,) = key.refs, same.refs
    mine, theirs = side.spans.get(a), other.spans.get(b)
    return 1.0 if mine is None or theirs is None else mine.share(theirs)


def _shrink(distinct: dict[str, float], attr: str, side: Estimate, share: float) -> None:
    """Where a column keeps a share of its values, so do those that it is a function of: of the nations in one of five
    regions a fifth is left, however many rows each has."""
    for up in chain(attr, side.determined):
        if up in distinct:
            distinct[up] = min(distinct[up], side.values(up) * share)


def _equate(x: str, y: str, determined: dict[str, str]) -> None:
    """Two columns are equal: each is a function of the other, and one of them leads to what the other leads to."""
    for a, b in ((y, x), (x, y)):
        if a not in determined and a not in chain(b, determined) and a != b:
            determined[a] = b
            return


def _filled(expr: Expr, of: Estimate) -> float:
    return math.prod(1 - of.nulls(r) for r in expr.refs)


def _domain(
    left: Estimate, right: Estimate, keys: Sequence[tuple[Expr, Expr]], in_left: float, in_right: float
) -> float:
    """From how many values keys are, where both sides have some. Of several columns there are no more than rows on a
    side that has them all; where both seem to have all, the one with fewer rows is the table whose key it is."""
    pairs = [(domain(a, left) * in_left, domain(b, right) * in_right) for a, b in keys]
    product = math.prod(max(p) for p in pairs)
    if len(pairs) == 1:
        return product
    whole = [
        side.rows
        for i, side in enumerate((left, right))
        if all(different(k[i], side) >= 0.9 * max(p) for k, p in zip(keys, pairs, strict=True))
    ]
    return min(product, min(whole) if whole else max(left.rows, right.rows))


def joined(node: Join, inputs: tuple[Estimate, ...], known: Known) -> Estimate:
    made = _in_order(node, inputs)[-1]
    learned = known.learned(node)
    deltas = [i for i in inputs if i.delta]
    most = math.prod(i.rows for i in inputs)
    rows = min(made.rows * (learned.change if deltas else learned.rows), most)
    if len(deltas) == 1:
        one = deltas[0]
        return replace(made, rows=rows, change=of_rows(one.change, rows), delta=True)
    if deltas:
        positive = 1.0
        for d in deltas:
            share = (d.change.inserts + d.change.updates) / d.rows if d.rows else 1.0
            positive = positive * share + (1 - positive) * (1 - share)
        return replace(made, rows=rows, change=Change(rows * positive, 0.0, rows * (1 - positive)), delta=True)
    change = _joined_change(rows, inputs) * learned.change
    return replace(made, rows=rows, change=at_most(change, rows, math.prod(i.before for i in inputs)))


def _joined_change(rows: float, inputs: tuple[Estimate, ...]) -> Change:
    """A combination is new when any part of it is new, gone when any is gone."""
    old, new, kept, same = rows, 1.0, 1.0, 1.0
    for i in inputs:
        change = i.change
        new *= 1 - min(change.inserts / i.rows, 1.0) if i.rows > 0 else 0.0 if change.inserts else 1.0
        kept *= 1 - min(change.deletes / i.before, 1.0) if i.before > 0 else 1.0
        same *= 1 - min(change.updates / i.rows, 1.0) if i.rows > 0 else 1.0
        old *= i.before / i.rows if i.rows > 0 else 1.0
    inserts = rows * (1 - new)
    return Change(inserts, (rows - inserts) * (1 - same), old * (1 - kept))


def reference(attr: Attr) -> Expr:
    return Expr(f"{attr.name}#{attr.id}", frozenset({attr.id}), attr.type, "ref")


def side_by_side(inputs: Iterable[Estimate]) -> Estimate:
    """All combinations of rows, for what conditions look at."""
    made: Estimate | None = None
    for e in inputs:
        made = e if made is None else linked(made, e, ())
    assert made is not None
    return made


def some(share: float, times: float) -> float:
    """How likely it is that one of several is true, each with a probability."""
    if share >= 1:
        return min(times, 1.0)
    return -math.expm1(times * math.log1p(-share)) if share > 0 else 0.0
