"""Estimates against the truth: uniform data, counted in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules.examples import J, K, S, T, X, pair_join

from headrace.ir.expr import Equal, Expr, ref
from headrace.ir.rel import Aggregate, Delta, Filter, Join, Keys, Node, PairJoin, Restrict, Snapshot, Source
from headrace.ir.time import NEW, OLD
from headrace.stats.cardinality import Estimate, estimate_tree
from headrace.stats.estimate import Change
from headrace.stats.known import Statistics
from headrace.stats.table import ColumnFacts, Moving, TableFacts

Rows = list[tuple[int, int]]
SEED = st.integers(0, 2**32)


@dataclass
class Table:
    """Rows of two columns before and after a run, in place by number: a row that is updated keeps its number."""

    old: dict[int, tuple[int, int]] = field(default_factory=dict)
    new: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def change(self) -> Change:
        both = self.old.keys() & self.new.keys()
        updates = sum(self.old[i] != self.new[i] for i in both)
        return Change(len(self.new) - len(both), updates, len(self.old) - len(both))

    def facts(self, names: str) -> Moving:
        rows = list(self.new.values())
        columns = {}
        for place, name in enumerate(names):
            values = [r[place] for r in rows]
            columns[name] = ColumnFacts(len(set(values)), min(values, default=0), max(values, default=0))
        return Moving(TableFacts(len(rows), 8 * len(rows), columns), self.change)


def drawn(random: random.Random, rows: int, keys: int, values: int, changed: float) -> Table:
    """Random rows, of which a share comes, is updated and leaves in the run."""

    def row() -> tuple[int, int]:
        return random.randrange(keys), random.randrange(values)

    old = {i: row() for i in range(rows)}
    new = dict(old)
    for i in range(rows):
        if random.random() < changed:
            match random.randrange(3):
                case 0:
                    del new[i]
                case 1:
                    new[i] = (old[i][0], random.randrange(values))
                case _:
                    new[rows + i] = row()
    return Table(old, new)


def known(s: Table, t: Table) -> Statistics:
    return Statistics({"s": s.facts("kx"), "t": t.facts("jy")})


def expected(node: Node, about: Statistics) -> Estimate:
    return estimate_tree(node, about, {}, {})


def near(guess: float, truth: float, factor: float, few: float = 20) -> bool:
    """Within a factor, where there is enough of it to tell."""
    return (truth + few) / factor <= guess + few <= (truth + few) * factor


def groups(rows: Iterable[tuple[int, ...]]) -> Counter[tuple[int, ...]]:
    return Counter(rows)


@settings(max_examples=60, deadline=None)
@given(SEED, st.integers(50, 2_000), st.integers(1, 2_000), st.integers(1, 60))
def test_groups(seed: int, rows: int, keys: int, values: int) -> None:
    table = drawn(random.Random(seed), rows, keys, values, 0.0)
    about = known(table, Table())
    assert near(expected(Aggregate(S, (K,), ()), about).rows, len(groups((k,) for k, _ in table.new.values())), 1.01)
    assert near(expected(Aggregate(S, (K, X), ()), about).rows, len(set(table.new.values())), 1.2)


@settings(max_examples=60, deadline=None)
@given(SEED, st.integers(200, 3_000), st.integers(1, 3_000), st.floats(0.0, 0.5))
def test_groups_that_a_change_touches(seed: int, rows: int, keys: int, changed: float) -> None:
    table = drawn(random.Random(seed), rows, keys, 50, changed)
    old, new = (groups((k,) for k, _ in t.values()) for t in (table.old, table.new))
    touched = {table.old.get(i, r)[0] for i, r in table.new.items() if table.old.get(i) != r}
    touched |= {r[0] for i, r in table.old.items() if table.new.get(i) != r}
    made = expected(Aggregate(S, (K,), ()), known(table, Table())).change
    assert near(made.inserts, len(new.keys() - old.keys()), 1.5)
    assert near(made.deletes, len(old.keys() - new.keys()), 1.5)
    assert near(made.inserts + made.updates + made.deletes, len(touched), 1.5)


@settings(max_examples=60, deadline=None)
@given(SEED, st.integers(300, 1_500), st.integers(300, 1_500), st.integers(5, 600), st.floats(0.0, 0.3))
def test_inner_join(seed: int, left: int, right: int, keys: int, changed: float) -> None:
    rng = random.Random(seed)
    s, t = drawn(rng, left, keys, 50, changed), drawn(rng, right, keys, 50, changed)
    join, about = Join((S, T), (Equal(ref(K), ref(J)),), ()), known(s, t)

    def pairs(a: Iterable[tuple[int, int]], b: Iterable[tuple[int, int]]) -> int:
        ours, theirs = Counter(k for k, _ in a), Counter(k for k, _ in b)
        return sum(n * theirs[k] for k, n in ours.items())

    made = expected(join, about)
    assert near(made.rows, pairs(s.new.values(), t.new.values()), 1.6)
    came = [r for i, r in s.new.items() if i not in s.old]
    term = Join((Delta(S, OLD, NEW), Snapshot(T, OLD)), join.equals, ())
    change = expected(term, about).change
    assert near(change.inserts, pairs(came, t.old.values()), 1.6, few=40)
    fresh = pairs(s.new.values(), t.new.values()) - pairs(
        [r for i, r in s.new.items() if i in s.old], [r for i, r in t.new.items() if i in t.old]
    )
    assert near(made.change.inserts, fresh, 1.6, few=40)


@settings(max_examples=40, deadline=None)
@given(SEED, st.integers(200, 1_500), st.integers(20, 1_500), st.sampled_from(PairJoin.KINDS), st.floats(0.0, 0.3))
def test_joins_that_keep_rows_without_a_match(seed: int, left: int, right: int, kind: str, changed: float) -> None:
    """A table whose key the other refers to, as tables are joined in practice."""
    rng = random.Random(seed)
    s, t = drawn(rng, left, 2 * left, 50, changed), drawn(rng, right, 300, 50, changed)
    own = rng.sample(range(2 * left), 2 * left)  # a key for every row
    for table in (s.old, s.new):
        table.update({i: (own[i], x) for i, (_, x) in table.items()})
    if kind == "left single":
        t.old, t.new = ({i: (i, y) for i, (_, y) in table.items()} for table in (t.old, t.new))

    def result(a: Iterable[tuple[int, int]], b: Iterable[tuple[int, int]]) -> int:
        return sum(_paired(kind, Counter(k for k, _ in a), Counter(k for k, _ in b)))

    made = expected(pair_join(kind), known(s, t))
    assert near(made.rows, result(s.new.values(), t.new.values()), 1.7, few=40)


def _paired(kind: str, ours: Counter[int], theirs: Counter[int]) -> Iterator[int]:
    for k, n in ours.items():
        match kind:
            case "left semi":
                yield n * (k in theirs)
            case "left anti":
                yield n * (k not in theirs)
            case "existence" | "left single":
                yield n
            case _:
                yield n * max(theirs[k], 1)
    if kind == "full outer":
        yield sum(n for k, n in theirs.items() if k not in ours)


@settings(max_examples=40, deadline=None)
@given(SEED, st.integers(500, 2_000), st.integers(50, 500), st.floats(0.01, 0.3))
def test_rows_of_touched_keys(seed: int, rows: int, keys: int, changed: float) -> None:
    table = drawn(random.Random(seed), rows, keys, 50, changed)
    touched = {table.old.get(i, r)[0] for i, r in table.new.items() if table.old.get(i) != r}
    touched |= {r[0] for i, r in table.old.items() if table.new.get(i) != r}
    wanted = Keys((Delta(S, OLD, NEW),), ((K,),))
    about = known(table, Table())
    chance = 3 * len(touched) ** 0.5  # keys that there may be more or fewer of by chance
    assert near(expected(wanted, about).rows, len(touched), 1.5, chance)
    restricted = expected(Restrict(Snapshot(S, OLD), (K,), wanted), about)
    few = (3 + chance) * max(rows / keys, 1.0)
    assert near(restricted.rows, sum(r[0] in touched for r in table.old.values()), 1.5, few)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("(k#k = 7)", lambda k, x: k == 7),
        ("(k#k < 20)", lambda k, x: k < 20),
        ("(20 > k#k)", lambda k, x: k < 20),
        ("((k#k >= 20) AND (k#k <= 29))", lambda k, x: 20 <= k <= 29),
        ("k#k IN (1,2,3,4)", lambda k, x: k in (1, 2, 3, 4)),
        ("NOT k#k IN (1,2,3,4)", lambda k, x: k not in (1, 2, 3, 4)),
        ("((k#k = 7) OR (k#k = 8))", lambda k, x: k in (7, 8)),
        ("NOT (k#k = 7)", lambda k, x: k != 7),
        ("(k#k = x#x)", lambda k, x: k == x),
        ("isnotnull(k#k)", lambda k, x: True),
        ("((k#k < 50) OR isnull(x#x))", lambda k, x: k < 50),
    ],
)
def test_predicates(text: str, truth: object) -> None:
    table = drawn(random.Random(3), 20_000, 100, 100, 0.0)
    refs = frozenset(name for name in "kx" if f"#{name}" in text)
    node = Filter(S, (Expr(text, refs, "boolean"),))
    count = sum(truth(*r) for r in table.new.values())  # type: ignore[operator]
    assert near(expected(node, known(table, Table())).rows, count, 1.15)


def test_columns_that_are_functions_of_a_key_make_no_more_groups() -> None:
    """orders by o and customers by c, joined: by o, the customer and the customer's name there are as many groups as
    by o, however many names there are."""
    orders = Source("orders", (K, X), ("o", "c"))
    customers = Source("customers", (J, T.attrs[1]), ("c", "name"))
    about = Statistics(
        {
            "orders": Moving(TableFacts(10_000, 0, {"o": ColumnFacts(10_000), "c": ColumnFacts(900)})),
            "customers": Moving(TableFacts(1_000, 0, {"c": ColumnFacts(1_000), "name": ColumnFacts(990)})),
        }
    )
    join = Join((orders, customers), (Equal(ref(X), ref(J)),), ())
    by = Aggregate(join, (K, J, T.attrs[1]), ())
    assert expected(by, about).rows == pytest.approx(10_000, rel=0.01)
    assert expected(Aggregate(join, (J, T.attrs[1]), ()), about).rows == pytest.approx(900, rel=0.01)


def test_a_key_of_two_columns() -> None:
    """lines refer to stock by part and place: each finds one row, though parts and places are many more together."""
    lines = Source("lines", (K, X), ("part", "place"))
    stock = Source("stock", (J, T.attrs[1]), ("part", "place"))
    columns = {"part": ColumnFacts(200_000), "place": ColumnFacts(10_000)}
    moving = {
        "lines": Moving(TableFacts(6_000_000, 0, columns), Change(600.0)),
        "stock": Moving(TableFacts(800_000, 0, columns)),
    }
    on = (Equal(ref(K), ref(J)), Equal(ref(X), ref(T.attrs[1])))
    about = Statistics(moving)
    assert expected(Join((lines, stock), on, ()), about).rows == pytest.approx(6_000_000, rel=0.01)
    few = Join((Delta(lines, OLD, NEW), Snapshot(stock, OLD)), on, ())
    assert expected(few, about).rows == pytest.approx(600, rel=0.01)
