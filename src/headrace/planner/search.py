"""The best plan of runs, given what is kept between them: dynamic programming over points.

In a run every point of the space has a temporal domain: what is old can be computed as soon as the run before it, what
has moved only now (Tempura §6.1). A point that was computed earlier is a state: saved then, loaded now. So with the
states of each run given, each run is searched by itself:

    cost(point) = min over its ways: cost of the operations + cost of the points that they read

and what a state costs is paid once, in the run that saves it, however many points load it (§6.2, §6.3). Which states
to keep is chosen in ``planner.share``, and what there is to choose from is a ``planner.graph``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf

from headrace.planner.graph import READ, Graph, Way
from headrace.planner.space import ANEW, CHANGE, FOUND, NONE, OPERATOR, ROWS, Point


@dataclass(frozen=True)
class Keeping:
    """What one run has and does with it: Tvrs that were kept before it, those kept after it, points that it holds
    because several others read them, and whether a result was published before. ``rebuilds`` allows to compute a state
    anew that is there."""

    had: frozenset[int] = frozenset()
    keep: frozenset[int] = frozenset()
    pins: frozenset[Point] = frozenset()
    delivers: bool = True
    published: bool = True
    rebuilds: bool = True


@dataclass(frozen=True)
class Work:
    """Something that a run does: what it costs, the point that is computed, the way to it, and whether it takes the
    place of what is there (``anew``) or is added to it."""

    cost: float
    point: Point | None
    way: Way
    anew: bool


class Valuation:
    """The least costs of a run's points under one keeping, by rules of some families."""

    def __init__(
        self,
        graph: Graph,
        keeping: Keeping,
        families: frozenset[str] | None = None,
        known: Mapping[Point, tuple[float, Way]] | None = None,
    ) -> None:
        self.graph = graph
        self.keeping = keeping
        self.families = families
        self._best: dict[Point, tuple[float, Way]] = dict(known or {})
        self._computed: dict[Point, tuple[float, Way]] = {}
        self._upkeep: dict[int, Work] = {}

    def changed(self, keeping: Keeping) -> Valuation:
        """The same for another keeping; only what depends on the difference is computed anew."""
        one, space = self.keeping, self.graph.space
        differ = (one.had ^ keeping.had) | (one.keep ^ keeping.keep) | {p.tvr for p in one.pins ^ keeping.pins}
        stale = frozenset[int]().union(*(space.above[i] for i in differ)) if differ else frozenset[int]()
        known = {p: best for p, best in self._best.items() if p.tvr not in stale}
        return Valuation(self.graph, keeping, self.families, known)

    @cached_property
    def total(self) -> float:
        """What the run costs."""
        held = sum(self.computed(p)[0] + self.graph.model.save(self.graph.size(p)) for p in self.keeping.pins)
        kept = sum(self.upkeep(i).cost for i in sorted(self.keeping.keep))
        return held + kept + (self.delivery.cost if self.keeping.delivers else 0.0)

    def upkeep(self, tvr: int) -> Work:
        """How a Tvr is kept at least cost: by adding its change to what is there, or anew."""
        if tvr not in self._upkeep:
            graph, change = self.graph, self.graph.change(tvr)
            options: list[Work] = []
            if tvr in self.keeping.had:
                cost, way = (0.0, READ) if change is None else self.computed(change)
                saved = graph.model.idle() if change is None else graph.model.save(graph.size(change))
                options.append(Work(cost + saved, change, way, False))
            if (change is not None and self.keeping.rebuilds) or not options:
                anew = graph.operator(tvr)
                cost, way = self.computed(anew)
                options.append(Work(cost + graph.model.save(graph.size(anew)), anew, way, True))
            self._upkeep[tvr] = min(options, key=lambda o: o.cost)
        return self._upkeep[tvr]

    @cached_property
    def delivery(self) -> Work:
        """How the result is published at least cost: its change, or all of it."""
        graph, root = self.graph, self.graph.space.root
        whole, publish = graph.newest(root.id), self.graph.model.publish
        size, options = graph.size(whole), list[Work]()
        if self.keeping.published:
            change = graph.change(root.id)
            if change is None:
                return Work(0.0, None, READ, False)
            cost, way = self.value(change)
            growing = graph.facts.growing(root)
            cost += publish(graph.size(change), size, replaces=False, growing=growing)
            options.append(Work(cost, change, way, False))
        cost, way = self.value(whole)
        options.append(Work(cost + publish(size, size, replaces=True, growing=False), whole, way, True))
        return min(options, key=lambda o: o.cost)

    def value(self, point: Point) -> tuple[float, Way]:
        """The least cost of having a point, by reading it where it is kept or held, and the way to it."""
        if point not in self._best:
            self._best[point] = (inf, READ)  # a way to a point that leads through it is none
            read = self.reading(point)
            self._best[point] = self.computed(point) if read is None else (read, READ)
        return self._best[point]

    def reading(self, point: Point) -> float | None:
        """What it costs to read a point from a state or from what is held; None where it is in neither."""
        had, keep = point.tvr in self.keeping.had, point.tvr in self.keeping.keep
        if point in self.keeping.pins:
            return self.graph.scan(point)
        if not (had or keep) or point.kind == OPERATOR:
            return None
        mine = self.graph.moves(point.tvr)
        if point.kind == CHANGE:
            if not (had and keep) or point.since or point.until != mine:
                return None
            if self.upkeep(point.tvr).anew:
                old, new = Point(ROWS, point.tvr, NONE), Point(ROWS, point.tvr, mine)
                return self.graph.scan(old) + self.graph.scan(new)
            return self.graph.scan(point)
        same = had or point.kind == ANEW or self.graph.space.tvrs[point.tvr].repeatable
        if not ((had and not point.until) or (keep and same and point.until == mine)):
            return None
        return self.graph.found(point) if point.kind == FOUND else self.graph.scan(point)

    def computed(self, point: Point) -> tuple[float, Way]:
        """The least cost of computing a point, and the way to do it."""
        if point not in self._computed:
            self._computed[point] = self._least(point)
        return self._computed[point]

    def _least(self, point: Point) -> tuple[float, Way]:
        least, best, known = inf, READ, self._best
        for way in self.graph.allowed(point, self.families):
            cost = way.cost
            for read, times in way.reads:
                found = known.get(read)
                once = (self.value(read) if found is None else found)[0]
                cost += once if times == 1 else self.graph.several(read, once, times)
                if cost >= least:
                    break
            else:
                least, best = cost, way
        return least, best

    def cost(self, way: Way) -> float:
        """What a way costs with all that it reads."""
        reads = ((self.value(read)[0], read, times) for read, times in way.reads)
        return way.cost + sum(c if n == 1 else self.graph.several(p, c, n) for c, p, n in reads)

    # --- what was chosen

    def work(self) -> list[Work]:
        """What the run is there for: states first, then the result."""
        found = [self.upkeep(i) for i in sorted(self.keeping.keep)]
        return [w for w in (*found, *((self.delivery,) if self.keeping.delivers else ())) if w.point is not None]

    def uses(self) -> dict[Point, float]:
        """How often each point is read that is neither in a state nor held; each that is computed counts once."""
        found: dict[Point, float] = {}
        done: set[Point] = set()

        def visit(point: Point, way: Way) -> None:
            if point not in done:
                done.add(point)
                for read, times in way.reads:
                    if self.reading(read) is None:
                        found[read] = found.get(read, 0.0) + times
                        visit(read, self.value(read)[1])

        for work in self.work():
            assert work.point is not None
            visit(work.point, work.way)
        for point in self.keeping.pins:
            visit(point, self.computed(point)[1])
        return found

    def shared(self) -> frozenset[Point]:
        """The points that cost less when they are computed once and held than where each reader computes them."""
        graph, found = self.graph, set()
        for point, times in self.uses().items():
            if times > 1 and point.kind not in (OPERATOR, FOUND) and not graph.space.tvrs[point.tvr].leaf:
                cost, scan = self.value(point)[0], graph.scan(point)
                if (times - 1) * cost > times * scan + graph.model.save(graph.size(point)):
                    found.add(point)
        return frozenset(found)
