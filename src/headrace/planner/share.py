"""Which Tvrs to keep between runs: sharing of what runs have in common (Tempura §6.3).

A state is a Tvr and the run from which on it is kept; it is brought up to date in every run after that, up to the last
that needs it. In a refresh it is there before the run and after it, and its upkeep is part of the run.

The search begins from several sets of states: none; what the best plan without sharing saves and loads, by dynamic
programming over points and runs (§6.2), for all methods and for each alone. From the best of these it goes on greedily:
of all states that could be added, dropped or begun in another run, those first that can save most, as long as one saves
anything. What a change saves now is taken to be no more than it saved before, so that only the most promising are
judged anew, and judging one computes only what depends on it. The best set so far is taken when time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from math import inf, isfinite

from headrace.errors import ConfigError
from headrace.planner.graph import MERGED, Graph
from headrace.planner.problem import AnyModel, Latest, Problem
from headrace.planner.search import Keeping, Valuation
from headrace.planner.space import CHANGE, FOUND, ROWS, Point, Space, families_of
from headrace.rules import METHODS

Kept = Mapping[int, int]  # Tvr → the run from which on it is kept
_DROP = -1
_PASSES = 2
_LEAST = 0.02  # of all costs: a state that saves less is not worth having
_ENOUGH = 0.3  # of what the next change promises: to wait for a better one costs more than it gives


@dataclass(frozen=True)
class Solution:
    """The runs under one choice of states: what each costs, and all together."""

    kept: Kept
    runs: tuple[Valuation, ...]
    plain: tuple[Valuation, ...]  # the same with nothing held inside of runs
    total: float | Latest

    @property
    def costs(self) -> tuple[float, ...]:
        return tuple(run.total for run in self.runs)


@dataclass
class Times:
    """Seconds that planning took, by part."""

    explore: float = 0.0
    search: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Choice:
    """The best solution found, the best of each method alone, and whether nothing better was left
    before time was up."""

    best: Solution
    methods: Mapping[str, Solution]
    complete: bool
    times: Times = field(default_factory=Times)


def choose(
    space: Space,
    problem: Problem,
    models: Sequence[AnyModel],
    *,
    methods: Sequence[str] = tuple(METHODS),
    have: frozenset[int] = frozenset(),
    known: Sequence[frozenset[int]] = (),
    compare: bool = False,
    seconds: float = inf,
    guided: bool = True,
) -> Choice:
    """The best plan of the runs of a problem, by some methods together. ``have`` are states that are there already,
    ``known`` sets of states that are known to be good: no plan is worse than with one of them. With ``compare`` the
    best plan of each method alone is found too, and the plan of all is never worse than those.
    What is not ``guided`` merges changes in every order."""
    started = time.perf_counter()
    sharing = Sharing(space, problem, models, have, until=started + seconds, guided=guided)
    everything = families_of(*methods)
    seeds = [*sharing.seeds(everything), *(dict.fromkeys(states, 0) for states in known)]
    alone: dict[str, Solution] = {}
    for method in methods if len(methods) > 1 else ():
        families = families_of(method)
        if compare:
            alone[method] = sharing.improved(sharing.seeds(families), families)
            seeds.append(alone[method].kept)
        else:
            seeds.append(sharing.seeds(families)[-1])
    searched = time.perf_counter()
    best = sharing.improved(seeds, everything)
    sharing.check(best)
    return Choice(best, alone, not sharing.late, Times(0.0, searched - started, time.perf_counter() - searched))


class Sharing:
    """Judges sets of states for the runs of one problem."""

    def __init__(
        self,
        space: Space,
        problem: Problem,
        models: Sequence[AnyModel],
        have: frozenset[int] = frozenset(),
        *,
        until: float = inf,
        guided: bool = True,
    ) -> None:
        self.space = space
        self.problem = problem
        self.have = have
        self.until = until
        self.late = False
        self.steady = problem.timeline.steady
        self.graphs = [
            Graph(space, problem.situation(i), model, first=self._nothing_before(i), guided=guided)
            for i, model in enumerate(models)
        ]
        weights = [r.weight for r in problem.timeline.runs]
        if problem.goal.latest_first:  # a guess for the first sets; what is found is compared exactly
            weights = [1e-3 ** (len(weights) - 1 - i) for i in range(len(weights))]
        self.weights = weights

    def _nothing_before(self, run: int) -> bool:
        return run == 0 and not self.steady and not self.problem.begun

    @cached_property
    def anew(self) -> float:
        """What the last run costs where nothing is kept and everything is computed in it."""
        return self.judged({}, families_of("recompute")).costs[-1]

    # --- judging

    def judged(self, kept: Kept, families: frozenset[str], near: Solution | None = None) -> Solution:
        """The runs under some states; ``near`` is a solution of which what is the same is taken over."""
        plain, runs = [], []
        for i, graph in enumerate(self.graphs):
            keeping = self.keeping(kept, i)
            before = near.plain[i] if near is not None else None
            if before is not None and near is not None and before.keeping == keeping:
                plain.append(before)
                runs.append(near.runs[i])
                continue
            one = Valuation(graph, keeping, families) if before is None else before.changed(keeping)
            plain.append(one)
            pins = one.shared() if isfinite(one.total) else frozenset[Point]()
            held = one.changed(replace(keeping, pins=pins)) if pins else one
            runs.append(held if held.total < one.total else one)
        costs = [run.total for run in runs]
        return Solution(dict(kept), tuple(runs), tuple(plain), self.problem.total(costs))

    def keeping(self, kept: Kept, run: int) -> Keeping:
        """What a run has and keeps under some states."""
        timeline = self.problem.timeline
        delivers = timeline.runs[run].delivers
        if self.steady:
            return Keeping(frozenset(kept), frozenset(kept), frozenset(), delivers, True)
        had = frozenset(t for t, first in kept.items() if first < run) if run else self.have
        keep = frozenset(t for t, first in kept.items() if first <= run) if run < len(timeline) - 1 else frozenset()
        published = self.problem.published or any(r.delivers for r in timeline.runs[:run])
        return Keeping(had, keep, frozenset(), delivers, published)

    def check(self, solution: Solution) -> None:
        """Refuse a goal that no plan found meets."""
        limit = self.problem.goal.last
        if limit is not None and solution.costs[-1] > limit * self.anew:
            raise ConfigError(
                "GOAL",
                f"no plan found lets the last run cost at most {limit:g} of computing everything in it: "
                f"the best has {solution.costs[-1] / self.anew:.2f}",
                hint="allow more, or add runs before the last",
            )

    def _better(self, one: Solution, other: Solution) -> bool:
        """Whether one solution is better: one that keeps to the limit than one that does not, then the cheaper, then
        the one that keeps less."""
        limit = self.problem.goal.last
        if limit is not None:
            over = [max(s.costs[-1] - limit * self.anew, 0.0) for s in (one, other)]
            if over[0] != over[1]:
                return over[0] < over[1]
        if one.total == other.total:
            return len(one.kept) < len(other.kept)
        return one.total < other.total  # type: ignore[operator]

    # --- where to begin

    def seeds(self, families: frozenset[str]) -> list[Kept]:
        """Sets of states to begin from."""
        return [{}, _Unshared(self, families).kept()]

    # --- going on

    def improved(self, seeds: Sequence[Kept], families: frozenset[str]) -> Solution:
        """The best of some sets of states, and what is better near it."""
        best = self.judged(seeds[0], families)
        different = {tuple(sorted(s.items())): s for s in seeds[1:]}
        for seed in different.values():
            other = self.judged(seed, families)
            best = other if self._better(other, best) else best
        return self._climbed(best, families)

    def _climbed(self, best: Solution, families: frozenset[str]) -> Solution:
        """Change one state after another, the most promising first, as long as it helps. A change that did not help is
        tried once more when others have been made."""
        for _ in range(_PASSES):
            before = best
            best = self._climb(best, families)
            if best is before or self.late:
                break
        return best

    def _climb(self, best: Solution, families: frozenset[str]) -> Solution:
        queue: list[tuple[float, int, int]] = []
        known: set[tuple[int, int]] = set()
        taken = True
        while True:
            if taken:
                for promise, tvr, first in self._moves(best):
                    if (tvr, first) not in known:
                        known.add((tvr, first))
                        heappush(queue, (-promise, tvr, first))
            taken = False
            if not queue:
                return best
            if time.perf_counter() > self.until:
                self.late = True
                return best
            _, tvr, first = heappop(queue)
            if best.kept.get(tvr, _DROP) == first:
                continue
            other = self.judged(_moved(best.kept, tvr, first), families, best)
            gain = _gain(best, other) if self._better(other, best) else 0.0
            more = len(other.kept) > len(best.kept)
            if gain > (_LEAST * sum(best.costs) if more and isfinite(sum(best.costs)) else 0.0):
                taken = not queue or gain >= _ENOUGH * -queue[0][0]
                if taken:
                    best = other
                else:
                    heappush(queue, (-gain, tvr, first))

    def _moves(self, solution: Solution) -> Iterator[tuple[float, int, int]]:
        """States that could be dropped, begun in another run, or added, each with the most that it can be hoped to
        save: a state what its upkeep costs, rows what computing them costs. Rows that only another way needs come
        last."""
        begins = [0] if self.steady else list(range(len(self.graphs) - 1))
        promises: dict[int, float] = {}
        for run, weight in zip(solution.plain, self.weights, strict=True):
            for point in run.uses():
                promises.setdefault(point.tvr, 0.0)
                if point.kind != CHANGE:
                    cost = run.value(point)[0]
                    promises[point.tvr] += weight * cost if isfinite(cost) else 1.0
                for way in run.graph.allowed(point, run.families):
                    for read, _ in way.reads:
                        promises.setdefault(read.tvr, 0.0)
        for tvr, promise in promises.items():
            if tvr not in solution.kept and self.space.tvrs[tvr].keepable:
                yield promise, tvr, 0
        for tvr, first in solution.kept.items():
            spent = sum(
                weight * run.upkeep(tvr).cost
                for run, weight in zip(solution.plain, self.weights, strict=True)
                if tvr in run.keeping.keep
            )
            yield (spent if isfinite(spent) else 0.0), tvr, _DROP
            for other in begins:
                if other != first:
                    yield 0.0, tvr, other


def _moved(kept: Kept, tvr: int, first: int) -> Kept:
    rest = {t: f for t, f in kept.items() if t != tvr}
    return rest if first == _DROP else {**rest, tvr: first}


def _gain(old: Solution, new: Solution) -> float:
    if isinstance(old.total, Latest) and isinstance(new.total, Latest):
        return next((a - b for a, b in zip(old.total.costs, new.total.costs, strict=True) if a != b), 0.0)
    assert isinstance(old.total, float | int)
    assert isinstance(new.total, float | int)
    return old.total - new.total if isfinite(old.total) else inf


_Key = tuple[int, Point, bool]  # a run, a point of it, and whether the old rows of its Tvr are there


@dataclass(frozen=True)
class _Plan:
    """The best way to a point: its cost, what it reads, and the run from which on it was kept, where it was."""

    cost: float = inf
    reads: tuple[_Key, ...] = ()
    kept: int | None = None


class _Unshared:
    """The best plan in which nothing that two places use is counted once: dynamic programming over points and runs, in
    which old rows may be had by saving them in the run before."""

    def __init__(self, sharing: Sharing, families: frozenset[str]) -> None:
        self.sharing = sharing
        self.families = families
        self._best: dict[_Key, _Plan] = {}

    def kept(self) -> Kept:
        """The states of the best plan."""
        found: dict[int, int] = {}
        waiting: list[_Key] = []
        for i, run in enumerate(self.sharing.problem.timeline.runs):
            if run.delivers:
                graph, root = self.sharing.graphs[i], self.sharing.space.root.id
                change = graph.change(root) if self.sharing.steady else None
                options = [graph.newest(root), *([] if change is None else [change])]
                waiting.append(min(((i, p, False) for p in options), key=lambda k: self._plan(k).cost))
        seen: set[_Key] = set()
        while waiting:
            key = waiting.pop()
            if key not in seen:
                seen.add(key)
                plan = self._plan(key)
                if plan.kept is not None:
                    found[key[1].tvr] = min(plan.kept, found.get(key[1].tvr, plan.kept))
                waiting += plan.reads
        return found

    def _plan(self, key: _Key) -> _Plan:
        if key not in self._best:
            self._best[key] = _Plan()  # a way to a point that leads through it is none
            self._best[key] = self._least(*key)
        return self._best[key]

    def _least(self, run: int, point: Point, held: bool) -> _Plan:
        graph, weight = self.sharing.graphs[run], self.sharing.weights[run]
        old = point.kind in (ROWS, FOUND) and not point.until and not graph.space.tvrs[point.tvr].leaf
        scan = weight * (graph.found(point) if point.kind == FOUND else graph.scan(point))
        if old and held:
            return _Plan(scan)
        best = _Plan()
        for way in graph.ways(point):
            if graph.space.allowed(way.rules, self.families):
                # What is merged is kept: its change has the old rows at hand.
                merged = way.rules == MERGED and point.kind == ROWS
                cost, reads = weight * way.cost, []
                for read, times in way.reads:
                    key = (run, read, read.tvr == point.tvr and (held or (merged and read.kind == CHANGE)))
                    once = self._plan(key).cost
                    cost += once if times == 1 else weight * graph.several(read, once / weight, times)
                    reads.append(key)
                best = _Plan(cost, tuple(reads)) if cost < best.cost else best
        if old and graph.space.tvrs[point.tvr].keepable:
            saved = self._saved(run, point.tvr)
            if saved.cost + scan < best.cost:
                return _Plan(saved.cost + scan, saved.reads, saved.kept)
        return best

    def _saved(self, run: int, tvr: int) -> _Plan:
        """The best way to have the old rows of a Tvr as a state in a run."""
        if self.sharing.steady:
            return self._added(run, tvr, _Plan(0.0, (), 0))
        if run == 0:
            return _Plan(0.0, (), 0) if tvr in self.sharing.have else _Plan()
        graph, weight = self.sharing.graphs[run - 1], self.sharing.weights[run - 1]
        anew = (run - 1, graph.operator(tvr), False)
        begun = _Plan(self._plan(anew).cost + weight * graph.model.save(graph.size(anew[1])), (anew,), run - 1)
        return min(begun, self._added(run - 1, tvr, self._saved(run - 1, tvr)), key=lambda p: p.cost)

    def _added(self, run: int, tvr: int, before: _Plan) -> _Plan:
        """A state to which a run adds what changes."""
        graph, weight = self.sharing.graphs[run], self.sharing.weights[run]
        change = graph.change(tvr)
        if change is None or before.cost == inf:
            return replace(before, cost=before.cost + weight * graph.model.idle())
        key = (run, change, True)
        cost = before.cost + self._plan(key).cost + weight * graph.model.save(graph.size(change))
        return _Plan(cost, (key, *before.reads), before.kept)
