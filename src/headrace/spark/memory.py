"""Indexes of a view in memory: what there is, as of which run, and how much it takes.

An index is a cache of rows that are durable elsewhere. It is built from its relation at the version that a run
begins from; what the run adds is pending until its commit, and settled after it. Where anything goes wrong it is
dropped: that costs time, never rows. In a local session indexes are in the one process that there is, where tasks look
rows up; in a cluster they are in executors, in Segments, and rows are brought to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headrace.cost.model import index_bytes
from headrace.ir.expr import Attr
from headrace.ir.probe import Index
from headrace.spark.catalyst import Catalyst, Collected
from headrace.spark.finalizing import find_gone, when_gone
from headrace.spark.frames import Frame
from headrace.spark.jvm import give_executors, java_class, task_class
from headrace.stats.estimate import width_of

_MUCH = 64 << 20  # bytes for which to look for views that nobody has
_NUMBERS = count()
_TOO_LARGE = "Headrace: an index in memory is larger"


class MemoryFull(Exception):
    """An index is larger than what is left of the memory for indexes."""


class _Storage:
    """What Spark knows to be taken of its memory for storage."""

    def __init__(self, jvm: Any) -> None:
        self.bytes = 0
        self.java = java_class(jvm, "Storage").newInstance()

    def be(self, total: int) -> bool:
        """Let it be so many bytes; as many as before where Spark has no room for more, which is told."""
        more = total - self.bytes
        with suppress(Exception):  # the JVM may be gone
            if more < 0:
                self.bytes = total
                self.java.give(-more)
            elif more > 0:
                if not self.java.take(more):
                    return False
                self.bytes += more
        return True


class Budget:
    """Bytes that the indexes of all views of a warehouse may take together. What they take in this process is told to
    Spark as storage, so that its sorts and aggregates spill in time instead of asking the heap for what is not there;
    what executors hold it knows."""

    def __init__(self, spark: SparkSession, limit: int | None) -> None:
        self.jvm = jvm = cast(Any, spark._jvm)
        self.context = context = cast(Any, spark.sparkContext._jsc).sc()
        self.apart = not context.isLocal()  # in executors; tests have it so in a local session too
        self.eager = False  # build whatever could be used, at once
        self._taken: dict[int, int] = {}
        self._lock = Lock()
        self._by_executors = limit is None and self.apart
        self.limit = limit if limit is not None else 0 if self.apart else _heap(jvm) // 4
        self.look()
        self.storage = None
        if self.apart:
            if limit != 0 and task_class(jvm, "Segments") is not None:
                give_executors(jvm, context)
        elif self.limit:
            self.storage = _Storage(jvm)
            when_gone(self, self.storage.be, 0)

    @property
    def possible(self) -> bool:
        """Whether there is memory, and rows can be looked up in it."""
        return self.limit > 0 and task_class(self.jvm, "Segments" if self.apart else "Probe") is not None

    def look(self) -> None:
        """Where nobody has set a limit and indexes are in executors, which come and go, a quarter of what those that
        are there have for storage is the limit."""
        if self._by_executors and task_class(self.jvm, "Executors") is not None:
            self.limit = int(self.jvm.headrace.Executors.storage(False)) // 4

    def made(self, index: Index, limit: int) -> Any:
        """A new index in Java, without rows, that may take so many bytes."""
        size = (len(index.keys), len(index.rest))
        if self.apart:
            return self.jvm.headrace.Segments(*size, self.context.defaultParallelism(), limit)
        return self.jvm.headrace.Index(*size, limit)

    def take(self, holder: int, size: int) -> None:
        with self._lock:
            self._taken[holder] = size
            if self.storage is not None:
                self.storage.be(sum(self._taken.values()))

    def expect(self, more: int) -> None:
        """Let Spark make room for what is about to be taken."""
        if not self._expected(more) and more >= _MUCH:
            find_gone()  # views that nobody has any more hold theirs until they are found
            self._expected(more)

    def _expected(self, more: int) -> bool:
        with self._lock:
            return self.storage is None or self.storage.be(sum(self._taken.values()) + more)

    @property
    def free(self) -> int:
        with self._lock:
            return max(self.limit - sum(self._taken.values()), 0)


@dataclass
class Held:
    """One index that is there, and its Java twin; ``apart`` says that it is in executors, ``weighted`` that what is
    pending has weights."""

    index: Index
    java: Any
    apart: bool = False
    weighted: bool = False

    @property
    def counts(self) -> tuple[int, int]:
        """Its rows and its different keys."""
        return int(self.java.records()), int(self.java.distinct())

    @property
    def bytes(self) -> int:
        return int(self.java.bytes())


class Memory:
    """The indexes of one view. All are as of the same run of it, and take at most ``limit`` bytes."""

    def __init__(self, budget: Budget, limit: int | None = None) -> None:
        self.budget = budget
        self.own = limit  # what its goal lets it take; None for all there is
        self.limit = self.most  # what it may take now, of what all views share
        self.held: dict[str, Held] = {}
        self.number = next(_NUMBERS)  # of those that take part in the budget; an id may come again
        when_gone(self, _release, budget, self.number, self.held)
        self.run: object = None
        self.many: set[str] = set()  # steps that gave more rows than the driver takes
        self.too_large: dict[str, int] = {}  # bytes that were free when it was found to be so
        self.refused: set[str] = set()  # what this run has found to be so: it is not tried again in it
        self.wanted: set[str] = set()  # what an earlier run could have used

    @property
    def most(self) -> int:
        """What it could take if no other view took any."""
        return self.budget.limit if self.own is None else min(self.own, self.budget.limit)

    @property
    def possible(self) -> bool:
        """Whether rows can be looked up at all."""
        return self.most > 0 and self.budget.possible

    @property
    def apart(self) -> bool:
        """Whether rows are looked up in executors."""
        return self.budget.apart

    def size(self, index: Index, rows: float) -> int | None:
        """The bytes that an index takes, or would take with so many rows; None for one that was tried and found too
        large."""
        if index.name in self.held:
            return self.held[index.name].bytes
        if index.name in self.refused:
            return None
        if index.name in self.too_large and self.free <= 1.5 * self.too_large[index.name]:
            return None
        return int(index_bytes(rows, sum(width_of(a.type) for a in index.rel.attrs)))

    @property
    def room(self) -> int:
        """What the indexes of this view may take: what they have, and what is free."""
        return self.free + self._taken

    @property
    def free(self) -> int:
        """What further ones may take."""
        return max(min(self.budget.free, self.limit - self._taken), 0)

    @property
    def _taken(self) -> int:
        return sum(held.bytes for held in list(self.held.values()))

    def bytes(self) -> dict[str, int]:
        """The memory that each index takes, by what it holds; two that differ in their filters alone are one here."""
        found: dict[str, int] = {}
        for held in list(self.held.values()):  # another thread may be refreshing
            found[str(held.index)] = found.get(str(held.index), 0) + held.bytes
        return found

    def get(self, index: Index) -> Held | None:
        """One that is there, to be used in a run."""
        return self.held.get(index.name)

    def begin(self, run: object) -> None:
        """Begin from the version that a run of the view has reached: what is as of another one is of no use, nor is
        what a failed run left pending, nor that of which executors have lost a part."""
        self.budget.look()
        self.forget()
        self.refused.clear()
        for name in [n for n, held in self.held.items() if held.apart and not held.java.there()]:
            self.drop(name)
        if run != self.run:
            self.clear()
            self.run = run

    def build(self, index: Index, frame: Frame, rows: int) -> None:
        """Make an index from the plain rows of a frame, which is read from so many."""
        free = self.free
        java = self.budget.made(index, free)
        held = Held(index, java, self.apart)
        self.budget.expect(min(free, self.size(index, rows) or 0))
        try:
            frame.catalyst.fill([(_columns(held, frame), java, False)], pends=False, local=not self.apart)
        except Py4JError as problem:
            java.release()
            if _TOO_LARGE not in str(problem):
                raise
            self.too_large[index.name] = free
            self.refused.add(index.name)
            raise MemoryFull(str(index)) from problem
        else:
            self.held[index.name] = held
        finally:
            self._account()

    def pend(self, catalyst: Catalyst, frames: Iterable[tuple[Held, Frame]]) -> None:
        """Take in what a run adds to indexes, visible to those who ask for the new version."""
        filled, all_ = [], list(frames)
        for held, frame in all_:
            self._begin(held, len(all_))
            held.weighted = frame.weight is not None
            filled.append((_columns(held, frame), held.java, held.weighted))
        if filled:
            with self._within([held for held, _ in all_]):
                catalyst.fill(filled, pends=True, local=not self.apart)

    def pend_rows(self, held: Held, rows: Collected, attrs: Sequence[Attr]) -> None:
        """The same of rows that are in the driver, with columns ``attrs`` and the weight behind them."""
        self._begin(held, 1)
        held.weighted = True
        places = [attrs.index(a) for a in (*held.index.keys, *held.index.rest)]
        with self._within([held]):
            rows.fill(held.java, [*places, len(attrs)], weighted=True, pends=True)

    def _begin(self, held: Held, among: int) -> None:
        """Let an index take what a run adds, of what is free its part among so many."""
        held.java.begin(held.bytes + self.free // among)

    @contextmanager
    def _within(self, filled: list[Held]) -> Iterator[None]:
        """Indexes that grow beyond what they may take are dropped, and the run must do without them."""
        try:
            yield
        except Py4JError as problem:
            if _TOO_LARGE not in str(problem):
                raise
            for held in [h for h in filled if h.java.full()] or filled:
                self.too_large[held.index.name] = held.bytes
                self.refused.add(held.index.name)
                self.drop(held.index.name)
            raise MemoryFull("what is new") from problem

    def settle(self, run: object) -> None:
        """After the commit of a run: what was pending belongs to the indexes."""
        self.run = run
        for name, held in list(self.held.items()):
            held.weighted = False
            if not held.java.settle():
                self.drop(name)
        while self._taken > self.limit:  # packing has its own mind, and the limit may have come down
            self.drop(max(self.held, key=lambda name: self.held[name].bytes))
        self._account()

    def forget(self) -> None:
        """After a failure: what was pending is gone."""
        for held in self.held.values():
            held.java.forget()
            held.weighted = False

    def drop(self, name: str) -> None:
        self.held.pop(name).java.release()
        self._account()

    def clear(self) -> None:
        for name in list(self.held):
            self.drop(name)

    def _account(self) -> None:
        self.budget.take(self.number, sum(self.bytes().values()))


def _heap(jvm: Any) -> int:
    return int(jvm.java.lang.Runtime.getRuntime().maxMemory())


def _columns(held: Held, frame: Frame) -> Any:
    c = frame.catalyst
    columns = [c.attr(a) for a in (*held.index.keys, *held.index.rest)]
    return c.project(columns if frame.weight is None else [*columns, c.attr(frame.weight)], frame.plan)


def _release(budget: Budget, holder: int, held: dict[str, Held]) -> None:
    """A view that nobody has any more needs no memory."""
    with suppress(Exception):  # the JVM may be gone
        for one in held.values():
            one.java.release()
    budget.take(holder, 0)
