"""Members of a join looked up one by one or several at once give the same delta: judged without Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rules.meaning import Bag, Meaning, minus, row, tidy

from headrace.ir.expr import Attr, Equal, ref
from headrace.ir.near import Near, Range
from headrace.ir.plan import Plan, Remember
from headrace.ir.probe import Index, Lookup, Probe, probed
from headrace.ir.rel import Delta, Join, Load, Measured, Node, Ref, Rel, Snapshot, Source, prune, union
from headrace.ir.time import NEW, OLD, Situation, Version
from headrace.ir.walk import nodes, rebuild
from headrace.planner.actions import actions
from headrace.planner.demand import DELTA, FULL
from headrace.planner.diss import choose, front
from headrace.planner.operators import Candidate, HashJoin, Materialize, walk
from headrace.planner.probes import candidates, with_probes
from headrace.planner.rates import Rates
from headrace.planner.simple import Planner
from headrace.planner.skip import with_skips
from headrace.planner.view_tree import view_tree
from headrace.stats.estimate import Change, Estimate

NAMES = "abcde"
ATTRS = {n: tuple(Attr(f"{n}{i}", f"{n}{i}", "int") for i in (1, 2)) for n in NAMES}
SOURCES = {n: Source(n, ATTRS[n], ("x", "y")) for n in NAMES}
VALUE = st.sampled_from([None, 1, 1, 2, 2, 3])
ROWS = st.lists(st.tuples(VALUE, VALUE), max_size=3)


@dataclass
class Known:
    """Sizes of sources, and the delta that is expected."""

    sizes: dict[str, int]
    changes: dict[str, Change]

    def rows(self, leaf: Snapshot | Load) -> int:
        assert isinstance(leaf, Snapshot)
        assert isinstance(leaf.of, Source)
        return self.sizes[leaf.of.name]

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        return self.rows(leaf)

    def found(self, index: Index) -> float | None:
        return None

    def changed(self, source: str) -> Change:
        return self.changes.get(source, Change())

    def state(self, index: Index, rows: float) -> Candidate | None:
        return Candidate(index.name, round(rows) * 64, False, 0.1, 0.01)

    def about(self, rel: Rel) -> Estimate | None:
        return None


@dataclass
class Files(Known):
    """The same, where every row is a file of its own, so that what is read near a range is just what is in it."""

    world: dict[str, dict[Version, Bag]]

    def of(self, leaf: Any) -> Bag:
        at = self.world[leaf.of.name]
        return minus(at[NEW], at[OLD]) if isinstance(leaf, Delta) else at[leaf.at]

    def rows(self, leaf: Snapshot | Load) -> int:
        return len(self.of(leaf))

    def range(self, leaf: Snapshot | Delta | Load, attr: Attr) -> Range | None:
        values = [dict(r)[attr.id] for r in self.of(leaf)]
        filled = [v for v in values if v is not None]
        return Range(min(filled, default=1), max(filled, default=0), None in values)

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        return len(near(self.of(leaf), within))


def near(bag: Bag, within: tuple[tuple[Attr, Range], ...]) -> Bag:
    def inside(value: Any, limit: Range) -> bool:
        return limit.nulls if value is None else limit.low <= value <= limit.high

    return Counter({r: w for r, w in bag.items() if all(inside(dict(r)[a.id], limit) for a, limit in within)})


class InMemory(Meaning):
    """What trees mean, in a plan with earlier steps, where indexes hold what their relations have."""

    def __init__(self, world: dict[str, dict[Version, Bag]], plan: Plan) -> None:
        self.world = world
        self.steps = {s.name: s.rel for s in plan.steps}

    def of(self, rel: Rel) -> Bag:
        match rel:
            case Ref(step=step):
                return self.of(self.steps[step])
            case Measured(input=below):
                return self.of(below)
            case Near(input=below, within=within):
                return near(self.of(below), within)
            case Snapshot(of=Source(name=name), at=at):
                return self.world[name][at]
            case Delta(of=Source(name=name)):
                return minus(self.world[name][NEW], self.world[name][OLD])
            case Probe(input=below, index=index, on=on, at=at, null_safe=null_safe):
                equals = tuple(Equal(ref(k), e, null_safe) for k, e in zip(index.keys, on, strict=True))
                return self.of(Join((below, self.at_version(index, at)), equals, ()))
            case Lookup():
                raise AssertionError("a join has no keys to look up")
        return super().of(rel)

    def at_version(self, index: Index, at: Version) -> Rel:
        def change(node: Node) -> Rel:
            return replace(node, at=at) if isinstance(node, Snapshot) else node

        return rebuild(index.rel, change)


def world(data: dict[str, tuple[Any, Any, Any]], moved: frozenset[str]) -> dict[str, dict[Version, Bag]]:
    """Rows that stay, that leave and that come, for each source."""

    def bag(name: str, rows: list[tuple[Any, Any]]) -> Bag:
        return tidy(Counter(row(dict(zip((a.id for a in ATTRS[name]), r, strict=True))) for r in rows))

    found = {}
    for name, (stay, leave, come) in data.items():
        old = bag(name, [*stay, *leave])
        found[name] = {OLD: old, NEW: bag(name, [*stay, *come]) if name in moved else old}
    return found


@st.composite
def queries(draw: st.DrawFn) -> Node:
    """A join, or two of the same relations by different equalities, as where a query has a table in two places."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    pairs = [(a, b) for m, o in combinations(names, 2) for a in ATTRS[m] for b in ATTRS[o]]
    joins = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=len(names) - 1, max_size=6))
        equals = tuple(Equal(ref(a), ref(b), draw(st.sampled_from([False, False, True]))) for a, b in chosen)
        join = Join(tuple(SOURCES[n] for n in names), equals, ())
        joins.append(prune(join, join.attrs))
    return union(*joins) if len(joins) > 1 else joins[0]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(queries(), st.fixed_dictionaries({n: st.tuples(ROWS, ROWS, ROWS) for n in NAMES}), st.data())
def test_the_delta_is_the_same_whatever_is_looked_up(
    query: Node, data: dict[str, tuple[Any, Any, Any]], draw: st.DataObject
) -> None:
    planner = Planner(query, frozenset(NAMES))
    moved = draw.draw(st.sets(st.sampled_from(sorted(planner.sources)), min_size=1).map(frozenset))
    plan = planner.refresh(Situation(moved, moved))
    rows = {n: 1 + i for i, n in enumerate(draw.draw(st.permutations(NAMES)))}
    sizes: Known = Known(rows, {n: Change(1.0) for n in moved})
    if draw.draw(st.booleans()):
        sizes = Files(rows, {n: Change(1.0) for n in moved}, world(data, moved))
        plan = with_skips(plan, sizes, eager=True)
    every = {i.name: i for i in candidates(plan, sizes)} | view_tree(plan, sizes).indexes
    foreseen = draw.draw(st.lists(st.sets(st.sampled_from(sorted(planner.sources)), min_size=1), max_size=2))
    for other in foreseen:  # what is held may have been chosen for changes of other sources
        expected = Known(rows, {n: Change(1.0) for n in other})
        every |= view_tree(planner.refresh(Situation(frozenset(other))), expected).indexes
    names = draw.draw(st.sets(st.sampled_from(sorted(every)))) if every else set()
    held = draw.draw(st.sets(st.sampled_from(sorted(every)))) if every else set()
    probing = with_probes(plan, sizes, [every[n] for n in sorted(names)], held)
    assert {i.name for s in probing.steps for i in probed(s.rel)} <= names
    _is_right(probing, plan, moved, data)


def _is_right(probing: Plan, plan: Plan, moved: frozenset[str], data: dict[str, tuple[Any, Any, Any]]) -> None:
    """It gives what the plan gives, and what moves and is looked up is brought up to date, too, in an earlier step."""
    meaning = InMemory(world(data, moved), probing)
    assert meaning.of(probing.steps[-1].rel) == InMemory(world(data, moved), plan).of(plan.steps[-1].rel)
    known = set[str]()
    for step in probing.steps:
        for node in nodes(step.rel):
            if isinstance(node, Probe) and node.index.members:
                moves = any(n.name in moved for n in nodes(node.index.rel) if isinstance(n, Source))
                assert not moves or node.at == OLD or node.index.name in known
        if isinstance(step, Remember):
            before, after = (meaning.of(meaning.at_version(step.index, at)) for at in (OLD, NEW))
            assert meaning.of(step.rel) == minus(after, before), "it is the Delta of what the index holds"
            known.add(step.index.name)


def chain(names: str) -> Node:
    """Each relation linked to the one before it."""
    equals = tuple(Equal(ref(ATTRS[a][1]), ref(ATTRS[b][0])) for a, b in pairwise(names))
    join = Join(tuple(SOURCES[n] for n in names), equals, ())
    return prune(join, join.attrs)


def star(names: str) -> Node:
    """Each relation linked to the first."""
    equals = tuple(Equal(ref(ATTRS[names[0]][i % 2]), ref(ATTRS[n][0])) for i, n in enumerate(names[1:]))
    join = Join(tuple(SOURCES[n] for n in names), equals, ())
    return prune(join, join.attrs)


@pytest.mark.parametrize("query", [chain("abcd"), star("abcd"), star("cabed")], ids=["chain", "star", "larger star"])
def test_joins_that_were_held_for_other_changes(query: Node) -> None:
    """Whatever moves, and whatever was expected to."""
    planner = Planner(query, frozenset(NAMES))
    names = sorted(planner.sources)
    some = [frozenset(c) for n in range(1, len(names) + 1) for c in combinations(names, n)]
    rows = {n: 1 + i for i, n in enumerate(NAMES)}
    plans = {moved: planner.refresh(Situation(moved, moved)) for moved in some}
    trees = {f: view_tree(plans[f], Known(rows, {n: Change(1.0) for n in f})) for f in some}
    data = {n: ([(1, 1), (2, 1)], [(1, 2)], [(2, 2), (1, 1)]) for n in NAMES}
    looked_up = 0
    for moved in some:
        for foreseen in some:
            held = {n: i for n, i in trees[foreseen].indexes.items() if i.members}
            if held:
                probing = with_probes(plans[moved], Known(rows, {}), list(held.values()), held)
                looked_up += any(i.members for s in probing.steps for i in probed(s.rel))
                if len(names) < len(NAMES) or moved == some[-1]:
                    _is_right(probing, plans[moved], moved, data)
    assert looked_up


def test_a_join_is_looked_up_by_the_delta_of_the_next_relation() -> None:
    moved = frozenset("abc")
    plan = Planner(chain("abc"), moved).refresh(Situation(moved))
    sizes = Known(dict.fromkeys(NAMES, 1000), {n: Change(10.0) for n in moved})
    tree = view_tree(plan, sizes)
    (name,) = tree.joins
    probing = with_probes(plan, sizes, [tree.indexes[name]])
    remember, publish = probing.steps

    assert isinstance(remember, Remember)
    assert str(remember.index) == "a ⋈ b by b2"
    (probe,) = [n for n in nodes(publish.rel) if isinstance(n, Probe)]
    assert probe.index.name == name
    assert probe.at == NEW
    assert Ref(remember.name, ()) in [i for n in nodes(publish.rel) for i in n.inputs], "its delta is used again"


def test_a_join_is_brought_up_to_date_whatever_moves() -> None:
    planner = Planner(chain("abc"), frozenset())
    sizes = Known(dict.fromkeys(NAMES, 1000), {n: Change(10.0) for n in "abc"})
    tree = view_tree(planner.refresh(Situation(frozenset("abc"))), sizes)
    (name,) = tree.joins
    for moved in ("a", "b", "ab", "ac", "bc"):
        plan = planner.refresh(Situation(frozenset(moved)))
        steps = with_probes(plan, sizes, [tree.indexes[name]], {name}).steps
        assert [s.index.name for s in steps if isinstance(s, Remember)] == [name], moved


def test_what_is_read_near_the_range_of_another_relation_is_not_all_of_a_join() -> None:
    """Of b only what c can meet is read; the join of a and b has more."""
    moved = frozenset("ac")
    data: Any = {
        "a": ([], [], [(9, 1)]),
        "b": ([(1, 2), (1, 1)], [], []),
        "c": ([(1, 5)], [], [(1, 6)]),
        "d": ([], [], []),
    }
    planner = Planner(chain("abc"), frozenset())
    sizes = Files({}, {n: Change(10.0) for n in moved}, world(data, moved))
    whole = planner.refresh(Situation(moved))
    (name,) = view_tree(whole, sizes).joins
    index = view_tree(whole, sizes).indexes[name]
    plan = with_skips(whole, sizes, eager=True)
    assert any(isinstance(n, Near) for s in plan.steps for n in nodes(s.rel))
    probing = with_probes(plan, sizes, [index], {name})

    meaning = InMemory(world(data, moved), probing)
    before, after = (meaning.of(meaning.at_version(index, at)) for at in (OLD, NEW))
    assert minus(after, before)
    assert all(meaning.of(s.rel) == minus(after, before) for s in probing.steps if isinstance(s, Remember))


def test_a_join_of_which_nothing_moves_needs_no_step() -> None:
    planner = Planner(chain("abc"), frozenset())
    sizes = Known(dict.fromkeys(NAMES, 1000), {n: Change(10.0) for n in "abc"})
    tree = view_tree(planner.refresh(Situation(frozenset("abc"))), sizes)
    (name,) = tree.joins
    plan = planner.refresh(Situation(frozenset("c")))
    probing = with_probes(plan, sizes, [tree.indexes[name]])

    assert len(probing.steps) == 1
    assert [i.name for i in probed(probing.steps[0].rel)] == [name]


def test_the_tree_of_a_view_is_planned() -> None:
    """With all memory the delta is looked up everywhere; of a relation that rests, no delta is asked for."""
    planner = Planner(chain("abcd"), frozenset())
    moved = frozenset("ac")
    sizes = Known({"a": 10**6, "b": 10**5, "c": 10**6, "d": 100}, {n: Change(100.0) for n in moved})
    tree = view_tree(planner.refresh(Situation(moved)), sizes)
    point = choose(tree.root, Rates(), 1 << 40)
    held = {str(tree.indexes[n]) for n in point.held}

    assert {"c by c1", "b by b1"} <= held
    assert not any(h.startswith("a by") for h in held) or "b by b2" in held
    assert choose(tree.root, Rates(), 0).held == ()
    costs = [p.seconds for p in front(tree.root, Rates(), 1 << 40)]
    assert costs == sorted(costs, reverse=True)


class Rising(Known):
    """The same, where keys rise: of what moves, no old row is near those that come."""

    def range(self, leaf: Snapshot | Delta | Load, attr: Attr) -> Range | None:
        assert isinstance(leaf, Snapshot | Delta)
        assert isinstance(leaf.of, Source)
        if leaf.of.name not in self.changes:
            return None
        return Range(1_000, 2_000, False) if isinstance(leaf, Delta) else Range(0, 999, False)

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        assert isinstance(leaf, Snapshot)
        assert isinstance(leaf.of, Source)
        return 0 if leaf.of.name in self.changes else self.rows(leaf)


def test_rows_that_come_together_meet_each_other_and_then_what_is_held() -> None:
    """Orders and their items come with new keys, and no old one is read. Their customers are still looked up."""
    moved = frozenset("ab")
    sizes = Rising({"a": 10**6, "b": 10**6, "c": 10**5, "d": 1}, {n: Change(10_000.0) for n in moved})
    plan = with_skips(Planner(chain("abc"), frozenset()).refresh(Situation(moved)), sizes)
    assert any(isinstance(n, Near) for s in plan.steps for n in nodes(s.rel))
    tree = view_tree(plan, sizes)

    assert {str(tree.indexes[n]) for n in choose(tree.root, Rates(), 1 << 40).held} == {"c by c1"}
    assert choose(tree.root, Rates(), 0).seconds > 0


def test_the_full_result_of_a_join_is_not_looked_up_from_one_side() -> None:
    """Terms begin with their deltas: none could begin with a small relation and look the large ones up."""
    moved = frozenset("ab")
    sizes = Known(dict.fromkeys(NAMES, 1000), {n: Change(10.0) for n in moved})
    tree = view_tree(Planner(chain("abc"), frozenset()).refresh(Situation(moved)), sizes)
    joins = [op for op in walk(tree.root) if isinstance(op, HashJoin)]
    assert len(joins) == 2
    for join in joins:
        assert [a.asks for a in actions(join, FULL, Rates())] == [(FULL, FULL)]
        assert len(list(actions(replace(join, by_terms=False), FULL, Rates()))) == 3


def test_what_is_held_is_not_read_whole() -> None:
    """However few rows it has: runs look it up by its key."""
    moved = frozenset("ab")
    sizes = Known({"a": 100, "b": 10**6, "c": 1, "d": 1}, {n: Change(10.0) for n in moved})
    tree = view_tree(Planner(chain("ab"), frozenset()).refresh(Situation(moved)), sizes)
    (kept,) = [op for op in walk(tree.root) if isinstance(op, Materialize) and op.rows == 100]
    assert [a.asks for a in actions(kept, FULL, Rates())] == [(FULL,)]
    assert any(a.asks == (DELTA,) for a in actions(replace(kept, replayed=True), FULL, Rates()))


class Selective(Known):
    """The same, where a relation by itself has few of the keys that it is asked for."""

    def found(self, index: Index) -> float | None:
        return None if index.members else 0.001


def test_a_join_that_is_held_is_looked_up_before_a_member_of_it() -> None:
    """By c alone fewer rows would be found, but b would be scanned for them."""
    moved = frozenset("a")
    sizes = Selective({"a": 100, "b": 10**6, "c": 100, "d": 1}, {n: Change(10.0) for n in moved})
    a, b, c = (SOURCES[n] for n in "abc")
    key = Equal(ref(ATTRS["a"][1]), ref(ATTRS["c"][0]))
    join = Join((a, b, c), (key, Equal(ref(ATTRS["b"][0]), ref(ATTRS["c"][0]))), ())
    plan = Planner(prune(join, join.attrs), frozenset()).refresh(Situation(moved))
    own = {n: Snapshot(SOURCES[n], OLD) for n in "bc"}
    together = Index(Join((own["b"], own["c"]), (join.equals[1],), ()), (ATTRS["c"][0],))
    probing = with_probes(plan, sizes, [together, Index(own["c"], (ATTRS["c"][0],))])

    assert [i for s in probing.steps for i in probed(s.rel)] == [together]
