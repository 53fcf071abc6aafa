"""Reading leaves near the keys that they are joined with gives the same rows: judged without Spark, file by file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rules.meaning import Bag, Meaning, row, tidy

from headrace.ir.expr import Attr, Column, Equal, ref
from headrace.ir.near import Near, Range
from headrace.ir.plan import Pin, Plan, Publish
from headrace.ir.rel import Delta, Join, Keys, Load, Project, Ref, Rel, Restrict, Snapshot, Source, union
from headrace.ir.time import NEW, OLD, Situation, Version
from headrace.ir.walk import nodes
from headrace.planner.skip import with_skips

NAMES = "abc"
ATTRS = {n: (Attr(f"{n}1", f"{n}1", "bigint"), Attr(f"{n}2", f"{n}2", "int")) for n in NAMES}
SOURCES = {n: Source(n, ATTRS[n], ("x", "y")) for n in NAMES}
VALUE = st.sampled_from([None, None, None, 0, 1, 2, 5, 6])
FILE = st.lists(st.tuples(VALUE, VALUE, st.sampled_from([1, 1, 2, -1])), max_size=3)
Rows = list[tuple[Any, Any, int]]


@dataclass
class Disk:
    """Files of each source, the first of which are old; the facts that their footers would tell."""

    files: dict[str, list[Rows]]
    old: int

    def of(self, leaf: Any) -> list[Rows]:
        files = self.files[leaf.of.name]
        if isinstance(leaf, Delta):
            return files[self.old :]
        return files[: self.old] if leaf.at == OLD else files

    def rows(self, leaf: Snapshot | Load) -> int:
        return sum(map(len, self.of(leaf)))

    def range(self, leaf: Snapshot | Delta | Load, attr: Attr) -> Range | None:
        assert not isinstance(leaf, Load)
        place = [a.id for a in leaf.of.attrs].index(attr.id)
        return reduce(Range.joined, [_bounds(f, place) for f in self.of(leaf)], Range(1, 0, False))

    def part(self, leaf: Snapshot | Load, within: tuple[tuple[Attr, Range], ...]) -> int:
        return sum(map(len, self.near(Near(leaf, within))))

    def near(self, near: Near) -> list[Rows]:
        ids = [a.id for a in near.attrs]
        wanted = [(ids.index(a.id), r) for a, r in near.within]
        return [f for f in self.of(near.input) if all(_bounds(f, place).meets(r) for place, r in wanted)]


def _bounds(rows: Rows, place: int) -> Range:
    values = [r[place] for r in rows]
    filled = [v for v in values if v is not None]
    return Range(min(filled, default=1), max(filled, default=0), None in values)


class OnDisk(Meaning):
    """What trees mean over files, in a plan with earlier steps."""

    def __init__(self, disk: Disk, plan: Plan) -> None:
        self.disk = disk
        self.steps = {s.name: s.rel for s in plan.steps}

    def of(self, rel: Rel) -> Bag:
        match rel:
            case Ref(step=step):
                return self.of(self.steps[step])
            case Near():
                return self._bag(self.disk.near(rel), rel)
            case Snapshot() | Delta():
                return self._bag(self.disk.of(rel), rel)
        return super().of(rel)

    def _bag(self, files: list[Rows], rel: Rel) -> Bag:
        total: Bag = Counter()
        for *values, weight in (r for f in files for r in f):
            total[row({a.id: v for a, v in zip(rel.attrs, values, strict=True)})] += weight
        return tidy(total)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A step that is held, and one that uses it: joins of deltas and snapshots, and rows restricted to keys."""

    def leaf(name: str) -> Rel:
        version = draw(st.sampled_from([OLD, NEW, None]))
        source = SOURCES[name]
        read: Rel = Delta(source, OLD, NEW) if version is None else Snapshot(source, version)
        if draw(st.booleans()):  # under the same ids, in another order
            read = Project(read, tuple(Column(a, ref(a)) for a in reversed(source.attrs)))
        return read

    def joined(names: str) -> Rel:
        members = tuple(leaf(n) for n in names)
        pairs = [(a, b) for m, o in combinations(names, 2) for a in ATTRS[m] for b in ATTRS[o] if a.type == b.type]
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3))
        kinds = draw(st.sampled_from([(True,), (False,), (True, False)]))
        return Join(members, tuple(Equal(ref(a), ref(b), draw(st.sampled_from(kinds))) for a, b in chosen), ())

    held = union(joined("bc"), joined("bc"))
    top: Rel = Join((leaf("a"), Ref("h", held.attrs)), (Equal(ref(ATTRS["a"][0]), ref(ATTRS["b"][0])),), ())
    if draw(st.booleans()):
        keys = Keys((top, leaf("c")), ((ATTRS["b"][1],), (ATTRS["c"][1],)))
        top = Restrict(leaf("a"), (ATTRS["a"][1],), keys)
    situation = Situation(frozenset(NAMES), frozenset(NAMES))
    return Plan((Pin("h", held), Publish(top, replace=False)), situation, ())


@settings(max_examples=500)
@given(plans(), st.fixed_dictionaries({n: st.lists(FILE, max_size=4) for n in NAMES}), st.integers(0, 3))
def test_nothing_is_missed(plan: Plan, files: dict[str, list[Rows]], old: int) -> None:
    disk = Disk(files, old)
    skipping = with_skips(plan, disk, eager=True)
    for step, before in zip(skipping.steps, plan.steps, strict=True):
        assert OnDisk(disk, skipping).of(step.rel) == OnDisk(disk, plan).of(before.rel)


def rising(old: int, new: int) -> tuple[Plan, Disk]:
    """Two tables whose keys rise, joined: each delta with the other's old rows."""
    a, b = SOURCES["a"], SOURCES["b"]
    on = (Equal(ref(a.attrs[0]), ref(b.attrs[0])),)
    terms = [
        Join((Delta(a, OLD, NEW), Snapshot(b, NEW)), on, ()),
        Join((Delta(b, OLD, NEW), Snapshot(a, OLD)), on, ()),
    ]
    order = (*a.attrs, *b.attrs)
    rel = union(*(Project(t, tuple(Column(c, ref(c)) for c in order)) for t in terms))
    files = [[(i, 0, 1) for i in range(old)], [(old + i, 0, 1) for i in range(new)]]
    plan = Plan((Publish(rel, replace=False),), Situation(frozenset("ab"), frozenset()), ())
    return plan, Disk({"a": files, "b": files}, 1)


def near(plan: Plan) -> list[tuple[str, Version]]:
    found = [n.input for s in plan.steps for n in nodes(s.rel) if isinstance(n, Near)]
    return [(leaf.of.name, leaf.at) for leaf in found if isinstance(leaf, Snapshot) and isinstance(leaf.of, Source)]


def test_new_facts_with_rising_keys() -> None:
    plan, disk = rising(10_000, 10)
    skipping = with_skips(plan, disk)
    assert near(skipping) == [("b", NEW), ("a", OLD)]
    parts = [disk.part(n.input, n.within) for n in nodes(skipping.steps[0].rel) if isinstance(n, Near)]  # type: ignore[arg-type]
    assert parts == [10, 0]


def test_where_it_does_not_pay_nothing_is_changed() -> None:
    few, disk = rising(1_000, 10)
    assert with_skips(few, disk) is few
    spread, disk = rising(10_000, 10)
    for files in disk.files.values():
        files[1] = [(i, 0, 1) for i in range(0, 10_000, 100)]
    assert with_skips(spread, disk) is spread
