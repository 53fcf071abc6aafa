"""Random queries, rows that arrive over several runs, and plans of them carried out run by run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from planner.machine import Machine, rounded
from rules import examples as e
from rules.meaning import Bag, Meaning, row

from headrace.cost.tuples import TupleModel, Tuples
from headrace.ir.aggregate import Call
from headrace.ir.expr import Attr, Column, Equal, SortKey, ref
from headrace.ir.plan import Step
from headrace.ir.rel import Aggregate, Filter, Join, Limit, Node, PairJoin, Project, Union, Window, prune
from headrace.ir.time import NEW, OLD, Situation
from headrace.ir.timeline import Run, Timeline
from headrace.memo.memo import Memo
from headrace.planner.explore import Engine
from headrace.planner.graph import Graph, Way
from headrace.planner.problem import Arriving, Goal, Problem
from headrace.planner.realise import realised
from headrace.planner.search import Keeping, Valuation
from headrace.planner.share import Choice, Sharing, choose
from headrace.planner.space import FOUND, OPERATOR, Point, Space
from headrace.planner.states import Names
from headrace.rules import METHODS, RULES

COLUMNS = {"s": "kx", "t": "jy", "r": "uv"}
D = Attr("d", "d", "double")


def total(argument: Attr) -> Call:
    """A sum of doubles, which comes out different each time."""
    return Call(Attr("total", "total", "double"), "sum", (ref(argument),), text=f"sum({argument})")


def _value(a: str, b: str) -> Any:
    return e.expr(f"{a} or {b}", a + b, lambda r: r[b] if r[b] is not None else r[a])


BOTTOM: dict[str, Node] = {
    "a source": e.S,
    "a filter": e.POSITIVE,
    "a join": prune(e.PAIR, (e.K, e.X, e.Y)),
    "a join of three": prune(e.CHAIN, (e.K, e.X, e.Y, e.V)),
    "a triangle": Join((e.S, e.T, e.R), (*e.CHAIN.equals, Equal(ref(e.X), ref(e.V))), ()),
    "a join of a join": e.NESTED,
    "a self join": e.SELF,
    **{f"a {kind} join": e.pair_join(kind) for kind in PairJoin.KINDS[:-1]},
    **{f"a {kind} join with more": e.pair_join(kind, equi=False) for kind in PairJoin.KINDS[:-1]},
    "a left anti join without keys": e.pair_join("left anti", keyed=False),
    "a union": Project(e.STACKED, (Column(e.K, ref(e.U)), Column(e.X, ref(e.V)))),
    "a distinct": Aggregate(e.S, (e.K, e.X), ()),
    "a sum": Project(
        Aggregate(e.S, (e.K,), (e.call("sum"),)), (Column(e.K, ref(e.K)), Column(e.X, ref(e.call("sum").attr)))
    ),
}


def _doubled(q: Node) -> Node:
    return Project(q, (Column(e.K, ref(e.K)), Column(D, e.expr("x", "x", lambda r: r["x"], "double"))))


def _summed(q: Node) -> Node:
    argument = e.Y if e.Y in q.attrs else e.X
    return Aggregate(
        Project(q, (Column(e.K, ref(e.K)), Column(e.Z, _value("x", argument.id)))),
        (e.K,),
        (e.call("sum", e.Z), e.call("max", e.Z)),
    )


def _counted(q: Node) -> Node:
    argument = e.Y if e.Y in q.attrs else e.X
    return Aggregate(q, (e.K,), (e.call("sum", argument), e.call("count", None), e.call("max", argument)))


def _joined(q: Node) -> Node:
    return q if {e.U, e.V} & set(q.attrs) else prune(Join((q, e.R), (Equal(ref(e.K), ref(e.U)),), ()), (*q.attrs, e.V))


def _outer(q: Node) -> Node:
    kept = prune(q, (e.K, e.X))
    return PairJoin(kept, e.R, "left outer", ((e.K, e.U),), True, e.compared("k", "=", "u"))


TOP: dict[str, Any] = {
    "itself": lambda q: q,
    "a sum and a maximum": _summed,
    "a sum, a count and a maximum of one side": _counted,
    "a sum of doubles": lambda q: Aggregate(_doubled(q), (e.K,), (total(D),)),
    "a sum of doubles over all": lambda q: Aggregate(_doubled(q), (), (total(D),)),
    "a distinct count": lambda q: Aggregate(q, (e.K,), (e.call("count", distinct=True), e.call("sum"))),
    "a median": lambda q: Aggregate(q, (e.K,), (e.call("median"),)),
    "a count of all": lambda q: Aggregate(q, (), (e.call("count", None),)),
    "a join with another": _joined,
    "an outer join with another": _outer,
    "a window": lambda q: Window(prune(q, (e.K, e.X)), (e.K,), (e.N,), "row_number()", e.numbered),
    "a limit": lambda q: Limit(prune(q, (e.K, e.X)), (SortKey(ref(e.X), False, True),), 0, 2),
    "a filter": lambda q: Filter(q, e.POSITIVE.conjuncts),
    "a union with a source": lambda q: Union((prune(q, (e.K, e.X)), e.R), ((e.K, e.X), (e.U, e.V)), (e.K, e.X)),
}


@st.composite
def queries(draw: st.DrawFn) -> Node:
    query = BOTTOM[draw(st.sampled_from(sorted(BOTTOM)))]
    tops = draw(st.lists(st.sampled_from(sorted(TOP)), min_size=1, max_size=2))
    for top in tops:
        if {e.K, e.X} <= set(query.attrs):
            query = TOP[top](query)
    return query


VALUES = st.sampled_from([None, 0, 1, 2])


@st.composite
def arrivals(draw: st.DrawFn, runs: int) -> list[dict[str, Bag]]:
    """The rows of each source before the first run and after each: growing, or any."""
    at: list[dict[str, Bag]] = [{n: Counter() for n in COLUMNS}]
    for _ in range(runs):
        now = {}
        for name, columns in COLUMNS.items():
            rows = draw(st.lists(st.tuples(VALUES, VALUES), max_size=3))
            came = Counter(row(dict(zip(columns, values, strict=True))) for values in rows)
            gone: Bag = Counter()
            if draw(st.booleans()) and at[-1][name]:
                gone[draw(st.sampled_from(sorted(at[-1][name], key=str)))] = 1
            now[name] = at[-1][name] + came - gone
        at.append(now)
    return at


class ChanceGraph(Graph):
    """A run in which every way to a point has a cost that means nothing, so that any may be the least."""

    def __init__(
        self, space: Space, situation: Situation, model: TupleModel, chance: random.Random, first: bool
    ) -> None:
        super().__init__(space, situation, model, first=first, guided=False)
        self.chance = chance

    def ways(self, point: Point) -> tuple[Way, ...]:
        if point not in self._ways:
            leaf = self.space.tvrs[point.tvr].leaf
            most = 0.0 if leaf else 10.0 if point.kind == OPERATOR else 1.0  # or hardly any would go by changes
            self._ways[point] = tuple(replace(w, cost=self.chance.random() * most) for w in super().ways(point))
        return self._ways[point]

    def scan(self, point: Point) -> float:
        return 0.0


def by_chance(graph: ChanceGraph, keeping: Keeping) -> Valuation:
    """A run by ways taken by chance, some of what several places use held."""
    run = Valuation(graph, keeping)
    shared = [p for p, times in run.uses().items() if times > 1 and p.kind not in (OPERATOR, FOUND)]
    pins = frozenset(p for p in shared if not graph.space.tvrs[p.tvr].leaf and graph.chance.random() < 0.5)
    return run.changed(replace(keeping, pins=pins))


@dataclass
class Scene:
    """A query over rows that arrive, planned and run."""

    query: Node
    at: list[dict[str, Bag]]
    timeline: Timeline
    lookups: bool = False

    def __post_init__(self) -> None:
        self.memo = Memo()
        root = self.memo.add(self.query)
        Engine(self.memo, RULES).explore(root)
        self.space = Space(self.memo, root)

    def data(self, run: int) -> dict[str, Arriving]:
        found = {}
        for name in COLUMNS:
            old, new = self.at[run][name], self.at[run + 1][name]
            came, gone = new - old, old - new
            found[name] = Arriving(old.total(), came.total(), 0.0, gone.total())
        return found

    def models(self, runs: Sequence[int]) -> list[TupleModel]:
        made = []
        for run in runs:
            sizes = {n: Tuples(a.after, a.before, a.inserts + a.deletes) for n, a in self.data(run).items()}
            made.append(TupleModel(sizes, lookups=self.lookups))
        return made

    def progressive(self, methods: Sequence[str] = tuple(METHODS), *, compare: bool = False) -> Choice:
        return choose(self.space, self.problem(), self.models(self.runs), methods=methods, compare=compare)

    @property
    def runs(self) -> range:
        return range(len(self.timeline))

    def problem(self) -> Problem:
        return Problem(self.timeline, tuple(self.data(i) for i in self.runs), Goal())

    def chance(self, seed: int) -> list[Valuation]:
        """The runs with states that are kept by chance, by ways that are taken by chance."""
        chance, problem = random.Random(seed), self.problem()
        can = [t for t, r in self.space.tvrs.items() if r.keepable]
        kept = {t: chance.randrange(len(self.runs)) for t in can if chance.random() < 0.3}
        sharing = Sharing(self.space, problem, self.models(self.runs))
        found = []
        for i, model in enumerate(self.models(self.runs)):
            graph = ChanceGraph(self.space, problem.situation(i), model, chance, first=i == 0)
            found.append(by_chance(graph, sharing.keeping(kept, i)))
        return found

    def steps(self, runs: Sequence[Valuation]) -> list[tuple[Step, ...]]:
        names = Names(self.memo)
        kept = {t for run in runs for t in run.keeping.had | run.keeping.keep}
        states = {t: names.kept(self.space.tvrs[t].group) for t in kept}
        return [realised(run, states) for run in runs]

    def answer(self, run: int) -> Bag:
        world = {n: {OLD: b, NEW: b} for n, b in self.at[run + 1].items()}
        return Meaning(self.memo, world).at(self.memo.nodes(self.memo.add(self.query))[0], NEW)

    def check(self, runs: Sequence[Valuation]) -> None:
        """Carry a progressive plan out; the result is the answer after every run that delivers."""
        machine = Machine()
        for i, (run, steps) in enumerate(zip(self.timeline.runs, self.steps(runs), strict=True)):
            machine.run(steps, self.at[i], self.at[i + 1])
            if run.delivers:
                assert machine.result is not None
                assert rounded(machine.result) == rounded(self.answer(i))


def timeline(delivers: Sequence[bool]) -> Timeline:
    weights = [0.3] * (len(delivers) - 1) + [1.0]
    return Timeline(tuple(Run(f"run {i}", w, d) for i, (w, d) in enumerate(zip(weights, delivers, strict=True))))
