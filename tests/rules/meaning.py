"""What every relation means, in plain Python: the judge of a rule, without Spark.

A row is a set of (attribute id, value) pairs, a bag a Counter of rows with their weights. A Tvr has a bag
at each of two versions; a tree that a rule yields has one bag. An expression of the tests carries a
function of a row as its handle.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from headrace.ir.aggregate import Call, Merging
from headrace.ir.expr import Attr, Equal, Expr, SortKey
from headrace.ir.rel import (
    COUNTED,
    LACKING,
    Accumulate,
    Aggregate,
    Consolidate,
    Delta,
    Expand,
    Fallback,
    Filter,
    Finish,
    Generate,
    Head,
    Join,
    Keys,
    Limit,
    Meeting,
    Negate,
    Node,
    PairJoin,
    Partials,
    Project,
    Provided,
    Rel,
    Restrict,
    Shortfall,
    Snapshot,
    Source,
    Union,
    Window,
)
from headrace.ir.time import NEW, OLD, Version
from headrace.memo.memo import Memo

Row = frozenset[tuple[str, Any]]
Bag = Counter[Row]
World = Mapping[str, Mapping[Version, Bag]]


def row(values: Mapping[str, Any]) -> Row:
    return frozenset(values.items())


def tidy(bag: Bag) -> Bag:
    return Counter({r: w for r, w in bag.items() if w})


def minus(one: Bag, other: Bag) -> Bag:
    out = Counter(one)
    out.subtract(other)
    return tidy(out)


class Meaning:
    """The bags of relations over sources whose rows are given."""

    def __init__(self, memo: Memo, world: World) -> None:
        self.memo = memo
        self.world = world
        self._known: dict[tuple[int, Version], tuple[Node, Bag]] = {}

    def at(self, rel: Rel, version: Version) -> Bag:
        """The rows of a Tvr at a version: the query's own operators over the sources' rows."""
        node = self._node(rel)
        if (id(node), version) not in self._known:
            self._known[id(node), version] = (node, self._at(node, version))
        return self._known[id(node), version][1]

    def _at(self, node: Node, version: Version) -> Bag:
        if isinstance(node, Source):
            return self.world[node.name][NEW if version.everything or node.name in version.moved else OLD]
        return tidy(self._apply(node, [self.at(i, version) for i in node.inputs]))

    def change(self, rel: Rel) -> Bag:
        """The delta of a Tvr by its definition."""
        return minus(self.at(rel, NEW), self.at(rel, OLD))

    def of(self, rel: Rel) -> Bag:
        """The rows of a tree over snapshots and deltas."""
        node = rel if isinstance(rel, Node) else self._node(rel)
        match node:
            case Snapshot(of=inner, at=version):
                return self.at(inner, version)
            case Provided(input=inner):
                return self.of(inner)
            case Delta(of=inner):
                return self.change(inner)
        return tidy(self._apply(node, [self.of(i) for i in node.inputs]))

    def _node(self, rel: Rel) -> Node:
        return rel if isinstance(rel, Node) else self.memo.nodes(rel)[0]

    def _apply(self, node: Node, bags: list[Bag]) -> Bag:
        match node:
            case Project(columns=columns):
                return _map(bags[0], lambda r: [{c.attr.id: _eval(c.expr, r) for c in columns}])
            case Filter(conjuncts=conjuncts):
                return _map(bags[0], lambda r: [r] if all(_eval(e, r) is True for e in conjuncts) else [])
            case Expand(rows=rows, columns=columns):
                return _map(
                    bags[0],
                    lambda r: [{a.id: _eval(e, r) for a, e in zip(columns, es, strict=True)} for es in rows],
                )
            case Generate(handle=handle):
                return _map(bags[0], handle)
            case Union(orders=orders, columns=columns):
                total: Bag = Counter()
                for bag, order in zip(bags, orders, strict=True):
                    pairs = list(zip(columns, order, strict=True))
                    total.update(_map(bag, lambda r, pairs=pairs: [{a.id: r[b.id] for a, b in pairs}]))
                return total
            case Negate():
                return Counter({r: -w for r, w in bags[0].items()})
            case Consolidate() | Provided():
                return bags[0]
            case Join(equals=equals, residual=residual):
                return _join(bags, equals, residual)
            case PairJoin():
                return _pair_join(node, *bags)
            case Aggregate(keys=keys, calls=calls):
                return _finish(_partials(bags[0], keys, calls, change=False), keys, calls)
            case Partials(keys=keys, calls=calls, change=change):
                return _partials(bags[0], keys, calls, change=change)
            case Finish(keys=keys, calls=calls):
                return _finish(bags[0], keys, calls)
            case Accumulate(keys=keys, calls=calls):
                return _accumulate(*bags, keys, calls)
            case Window(partition=partition, handle=handle):
                return _window(bags[0], partition, handle)
            case Limit(order=order, skip=skip, count=count):
                end = None if count is None else skip + count
                return Counter(row(r) for r in _ordered(bags[0], order)[skip:end])
            case Head(order=order, count=count):
                return _head(*bags, order, count)
            case Shortfall():
                net = bags[0].total()
                return Counter({row({LACKING.id: -net}): 1}) if net < 0 else Counter()
            case Fallback():
                return bags[0] if bags[1] else Counter()
            case Keys(on=on):
                found: Bag = Counter()
                for bag, attrs in zip(bags, on, strict=True):
                    for r in bag:
                        found[row({str(i): dict(r)[a.id] for i, a in enumerate(attrs)})] = 1
                return found
            case Restrict(on=on):
                rows, keys = bags
                wanted = {row({str(i): v for i, v in enumerate(values)}) for values in map(tuple, _tuples(keys))}
                return Counter({r: w for r, w in rows.items() if _key_row(dict(r), on) in wanted})
            case Meeting(condition=condition):
                rows, other = bags
                return Counter({r: w for r, w in rows.items() if any(_holds(condition, r, o) for o in other)})
        raise NotImplementedError(type(node).__name__)


def _eval(e: Expr, values: Mapping[str, Any]) -> Any:
    match e.kind:
        case "ref":
            return values[next(iter(e.refs))]
        case "null":
            return None
        case "boolean":
            return e.text == "true"
    return e.handle(values)


def _map(bag: Bag, function: Callable[[dict[str, Any]], Iterable[Mapping[str, Any]]]) -> Bag:
    out: Bag = Counter()
    for r, w in bag.items():
        for made in function(dict(r)):
            out[row(made)] += w
    return out


def _plain(bag: Bag) -> list[dict[str, Any]]:
    assert all(w > 0 for w in bag.values()), "a snapshot has a row of negative weight"
    return [dict(r) for r, w in bag.items() for _ in range(w)]


def _place(values: Mapping[str, Any], order: tuple[SortKey, ...]) -> list[Any]:
    """What a row is sorted by; no two rows that differ have the same."""
    return [*(_sortable(_eval(k.expr, values)) for k in order), _all(values)]


def _ordered(bag: Bag, order: tuple[SortKey, ...]) -> list[dict[str, Any]]:
    return sorted(_plain(bag), key=lambda r: _place(r, order))


def _head(kept: Bag, change: Bag, order: tuple[SortKey, ...], count: int) -> Bag:
    both = Counter(kept)
    both.update(change)
    rows = _ordered(Counter({r: w for r, w in both.items() if w > 0}), order)
    places = [_place(r, order) for r in _plain(kept)]
    near = [r for r in rows if sum(p < _place(r, order) for p in places) < count]
    return minus(Counter(row(r) for r in near[:count]), kept)


def _tuples(keys: Bag) -> list[list[Any]]:
    return [[dict(r)[str(i)] for i in range(len(r))] for r in keys]


def _key_row(values: Mapping[str, Any], on: tuple[Attr, ...]) -> Row:
    return row({str(i): values[a.id] for i, a in enumerate(on)})


def _sortable(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _all(values: Mapping[str, Any]) -> list[Any]:
    return [(k, _sortable(v)) for k, v in sorted(values.items())]


# --- joins


def _equal(e: Equal, values: Mapping[str, Any]) -> bool:
    left, right = _eval(e.left, values), _eval(e.right, values)
    if e.null_safe:
        return bool(left == right)
    return left is not None and right is not None and bool(left == right)


def _join(bags: list[Bag], equals: tuple[Equal, ...], residual: tuple[Expr, ...]) -> Bag:
    out: Bag = Counter()
    for parts in product(*(b.items() for b in bags)):
        values: dict[str, Any] = {}
        weight = 1
        for r, w in parts:
            values.update(dict(r))
            weight *= w
        if all(_equal(e, values) for e in equals) and all(_eval(e, values) is True for e in residual):
            out[row(values)] += weight
    return out


def _holds(condition: Expr | None, left: Row, right: Row) -> bool:
    return condition is None or _eval(condition, {**dict(left), **dict(right)}) is True


def _pair_join(join: PairJoin, left: Bag, right: Bag) -> Bag:
    lefts, rights = join.left.attrs, join.right.attrs
    out: Bag = Counter()
    for r, w in left.items():
        matches = [(o, n) for o, n in right.items() if _holds(join.condition, r, o)]
        match join.kind:
            case "left semi":
                out[r] += w if matches else 0
            case "left anti":
                out[r] += 0 if matches else w
            case "existence":
                assert join.exists is not None
                out[r | row({join.exists.id: bool(matches)})] += w
            case "left single" if sum(n for _, n in matches) > 1:
                raise ValueError("more than one match")
            case _:
                for o, n in matches:
                    out[r | o] += w * n
                if not matches:
                    out[r | row({a.id: None for a in rights})] += w
    if join.kind == "full outer":
        for o, n in right.items():
            if not any(_holds(join.condition, r, o) for r in left):
                out[o | row({a.id: None for a in lefts})] += n
    return out


# --- aggregates


def _partials(bag: Bag, keys: tuple[Attr, ...], calls: tuple[Call, ...], *, change: bool) -> Bag:
    groups: dict[Row, list[tuple[dict[str, Any], int]]] = defaultdict(list)
    if not keys:
        groups[row({})] = []
    for r, w in bag.items():
        values = dict(r)
        groups[row({k.id: values[k.id] for k in keys})].append((values, w))
    out: Bag = Counter()
    for key, rows in groups.items():
        count = sum(w for _, w in rows)
        if keys and not change and count <= 0:
            assert count == 0, "a group has fewer than no rows"
            continue
        made = {**dict(key), COUNTED.id: count}
        for call in calls:
            made.update(_buffers(call, rows))
        out[row(made)] += 1
    return out


def _buffers(call: Call, rows: list[tuple[dict[str, Any], int]]) -> dict[str, Any]:
    chosen = [(v, w) for v, w in rows if call.filter is None or _eval(call.filter, v) is True]
    given = [([_eval(e, v) for e in call.args], w) for v, w in chosen]
    present = [(x, w) for x, w in given if all(v is not None for v in x)]
    ids = [b.attr.id for b in call.buffers]
    if call.merging is Merging.NEVER:
        assert all(w >= 0 for _, w in present), f"{call} over a row that leaves"
        return {ids[0]: _whole(call, [x[0] for x, w in present for _ in range(w)])}
    if call.function == "count":
        return {ids[0]: sum(w for _, w in present)}
    if call.function in ("min", "max"):
        values = [x[0] for x, w in present if w > 0]
        return {ids[0]: (min if call.function == "min" else max)(values) if values else None}
    assert call.function == "sum", call
    # Over nothing Spark's buffer is NULL or, after a merge, 0; without values neither is ever shown.
    return {ids[0]: sum(x[0] * w for x, w in present), ids[1]: sum(w for _, w in present)}


def _whole(call: Call, values: list[Any]) -> Any:
    if call.function == "count" and call.distinct:
        return len(set(values))
    if call.function == "median":
        ordered = sorted(values)
        return ordered[len(ordered) // 2] if ordered else None
    raise NotImplementedError(call.function)


def _finish(bag: Bag, keys: tuple[Attr, ...], calls: tuple[Call, ...]) -> Bag:
    def finished(values: dict[str, Any]) -> list[dict[str, Any]]:
        made = {k.id: values[k.id] for k in keys}
        for call in calls:
            buffers = [values[b.attr.id] for b in call.buffers]
            empty = call.function == "sum" and call.merging is not Merging.NEVER and buffers[1] == 0
            made[call.attr.id] = None if empty else buffers[0]
        return [made]

    return _map(bag, finished)


def _accumulate(state: Bag, change: Bag, keys: tuple[Attr, ...], calls: tuple[Call, ...]) -> Bag:
    def key(r: Row) -> Row:
        return row({k.id: dict(r)[k.id] for k in keys})

    old = {key(r): dict(r) for r in state}
    out: Bag = Counter()
    for r in change:
        new, before = dict(r), old.get(key(r))
        if before is not None:
            out[row(before)] -= 1
        values = {**dict(key(r)), COUNTED.id: new[COUNTED.id] + (before[COUNTED.id] if before else 0)}
        for buffer in (b for call in calls for b in call.buffers):
            i = buffer.attr.id
            parts = [v for v in (before and before[i], new[i]) if v is not None]
            merge = {"add": sum, "least": min, "greatest": max}[buffer.merge]
            values[i] = merge(parts) if parts else None
        if values[COUNTED.id] > 0 or not keys:
            out[row(values)] += 1
    return out


def _window(bag: Bag, partition: tuple[Attr, ...], handle: Callable[[list[dict[str, Any]]], Any]) -> Bag:
    parts: dict[Row, list[dict[str, Any]]] = defaultdict(list)
    for values in _plain(bag):
        parts[row({a.id: values[a.id] for a in partition})].append(values)
    return Counter(row(made) for rows in parts.values() for made in handle(rows))
