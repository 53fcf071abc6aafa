"""From what a search has chosen for a run to the steps that do it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.errors import InternalError
from headrace.ir.plan import Kept, Step
from headrace.ir.rel import (
    Constant,
    Delta,
    Load,
    Measured,
    Negate,
    Node,
    Project,
    Ref,
    Rel,
    Snapshot,
    Source,
    prune,
    union,
)
from headrace.ir.time import NEW, OLD
from headrace.planner.graph import Way, narrowed
from headrace.planner.search import Valuation
from headrace.planner.space import CHANGE, FOUND, OPERATOR, ROWS, Input, Point
from headrace.planner.steps import Parts, cluster, steps


def realised(run: Valuation, states: Mapping[int, Kept], counted: frozenset[int] = frozenset()) -> tuple[Step, ...]:
    """The steps of a run. ``states`` are the names of all Tvrs that are kept; the deltas of those in ``counted`` are
    counted on their way."""
    return steps(_Realising(run, states, counted).parts())


class _Realising:
    def __init__(self, run: Valuation, states: Mapping[int, Kept], counted: frozenset[int]) -> None:
        self.run = run
        self.graph = run.graph
        self.states = states
        self.counted = counted
        self.trees: dict[str, Rel] = {}
        self._rels: dict[Point, Rel] = {}
        self._made: dict[Point, Rel] = {}

    def parts(self) -> Parts:
        run, graph = self.run, self.graph
        kept: dict[str, Kept] = {}
        anew: set[str] = set()
        for tvr in sorted(run.keeping.keep):
            work = run.upkeep(tvr)
            if work.point is not None:
                name = f"s-{self.states[tvr].name}" if work.anew else self._name(work.point)
                kept[name] = self.states[tvr]
                anew |= {name} if work.anew else set()
                self.trees[name] = self._tree(work.point, work.way)
        result, replaces = None, False
        if run.keeping.delivers and run.delivery.point is not None:
            result, replaces = self._rel(run.delivery.point), run.delivery.anew
        root = graph.space.root
        return Parts(
            trees=self.trees,
            kept=kept,
            result=result,
            anew=frozenset(anew),
            replaces=replaces,
            growing=not replaces and graph.facts.growing(root),
            cluster=cluster(graph.facts, root),
        )

    def _name(self, point: Point) -> str:
        plain = point.until == self.graph.moves(point.tvr) and not point.since
        version = "" if plain else "." + ".".join(sorted(point.until)) + "-" + ".".join(sorted(point.since))
        return f"{point.kind[0].replace('c', 'd')}{point.tvr}{version}"

    def _rel(self, point: Point) -> Rel:
        """A point as it is used by others."""
        if point not in self._rels:
            self._rels[point] = self._read(point)
        return self._rels[point]

    def _read(self, point: Point) -> Rel:
        run, relation = self.run, self.graph.space.tvrs[point.tvr]
        attrs = relation.group.attrs
        if point in run.keeping.pins or run.reading(point) is None:
            way = run.computed(point)[1]
            if relation.leaf or point.kind in (OPERATOR, FOUND):
                return self._tree(point, way)
            # Whether it is held, or put where it is used, follows from how often that is.
            name = self._name(point)
            if name not in self.trees:
                self.trees[name] = self._tree(point, way)
            return Ref(name, attrs)
        if point.kind == CHANGE:
            if run.upkeep(point.tvr).anew:
                return union(self._load(point.tvr, new=True), Negate(self._load(point.tvr, new=False)))
            return Ref(self._name(point), attrs)
        return self._load(point.tvr, new=bool(point.until) or point.tvr not in run.keeping.had)

    def _load(self, tvr: int, *, new: bool) -> Load:
        kept = self.states[tvr]
        return Load(kept.name, kept.rel.attrs, NEW if new else OLD, kept.unique)

    def _tree(self, point: Point, way: Way) -> Rel:
        """A point as it is computed."""
        if point not in self._made:
            self._made[point] = self._counted(point, self._computed(point, way))
        return self._made[point]

    def _computed(self, point: Point, way: Way) -> Rel:
        node = self.graph.space.tvrs[point.tvr].first
        match node:
            case Source():
                return Delta(node, OLD, NEW) if point.kind == CHANGE else Snapshot(node, NEW if point.until else OLD)
            case Constant():
                return node
        if not way.rules:
            raise InternalError("BAD_PLAN", f"no way was found to compute {node}")
        if way.program is None:
            parts = [self._rel(r) for r, _ in way.reads]
            return parts[0] if len(parts) == 1 else union(*parts)
        anew = point.kind == OPERATOR and point.until == self.graph.moves(point.tvr)
        live = self.graph.live(way.program, point.since, point.until)
        assert live is not None
        reads = {read for read, _ in way.reads}
        made: dict[int, Node] = {}
        for number, kept in sorted(live.items()):
            operation = way.program.operations[number]
            inputs = tuple(self._input(i, made, point, reads, anew) for i in kept)
            made[number] = narrowed(operation.node, operation.inputs, kept).with_inputs(inputs)
        return made[len(way.program.operations) - 1]

    def _input(self, i: Input, made: Mapping[int, Node], point: Point, reads: Collection[Point], anew: bool) -> Rel:
        if i.operation is not None:
            return made[i.operation]
        read = self.graph.read(i, point.since, point.until, point, anew=anew)
        assert read is not None
        found = read._replace(kind=FOUND)
        return self._rel(found if read.kind == ROWS and found in reads else read)

    def _counted(self, point: Point, tree: Rel) -> Rel:
        """A projection's rows are as many as its input's, so counting them again would tell nothing."""
        plain = point.kind == CHANGE and point.until == self.graph.moves(point.tvr) and not point.since
        first = self.graph.space.tvrs[point.tvr].first
        if not plain or point.tvr not in self.counted or isinstance(first, Project | Source):
            return tree
        return Measured(tree if isinstance(tree, Node) else prune(tree, tree.attrs), point.tvr)
