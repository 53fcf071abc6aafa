"""The points of one run and every way to have each of them: what a search chooses from, priced by a model.

A way to a delta comes in two forms: with all that it reads scanned, and with rows looked up where they can be. What
operations cost and how many rows they have does not depend on the states, so it is asked of the model once for each
run; judging another set of states is then mere adding up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.ir.rel import Constant, Delta, Fallback, Join, Keys, Node, Rel, Restrict, Snapshot, Source, Union
from headrace.ir.time import NEW, OLD, Situation, Version
from headrace.memo.props import Facts
from headrace.planner.problem import AnyModel
from headrace.planner.row_wise import exact, links_of
from headrace.planner.skip import RANGED
from headrace.planner.space import (
    ANEW,
    CHANGE,
    FOUND,
    NONE,
    OPERATOR,
    ROWS,
    Input,
    Moved,
    Point,
    Program,
    Relation,
    Rules,
    Space,
)


@dataclass(frozen=True)
class Way:
    """One way to have a point: what its operations cost, and the points that they read with how often: less than once
    what is only read at times."""

    cost: float
    reads: tuple[tuple[Point, float], ...]
    program: Program | None = None
    rules: Rules = ()


READ = Way(0.0, ())
_SELDOM = 0.001  # runs in which a fallback is needed, of one that is hardly expected to be
MERGED: Rules = (("merge_delta",),)


class Graph:
    """All points of one run and the ways to have them, priced by a model. ``first`` says that nothing was there before
    the run: nothing is old, and everything is read anew. Only old rows are merged with changes where it is ``guided``:
    in which order changes are merged hardly matters (Tempura §5.3). Else changes are cut at every version between two
    others as well, sources in the order of their names."""

    def __init__(
        self, space: Space, situation: Situation, model: AnyModel, *, first: bool = False, guided: bool = True
    ) -> None:
        self.space = space
        self.model = model
        self.first = first
        self.guided = guided
        self.facts = Facts(space.memo, situation)
        self.moved = space.facts.sources(space.root) if first else situation.moved
        self._sizes: dict[int, Any] = {}
        self._at: dict[Point, Any] = {}
        self._ways: dict[Point, tuple[Way, ...]] = {}
        self._moves: dict[int, Moved] = {}
        self._families: dict[frozenset[str] | None, dict[Point, tuple[Way, ...]]] = {}
        self._scans: dict[Point, float] = {}
        self._findable: dict[int, bool] = {}

    def moves(self, tvr: int) -> Moved:
        """The sources of a Tvr that move in the run."""
        if tvr not in self._moves:
            self._moves[tvr] = self.space.tvrs[tvr].sources & self.moved
        return self._moves[tvr]

    def rows(self, tvr: int, at: Moved) -> Point:
        return Point(ROWS, tvr, at & self.moves(tvr))

    def newest(self, tvr: int) -> Point:
        """The newest rows of a Tvr, where nothing else depends on them being those that were there before."""
        kind = ROWS if self.space.tvrs[tvr].repeatable else ANEW
        return Point(kind, tvr, self.moves(tvr))

    def operator(self, tvr: int) -> Point:
        return Point(OPERATOR, tvr, self.moves(tvr))

    def change(self, tvr: int, since: Moved = NONE, until: Moved | None = None) -> Point | None:
        """The change of a Tvr between two versions; None where it has none."""
        mine = self.moves(tvr)
        until = mine if until is None else until & mine
        since = since & mine
        return None if since == until else Point(CHANGE, tvr, until, since)

    def size(self, point: Point) -> Any:
        """What the model expects of a point."""
        if point not in self._at:
            relation = self.space.tvrs[point.tvr]
            of: Rel = relation.first if isinstance(relation.first, Source) else relation.group
            node: Node
            if point.kind == CHANGE:
                node = Delta(of, self._version(point.since, point.tvr), self._version(point.until, point.tvr))
            else:
                node = Snapshot(of, self._version(point.until, point.tvr))
            self._at[point] = self.model.estimate(node, (self.tvr_size(point.tvr),))
        return self._at[point]

    def tvr_size(self, tvr: int) -> Any:
        if tvr not in self._sizes:
            node = self.space.tvrs[tvr].first
            inputs = tuple(self.tvr_size(self.space.memo.find(i).id) for i in node.inputs)
            self._sizes[tvr] = self.model.estimate(node, inputs)
        return self._sizes[tvr]

    def scan(self, point: Point) -> float:
        if point not in self._scans:
            self._scans[point] = self.model.scan(self.size(point))
        return self._scans[point]

    def found(self, point: Point) -> float:
        """What it costs that rows can be looked up in a state or a source: an index of it sees what changes."""
        change = self.change(point.tvr)
        return 0.0 if change is None else self.model.indexed(self.size(change))

    def several(self, point: Point, once: float, times: float) -> float:
        """What it costs that one relation reads a point several times: it is computed each time, or once and held."""
        if self.space.tvrs[point.tvr].leaf or times < 1:
            return times * once
        return min(times * once, once + self.model.save(self.size(point)) + times * self.scan(point))

    def ways(self, point: Point) -> tuple[Way, ...]:
        """Every way to have a point but reading it from a state."""
        if point not in self._ways:
            self._ways[point] = tuple(self._found(point))
        return self._ways[point]

    def allowed(self, point: Point, families: frozenset[str] | None) -> tuple[Way, ...]:
        """The ways to a point by rules of some families."""
        known = self._families.setdefault(families, {})
        if point not in known:
            known[point] = tuple(w for w in self.ways(point) if self.space.allowed(w.rules, families))
        return known[point]

    def _version(self, moved: Moved, tvr: int) -> Version:
        mine = self.moves(tvr)
        if not moved and mine:
            return OLD
        return NEW if moved == mine else Version(moved)

    def _found(self, point: Point) -> Iterable[Way]:
        relation = self.space.tvrs[point.tvr]
        if point.kind == FOUND:
            yield from self._found_in(relation, point)
            return
        if relation.leaf:
            yield self._leaf(relation, point)
            return
        newest = point.until == self.moves(point.tvr)
        match point.kind:
            case "operator":
                for program in relation.operators:
                    yield from self._run(program, NONE, point.until, point, anew=newest)
            case "anew":
                yield Way(0.0, ((point._replace(kind=OPERATOR), 1),), None, (("query",),))
                yield Way(0.0, ((point._replace(kind=ROWS), 1),), None, (("query",),))
            case "rows":
                if relation.repeatable:
                    yield Way(0.0, ((point._replace(kind=OPERATOR), 1),), None, (("query",),))
                else:  # what is computed row by row is what it was where that is what it was
                    for program in relation.row_wise:
                        yield from self._run(program, NONE, point.until, point)
                if point.until and relation.merges and not self.first:
                    old, change = Point(ROWS, point.tvr, NONE), self.change(point.tvr, NONE, point.until)
                    assert change is not None
                    yield Way(0.0, ((old, 1), (change, 1)), None, MERGED)
                    yield from self._cut(relation, point)
            case "change":
                for program in () if self.first else relation.changes:
                    if all(self.facts.growing(self.space.tvrs[g].group) for g in program.grows):
                        yield from self._run(program, point.since, point.until, point)
                yield from self._cut(relation, point)

    def _cut(self, relation: Relation, point: Point) -> Iterable[Way]:
        """A point as what it was at a version on the way and the change since then. What does not come out the same
        twice is not cut: both parts would have to see the same rows in between."""
        if self.guided or self.first or not relation.repeatable:
            return
        moved = sorted(point.until - point.since)
        for count in range(1, len(moved)):
            between = point.since.union(moved[:count])
            rest = self.change(point.tvr, between, point.until)
            if rest is not None:
                yield Way(0.0, ((point._replace(until=between), 1), (rest, 1)), None, MERGED)

    def _leaf(self, relation: Relation, point: Point) -> Way:
        node: Node = relation.first
        if isinstance(node, Source) and point.kind == CHANGE:
            node = Delta(node, OLD, NEW)
        elif isinstance(node, Source):
            node = Snapshot(node, NEW if point.until else OLD)
        assert isinstance(node, Constant | Snapshot | Delta)
        return Way(self.model.price(node, (), self.size(point)), (), None, (("query",),))

    def _found_in(self, relation: Relation, point: Point) -> Iterable[Way]:
        """Rows are looked up in what is read row by row from a source; where it is from a state, that is known to who
        has states."""
        if isinstance(relation.first, Source):
            yield Way(self.found(point), (), None, (("query",),))
        for program in relation.row_wise:
            (below,) = program.operations[0].inputs
            if self._can_be_found(below.tvr):
                read = self.rows(below.tvr, point.until)._replace(kind=FOUND)
                yield Way(0.0, ((read, 1),), program, program.rules)

    def _can_be_found(self, tvr: int) -> bool:
        """Whether a Tvr is read row by row from a source, or from what may be a state."""
        if tvr not in self._findable:
            relation = self.space.tvrs[tvr]
            below = (p.operations[0].inputs[0].tvr for p in relation.row_wise)
            alone = isinstance(relation.first, Source) or relation.keepable
            self._findable[tvr] = not self.first and (alone or any(self._can_be_found(b) for b in below))
        return self._findable[tvr]

    def _run(self, program: Program, since: Moved, until: Moved, point: Point, *, anew: bool = False) -> Iterable[Way]:
        """A program between two versions, with all that it reads scanned, and with rows looked up where they can be;
        nothing where all that it would give is empty."""
        live = self.live(program, since, until)
        if live is None:
            return
        sizes, reads, found = dict[int, Any](), dict[int, list[Point]](), set[Point]()
        scanned, looked_up = dict[int, float](), dict[int, float]()
        last = len(program.operations) - 1
        for number, kept in sorted(live.items()):
            operation = program.operations[number]
            inputs, points = list[Any](), list[Point | None]()
            for i in kept:
                read = None if i.operation is not None else self.read(i, since, until, point, anew=anew)
                points.append(read)
                inputs.append(sizes[i.operation] if i.operation is not None else self.size(read) if read else None)
            reads[number] = [p for p in points if p is not None]
            node = narrowed(operation.node, operation.inputs, kept)
            whole = number == last and point.kind != CHANGE
            sizes[number] = self.size(point) if whole else self.model.estimate(node, tuple(inputs))
            places = self._sought(node, points, inputs) if point.kind == CHANGE else {}
            found |= {p for place in places if (p := points[place]) is not None}
            scanned[number] = looked_up[number] = self.model.price(node, tuple(inputs), sizes[number])
            if places:
                looked_up[number] = self.model.price(node, tuple(inputs), sizes[number], places)
        done = self._done(program, live, sizes)
        yield _way(program, scanned, reads, done)
        if found:
            there = {n: [p._replace(kind=FOUND) if p in found else p for p in ps] for n, ps in reads.items()}
            yield _way(program, looked_up, there, done)

    def _sought(self, node: Node, points: Sequence[Point | None], sizes: Sequence[Any]) -> dict[int, float]:
        """The inputs of an operation in which rows can be found by key, and the part that must be read for it: what a
        join meets that begins with a change, and what is restricted to some keys."""
        match node:
            case Restrict(on=on) if all(exact(a) for a in on):
                places, asked = [0], sizes[1]
                linked = {0: [(a.id, a.id) for a in on if a.type in RANGED]}
            case Join(members=members, equals=equals) if points[0] is None or points[0].kind == CHANGE:
                seen, asked = {a.id for a in members[0].attrs}, sizes[0]
                places, linked = [], {}
                for place, member in enumerate(members[1:], 1):
                    links = links_of(member, equals, seen)
                    places += [place] if links and all(exact(own) for own, _, _ in links) else []
                    plain = ((own, other) for own, other, _ in links if own.type in RANGED and other.kind == "ref")
                    linked[place] = [(own.id, next(iter(other.refs))) for own, other in plain]
                    seen |= {a.id for a in member.attrs}
            case _:
                return {}
        rows = {place: p for place in places if (p := points[place]) is not None and p.kind == ROWS}
        able = (place for place, p in rows.items() if self._can_be_found(p.tvr))
        parts = {place: self.model.finds(asked, sizes[place], linked[place]) for place in able}
        return {place: part for place, part in parts.items() if part is not None}

    def _done(
        self, program: Program, live: Mapping[int, tuple[Input, ...]], sizes: Mapping[int, Any]
    ) -> dict[int, float]:
        """How often each operation is done: once, or what only a fallback asks for as often as it is needed."""
        done = {max(live): 1.0}
        for number, kept in sorted(live.items(), reverse=True):
            for place, i in enumerate(kept):
                if i.operation is not None:
                    node, often = program.operations[number].node, done[number]
                    if isinstance(node, Fallback) and place == 0:
                        needed = kept[1].operation
                        assert needed is not None
                        often *= min(max(sizes[needed].rows, _SELDOM), 1.0)
                    done[i.operation] = max(done.get(i.operation, 0.0), often)
        return done

    def live(self, program: Program, since: Moved, until: Moved) -> dict[int, tuple[Input, ...]] | None:
        """The operations that are done, each with those of its inputs that are not empty; None where there are none.
        A change that is empty takes with it whatever multiplies by it."""
        kept: list[tuple[Input, ...] | None] = []
        for operation in program.operations:
            inputs = tuple(i for i in operation.inputs if not self._empty(i, since, until, kept))
            whole = bool(inputs) if isinstance(operation.node, Union | Keys) else len(inputs) == len(operation.inputs)
            kept.append(inputs if whole else None)
        if kept[-1] is None:
            return None
        found: dict[int, tuple[Input, ...]] = {}
        waiting = [len(kept) - 1]
        while waiting:
            number = waiting.pop()
            ours = kept[number]
            if number not in found and ours is not None:
                found[number] = ours
                waiting += [i.operation for i in ours if i.operation is not None]
        return found

    def _empty(self, i: Input, since: Moved, until: Moved, kept: list[tuple[Input, ...] | None]) -> bool:
        if i.operation is not None:
            return kept[i.operation] is None
        return i.kind == CHANGE and self.change(i.tvr, since, until) is None

    def read(self, i: Input, since: Moved, until: Moved, point: Point, *, anew: bool = False) -> Point | None:
        """The point that an input of a program stands for. A delta that needs the newest rows of its own Tvr needs them
        computed: what they are is what it is asked for."""
        if i.kind == CHANGE:
            return self.change(i.tvr, since, until)
        if point.kind == FOUND:
            return self.rows(i.tvr, until)._replace(kind=FOUND)
        if point.kind != CHANGE:
            return self.newest(i.tvr) if anew else self.rows(i.tvr, until)
        at = until if i.at.everything else since | (until & i.at.moved)
        if i.tvr == point.tvr and at & self.moves(i.tvr) == point.until:
            return Point(OPERATOR, i.tvr, point.until)
        return self.rows(i.tvr, at)


def _way(
    program: Program, prices: Mapping[int, float], reads: Mapping[int, list[Point]], done: Mapping[int, float]
) -> Way:
    """A program whose operations have these prices and read these points, each done so often."""
    times: dict[Point, float] = {}
    for number, points in reads.items():
        for read in points:
            times[read] = times.get(read, 0.0) + done[number]
    return Way(sum(p * done[n] for n, p in prices.items()), tuple(times.items()), program, program.rules)


def narrowed(node: Node, inputs: tuple[Input, ...], kept: tuple[Input, ...]) -> Node:
    """A union or a set of keys without the inputs that are empty."""
    if len(kept) == len(inputs):
        return node
    places = [p for p, i in enumerate(inputs) if i in kept]
    if isinstance(node, Union):
        branches, orders = tuple(node.branches[p] for p in places), tuple(node.orders[p] for p in places)
        return replace(node, branches=branches, orders=orders)
    assert isinstance(node, Keys)
    return replace(node, members=tuple(node.members[p] for p in places), on=tuple(node.on[p] for p in places))
