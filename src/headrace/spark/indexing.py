"""Keeping a view's indexes in step with a run: built as of the version it begins from, and shown what it adds."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.ir.expr import Attr
from headrace.ir.plan import Keep, Plan, Remember
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Delta, Load, Ref, Source
from headrace.ir.time import NEW, OLD
from headrace.ir.walk import nodes
from headrace.spark.catalyst import Collected
from headrace.spark.computing import Computing
from headrace.spark.frames import Frame
from headrace.spark.inputs import Inputs
from headrace.spark.memory import Memory
from headrace.spark.to_spark import Compiler


class Indexing:
    """The indexes of one run."""

    def __init__(self, computing: Computing, inputs: Inputs, compiler: Compiler, memory: Memory) -> None:
        self.computing = computing
        self.catalyst = computing.catalyst
        self.inputs = inputs
        self.memory = memory
        self._compiler = compiler

    def prepare(self, plan: Plan) -> None:
        """Build the indexes that a plan needs and that are not there, and let all that are there see what is new."""
        self._drop_unremembered(plan)
        self.build([i for step in plan.steps for i in indexes(step.rel).values()])
        moved = [h for h in self.memory.held.values() if (s := h.index.source) and self.inputs.between(s.name).rows]
        if moved:
            with self.computing.measured("index new rows"):
                deltas = [Delta(h.index.source, OLD, NEW) for h in moved if h.index.source]
                rows = self.computing.rows["index new rows"] = self.inputs.rows_of(deltas)
                self.computing.work(rows)
                frames = [self._compiler.compile(h.index.over(d)) for h, d in zip(moved, deltas, strict=True)]
                self.memory.pend(self.catalyst, zip(moved, frames, strict=True))

    def _drop_unremembered(self, plan: Plan) -> None:
        """Drop the joins of which something moves and that a plan does not bring up to date."""
        remembered = {s.index.name for s in plan.steps if isinstance(s, Remember)}
        states = {s.state for s in plan.steps if isinstance(s, Keep)}
        for name, held in list(self.memory.held.items()):
            if held.index.members and name not in remembered:
                sources = {n.name for n in nodes(held.index.rel) if isinstance(n, Source)}
                kept = {n.state for n in held.index.leaves if isinstance(n, Load)}
                if kept & states or any(self.inputs.between(s).rows for s in sources):
                    self.memory.drop(name)

    def build(self, wanted: Iterable[Index]) -> None:
        """Build those of some indexes that are not there."""
        for index in wanted:
            if index.name not in self.memory.held:
                step = f"index {index}"
                with self.computing.measured(step):
                    rows = self.inputs.rows_of(index.leaves)
                    self.computing.work(rows)
                    self.memory.build(index, self._compiler.compile(index.rel).rows(), rows)
                    self.computing.rows[step] = self.memory.held[index.name].counts[0]

    def kept(self, step: Keep, attrs: tuple[Attr, ...], rows: Collected | None) -> None:
        """Let the indexes of a state see the Delta just kept; its rows themselves where they and the indexes are
        here."""
        leaves = {n: h.index.leaf for n, h in self.memory.held.items()}
        ours = [h for n, h in self.memory.held.items() if getattr(leaves[n], "state", None) == step.state]
        if rows is not None and not self.memory.apart:
            for held in [h for h in ours if h.index.rel == h.index.leaf]:
                self.memory.pend_rows(held, rows, attrs)
            ours = [h for h in ours if h.index.rel != h.index.leaf]
        refs = [Ref(step.name, h.index.leaves[0].attrs) for h in ours]
        frames = [self._compiler.compile(h.index.over(r)) for h, r in zip(ours, refs, strict=True)]
        self.memory.pend(self.catalyst, zip(ours, frames, strict=True))

    def joined(self, index: Index, delta: Frame) -> None:
        """Let the index of a join, where it is there, see its Delta."""
        held = self.memory.held.get(index.name)
        if held is not None:
            self.memory.pend(self.catalyst, [(held, delta)])
