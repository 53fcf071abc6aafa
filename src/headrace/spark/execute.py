"""Running a plan: its steps in order, each one job or two, and what they measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from headrace.errors import InternalError
from headrace.faults import effect
from headrace.ir.empty import without_empty, without_fallbacks
from headrace.ir.plan import Keep, Pin, Plan, Publish, Remember, Step
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Keys, Measured, Node, Partials, Ref, Rel
from headrace.ir.time import Reached
from headrace.ir.walk import leaves, nodes, swap
from headrace.spark.catalyst import Catalyst
from headrace.spark.computing import Computed, Computing
from headrace.spark.delta_log import File, Table
from headrace.spark.frames import Frame
from headrace.spark.indexing import Indexing
from headrace.spark.inputs import Inputs
from headrace.spark.measures import Watch
from headrace.spark.memory import Held, Memory
from headrace.spark.publishing import Publishing
from headrace.spark.sources.source import SourceReader
from headrace.spark.state import State, file_frame
from headrace.spark.to_spark import Compiler


class Run:
    """One run of a view between two versions."""

    def __init__(
        self,
        catalyst: Catalyst,
        sources: Mapping[str, SourceReader],
        states: Mapping[str, State],
        result: Table,
        since: Reached,
        until: Reached,
        *,
        feed: bool = False,
        watch: Watch | None = None,
        memory: Memory | None = None,
        few: int | None = None,
    ) -> None:
        self.catalyst = catalyst
        self.memory = memory
        self.states = states
        self.result = result
        self.result_files: list[Path] = []
        self.overwrite = False
        self.removed: list[File] = []
        self.changes: Path | None = None
        self._frames: dict[str, Computed] = {}
        catalyst.restart()
        self._computing = c = Computing(catalyst, memory.many if memory is not None else set(), watch, few)
        self._inputs = i = Inputs(c, sources, states, since, until)
        self._compiler = Compiler(catalyst, i.snapshot, i.delta, i.load, i.near, self._step, self._index)
        self._indexing = Indexing(c, i, self._compiler, memory) if memory is not None else None
        self._publishing = Publishing(c, self._compiler, result, feed)
        self.measures = c.measures

    def run(self, plan: Plan) -> None:
        self._computing.loading = plan.situation is None
        rows = self._computing.rows
        try:
            if self._indexing is not None:
                self._indexing.prepare(plan)
            for step in plan.steps:
                with self._computing.measured(step.name):
                    left = self._left(step)
                    if left is not None:
                        self._do(left)
                    elif isinstance(step, Publish):
                        rows[step.name], self.measures.how = 0, "nothing changed"
                    else:
                        attrs = self.states[step.state].attrs if isinstance(step, Keep) else step.rel.attrs
                        rows[step.name], self._frames[step.name] = 0, self._computing.none(attrs)
                for node in nodes(step.rel):
                    if isinstance(node, Measured):
                        self.measures.step_of[node.tvr] = step.name
        finally:
            self._computing.release()

    def build(self, wanted: Iterable[Index]) -> None:
        """Build those of some indexes that are not there."""
        assert self._indexing is not None
        self._indexing.build(wanted)

    def fold(self, states: Iterable[str]) -> None:
        """Fold the Segments of states into one, rows that cancel gone."""
        for name in states:
            state, step = self.states[name], f"fold {name}"
            with self._computing.measured(step):
                self._computing.work(state.table.rows())
                frame = state.read(self.catalyst, "fold").consolidate().with_weight().select(state.attrs)
                with effect("state compacted"):
                    files, self._computing.rows[step] = self._computing.write(state.table, frame, state.table.schema)
                    state.table.commit(files, overwrite=True)
            self.measures.folded[name] = self.measures.seconds[step]

    # --- steps

    def _left(self, step: Step) -> Step | None:
        """What is left of a step once rows are known that earlier ones did not find; None where it is nothing. A small
        step is done as it is, for its plan is known; but a fallback that is not needed is never computed."""
        base = (isinstance(step, Publish) and step.replace) or (isinstance(step, Keep) and step.base)
        if self._computing.loading or base:
            return step
        rows = self._computing.rows
        rel, none = without_empty(step.rel, lambda leaf: isinstance(leaf, Ref) and not rows[leaf.step])
        if rel is not None and rel is not step.rel and self._computing.small(self._reads(step)):
            rel, none = without_fallbacks(step.rel, lambda ref: not rows[ref.step]), frozenset[int]()
        if rel is step.rel:
            return step
        self.measures.rows |= dict.fromkeys(none, 0)
        return None if rel is None else replace(step, rel=rel)

    def _reads(self, step: Step) -> int:
        """The rows of all leaves of a step, known before it is run."""
        total = 0
        if isinstance(step, Publish) and not step.replace and not step.growing:
            total += self.result.rows()
        return total + self._inputs.rows_of(leaves(step.rel))

    def _do(self, step: Step) -> None:
        c = self._computing
        self._work(step.rel, self._reads(step))
        if not c.tiny and not c.loading:
            step = self._shared_first(step)
        match step:
            case Pin(name=name, rel=rel):
                self._frames[name] = c.hold(c.counted(self._compiler.compile(rel)))
                c.rows[name] = self._frames[name].seen["out"][0]
            case Remember(name=name, index=index, rel=rel):
                self._frames[name] = c.hold(c.counted(self._compiler.compile(rel)))
                c.rows[name] = self._frames[name].seen["out"][0]
                if self._indexing is not None:
                    self._indexing.joined(index, c.leaf(self._frames[name], name))
            case Keep():
                self._keep(step)
            case Publish():
                self._publish(step)

    def _work(self, rel: Rel, rows: int) -> None:
        apart = self.memory is not None and self.memory.apart and bool(indexes(rel))
        self._computing.work(rows, in_tasks=apart)

    def _shared_first(self, step: Step) -> Step:
        """A large step in which groups and keys that it uses twice are held: Spark would compute them, and read the
        delta, for each use. What is left of the step is often small then."""
        c = self._computing
        while (shared := _used_twice(step.rel)) is not None:
            name = f"{step.name}.{len(self._frames)}"
            self._work(shared, self._inputs.rows_of(leaves(shared)))
            self._frames[name] = c.hold(c.counted(self._compiler.compile(shared)), name)
            c.rows[name] = self._frames[name].seen["out"][0]
            step = replace(step, rel=swap(step.rel, shared, Ref(name, shared.attrs)))
            self._work(step.rel, self._reads(step))
        return step

    def _keep(self, step: Keep) -> None:
        c, state = self._computing, self.states[step.state]
        frame = self._compiler.compile(step.rel)
        distinct = state.unique and frame.weight is None
        frame = (frame.with_weight() if distinct else frame.consolidate().with_weight()).select(state.attrs)
        with effect("state written"):
            files, c.rows[step.name] = c.write(state.table, frame, state.table.schema)
        if files or step.base:
            with effect("state committed"):
                state.table.commit(files, overwrite=step.base)
        if not step.base:
            here = c.written is not None
            segment = replace(frame, unit=state.unique, consolidated=True) if here else self._segment(state, files)
            self._frames[step.name] = Computed(segment, c.written)
            if self._indexing is not None:
                self._indexing.kept(step, state.attrs, c.written)

    def _segment(self, state: State, files: list[Path]) -> Frame:
        """The Delta just kept, to be read by later steps."""
        paths, place = [f.absolute() for f in files], ("segment", state.name)
        return file_frame(self.catalyst, place, paths, state.table.schema, state.attrs, state.unique, True)

    def _publish(self, step: Publish) -> None:
        made = self._publishing
        made.publish(step)
        self.result_files, self.overwrite = made.files, made.overwrite
        self.removed, self.changes = made.removed, made.changes
        self._computing.rows[step.name] = self.measures.published

    # --- what steps refer to

    def _step(self, ref: Ref) -> Frame:
        if ref.step not in self._frames:
            raise InternalError("BAD_PLAN", f"step {ref.step} is used before it is computed")
        return self._computing.leaf(self._frames[ref.step], ref.step)

    def _index(self, index: Index) -> Held:
        held = None if self.memory is None else self.memory.get(index)
        if held is None:
            raise InternalError("BAD_PLAN", f"there is no {index.name} in memory")
        return held


def _used_twice(rel: Rel) -> Node | None:
    """The innermost groups or keys that a tree uses more than once."""
    uses = Counter(id(i) for n in nodes(rel) for i in n.inputs)
    return next((n for n in nodes(rel) if isinstance(n, Keys | Partials) and uses[id(n)] > 1), None)
