"""What an operator may do for the next delta: the action templates of DISS §4.3.3.

An operator is asked to emit its delta 𝒟 or its full result ℱ, and an action says which states it holds for that, what
it costs, and what it asks of its inputs. The paper's actions are these, R being a result, R⁺ that with the delta in:

    Materialize   no:    𝒟, ℱ = those of the input: it is not there
                  keep:  𝒟 = C_mat(R) + C_mat(ΔR) + 𝒟ᶜ          ℱ = 𝒟 + C_scan(R)
    Sort          drop:  𝒟 = C_sort(ΔR) + 𝒟ᶜ                    ℱ = C_sort(R⁺) + ℱᶜ
                  keep:  𝒟 = C_sort(ΔR) + 𝒟ᶜ                    ℱ = 𝒟 + C_merge(ΔR, R)
    Aggregate     drop:  𝒟 = ℱ = C_agg(D⁺) + ℱᶜ
                  keep:  𝒟 = C_agg(ΔD) + 𝒟ᶜ                     ℱ = 𝒟 + C_scan(R)
    Hash join     none:  ℱ = ℱˡ + ℱʳ + C_B(R⁺) + C_P(L⁺)        𝒟 = that, or L and R⁺ against tables of ΔR and ΔL
                  right: 𝒟 = ℱˡ + 𝒟ʳ + C_B(ΔR) + C_P(ΔL) + C_P(L)   ℱ = ℱˡ + 𝒟ʳ + C_I(ΔR) + C_P(L⁺)
                  left:  the mirror of it
                  both:  𝒟 = 𝒟ˡ + 𝒟ʳ + C_I(ΔL) + C_I(ΔR) + C_P(ΔL) + C_P(ΔR)

each table kept, or built at C_B of its side where no batch has built it. A side without a delta is asked for none:
with ΔR empty, *right* is 𝒟ˡ + C_P(ΔL). Whatever is kept takes the delta in, so that it serves the delta after this
one: rows that come by C_I, rows that leave by finding them among those with the same key (§5). An update is both.

Three things are more than the paper has. *Looking up* is a third demand ℳ(key, n): to give the rows that match n values
of a key. A hash table answers it; a join passes it on to the side that has the key and looks the other up, so that few
rows from far up in the tree reach the leaves without a full result between them, and a table serves them and its own
join. The choices of a join are then those of its two sides together. Where a delta is computed *by terms*, each of them
reads for itself what is not held, and none has a full result: so runs do it. An aggregate may have its state in files
too (*durable*), which is read whole. And 𝒟 of a join without tables may probe small tables of the deltas with the rows
of both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Protocol

from headrace.planner.demand import DELTA, FULL, NOTHING, Demand, Emits, Key, Lookup
from headrace.planner.operators import (
    Aggregate,
    Candidate,
    Forest,
    HashJoin,
    Materialize,
    Operator,
    Scan,
    Sort,
    terms_of,
)
from headrace.stats.estimate import Change


class Prices(Protocol):
    """Seconds for work on rows."""

    def scan(self, rows: float) -> float:
        """Reading rows of a base relation, or of a state in files."""

    def arrive(self, rows: float) -> float:
        """Reading rows of a delta."""

    def replay(self, rows: float) -> float:
        """Reading rows that are in memory."""

    def materialise(self, rows: float) -> float: ...

    def build(self, rows: float) -> float:
        """Making a hash table."""

    def insert(self, rows: float) -> float:
        """Putting rows into a table that is there."""

    def delete(self, rows: float, fanout: float) -> float:
        """Taking rows out of a table that has so many for a key."""

    def probe(self, rows: float) -> float:
        """Looking rows up in a table that is kept."""

    def meet(self, rows: float) -> float:
        """Taking rows past a small table that was made for them."""

    def sort(self, rows: float) -> float: ...

    def merge(self, delta: float, rows: float) -> float:
        """Merging sorted rows into others."""

    def aggregate(self, rows: float) -> float: ...

    def deliver(self, rows: float) -> float:
        """Handing rows to the operator above."""


@dataclass(frozen=True)
class Action:
    """One way to meet a demand: the states it holds, its own cost, and what it asks of each input."""

    holds: tuple[Candidate, ...]
    seconds: float
    asks: tuple[Demand, ...]

    @property
    def bytes(self) -> int:
        return sum(c.bytes for c in self.holds)


def actions(op: Operator, demand: Demand, prices: Prices, given: frozenset[str] | None = None) -> Iterator[Action]:
    """Every way to meet a demand. ``given`` fixes the states that are held: just those, whose making is over."""
    match op:
        case Forest(demands=demands):
            yield Action((), 0.0, demands)
        case Materialize():
            yield from _Materializing(op, demand, prices, given).actions()
        case HashJoin():
            yield from _hash_join(op, demand, prices)
        case _:
            # What cannot be looked up is read whole, against a table of the rows that ask.
            emits = Emits.FULL if demand.lookups else demand.emits
            extra = sum(_streamed(op, one, prices) for one in demand.lookups)
            if isinstance(op, Scan):
                scans = sum(one.scans for one in demand.lookups) + (demand.emits is Emits.FULL)
                extra += max(scans - 1, 0) * prices.scan(op.reads)
            for a in _emitting(op, emits, prices, given):
                yield Action(a.holds, a.seconds + extra, a.asks)


def upkeep(change: Change, fanout: float, prices: Prices) -> float:
    """Taking a delta into a hash table."""
    return prices.insert(change.came) + (prices.delete(change.left, fanout) if change.left else 0.0)


def _streamed(op: Operator, lookup: Lookup, prices: Prices) -> float:
    """All rows of a result against a table of the rows that ask, or several of them."""
    met = prices.meet(op.after) * max(lookup.scans, 1)
    return prices.build(lookup.rows) + met + prices.deliver(lookup.rows * op.fanout(lookup.key))


def _emitting(op: Operator, emits: Emits, prices: Prices, given: frozenset[str] | None) -> Iterator[Action]:
    match op:
        case Scan():
            full = emits is Emits.FULL
            read = prices.arrive(op.reads_delta) + (prices.scan(op.reads) if full else 0.0)
            yield Action((), read + prices.deliver(op.after if full else op.change.rows), ())
        case Sort(input=below, state=state):
            full = emits is Emits.FULL
            if given is None or state.name not in given:
                rows = below.after if full else below.change.rows
                yield Action((), prices.sort(rows), (FULL if full else DELTA,))
            if given is None or state.name in given:
                made = state.made(prices.sort(below.rows)) if given is None else 0.0
                seconds = made + prices.sort(below.change.rows)
                yield Action((state,), seconds + full * prices.merge(op.change.rows, op.rows), (DELTA,))
        case Aggregate(input=below, state=state):
            out = prices.deliver(op.after if emits is Emits.FULL else op.change.rows)
            idle = upkeep(op.change, 1.0, prices) if given is not None and state.name in given else 0.0
            yield Action((), prices.aggregate(below.after) + out + idle, (FULL,))
            if not op.incremental:
                return
            seconds = prices.aggregate(below.change.rows) + out
            if op.durable and (given is None or state.name not in given):
                yield Action((), seconds + prices.scan(op.rows), (DELTA,))
            if given is None or state.name in given:
                made = state.made(prices.build(op.rows)) if given is None else 0.0
                kept = seconds + made + prices.probe(op.change.rows) + upkeep(op.change, 1.0, prices)
                read = prices.replay(op.rows) if emits is Emits.FULL else 0.0
                yield Action((state,), kept + read, (DELTA,))


# Tables of one relation of which all subsets are tried. Tables of the same rows by other keys are of about the same
# size, so that of many the best n are those that save most.
_SUBSETS = 5


class _Materializing:
    """The actions of a Materialize: which of its states to hold, and who answers what it is asked."""

    def __init__(self, op: Materialize, demand: Demand, prices: Prices, given: frozenset[str] | None) -> None:
        self.op = op
        self.demand = demand
        self.prices = prices
        self.given = given
        self.tables = {t.key: t.candidate for t in op.tables}

    def actions(self) -> Iterator[Action]:
        for held in self._held():
            yield from self._action(held, from_memory=False)
            if self._replays and held:
                yield from self._action(held, from_memory=True)

    @property
    def _replays(self) -> bool:
        return self.op.replayed and self.demand.emits is Emits.FULL

    def _held(self) -> Iterable[tuple[Candidate, ...]]:
        if self.given is not None:
            return [tuple(c for c in self.op.candidates if c.name in self.given)]
        useful = [self.tables[one.key] for one in self.demand.lookups if one.key in self.tables]
        if self._replays:  # any of its states has the full result
            useful = list(self.tables.values())
        if self.op.as_rows is not None and (self.demand.lookups or self.demand.emits is Emits.FULL):
            useful.append(self.op.as_rows)
        if len(useful) > _SUBSETS:
            useful.sort(key=self._saving, reverse=True)
            return [tuple(useful[:n]) for n in range(len(useful) + 1)]
        return chain.from_iterable(combinations(useful, n) for n in range(len(useful) + 1))

    def _saving(self, state: Candidate) -> float:
        """What a table saves, where rows are read whole without it."""
        asked = (one for one in self.demand.lookups if self.tables.get(one.key) == state)
        read = sum(_streamed(self.op, one, self.prices) - self.prices.probe(one.rows) for one in asked)
        return read - self._keeping(state)

    def _action(self, held: tuple[Candidate, ...], *, from_memory: bool) -> Iterator[Action]:
        op, prices = self.op, self.prices
        seconds = sum(self._keeping(c) for c in held)
        passed: list[Lookup] = []
        for one in self.demand.lookups:
            if self.tables.get(one.key) in held:
                seconds += prices.probe(one.rows) + prices.deliver(one.rows * op.fanout(one.key))
            elif op.as_rows in held or from_memory:
                seconds += prices.replay(op.rows) + _streamed(op, one, prices)
            else:
                passed.append(one)
        emits = self.demand.emits
        if from_memory:
            seconds += prices.replay(op.rows)
            if op.change.left:  # rows that have left are found among those that are read
                seconds += prices.build(op.change.left) + prices.meet(op.rows)
        if from_memory or (held and emits is Emits.NOTHING):
            emits = Emits.DELTA
        yield Action(held, seconds, (Demand(emits, tuple(passed)),))

    def _keeping(self, state: Candidate) -> float:
        """Making a state where it is not there, and taking the delta into it."""
        op, prices = self.op, self.prices
        build, take = (prices.build, upkeep) if state != op.as_rows else (prices.materialise, _taken_in)
        made = state.made(build(op.rows)) if self.given is None else 0.0
        key = next((k for k, c in self.tables.items() if c == state), ())
        return made + (take(op.change, op.fanout(key), prices) if op.change else 0.0)


def _taken_in(change: Change, _fanout: float, prices: Prices) -> float:
    """Taking a delta into rows that have no order: what leaves is written down too."""
    return prices.materialise(change.rows)


_Way = tuple[float, tuple[Demand, Demand]]


def _hash_join(op: HashJoin, demand: Demand, prices: Prices) -> Iterator[Action]:
    if demand.emits is Emits.FULL or (demand.lookups and not op.by_terms):  # what is looked up, from the full result
        extra = sum(_streamed(op, one, prices) for one in demand.lookups)
        yield from (Action((), s + extra, asks) for s, asks in _in_full(op, prices))
    if demand.emits is not Emits.FULL:
        yield from (Action((), s, asks) for s, asks in _in_parts(op, demand, prices))
        if demand.emits is Emits.DELTA and not demand.lookups and not op.by_terms:
            again = prices.build(op.right.after) + prices.meet(op.left.after) + prices.deliver(op.change.rows)
            yield Action((), again, (FULL, FULL))


def _in_full(op: HashJoin, prices: Prices) -> Iterator[_Way]:
    """The ways to emit the full result."""
    left, right, out = op.left, op.right, prices.deliver(op.after)
    yield prices.build(right.after) + prices.meet(left.after) + out, (FULL, FULL)
    if op.by_terms:
        return
    yield out, (FULL, DELTA | Demand(Emits.NOTHING, (Lookup(op.right_key, left.after),)))
    yield out, (DELTA | Demand(Emits.NOTHING, (Lookup(op.left_key, right.after),)), FULL)


def _in_parts(op: HashJoin, demand: Demand, prices: Prices) -> Iterator[_Way]:
    """The ways to emit the delta and the rows that match some keys. A delta, or what a key has given on one side, meets
    the other side: all that meet a side either look it up or read it whole."""
    seconds, left, right = 0.0, NOTHING, NOTHING
    meets_left = meets_right = 0.0
    scans_left = scans_right = 0
    if demand.emits is Emits.DELTA:
        seconds, left, right = prices.deliver(op.change.rows), DELTA, DELTA
        meets_left, meets_right = op.right.change.rows, op.left.change.rows
        if op.by_terms:
            scans_left, scans_right = terms_of(op.right), terms_of(op.left)
    for one in demand.lookups:
        on_left, key = _entrance(op, one)
        asked = Demand(Emits.NOTHING, (Lookup(key, one.rows, one.scans),))
        near, far, far_key = (op.left, op.right, op.right_key) if on_left else (op.right, op.left, op.left_key)
        matches = one.rows * near.fanout(key)
        seconds += prices.deliver(matches * far.fanout(far_key))
        if on_left:
            left, meets_right, scans_right = left | asked, meets_right + matches, scans_right + one.scans
        else:
            right, meets_left, scans_left = right | asked, meets_left + matches, scans_left + one.scans
    of_left = list(_meeting(op, meets_left, scans_left, op.left, op.left_key, prices))
    of_right = list(_meeting(op, meets_right, scans_right, op.right, op.right_key, prices))
    for (a, on_the_left), (b, on_the_right) in product(of_left, of_right):
        yield seconds + a + b, (left | on_the_left, right | on_the_right)


def _entrance(op: HashJoin, lookup: Lookup) -> tuple[bool, Key]:
    """The side on which rows with a key are looked up first, the left or not: the one with more columns of the key."""
    left, right = (tuple(c for c in lookup.key if c in side.distinct) for side in (op.left, op.right))
    return (True, left) if len(left) >= len(right) else (False, right)


def _meeting(
    op: HashJoin, rows: float, scans: int, other: Operator, key: Key, prices: Prices
) -> Iterator[tuple[float, Demand]]:
    """The ways in which rows of one side meet the other: by looking it up, or by reading it whole."""
    if not rows:
        yield 0.0, NOTHING
        return
    yield 0.0, Demand(Emits.NOTHING, (Lookup(key, rows, scans),))
    if op.by_terms:
        return
    smaller, larger = sorted((rows, other.after))
    yield prices.build(smaller) + prices.meet(larger), FULL
