"""Running a plan: its steps in order, each one job or two, and what they measured."""

from __future__ import annotations

import re
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headrace.errors import InternalError
from headrace.faults import effect
from headrace.ir.empty import without_empty, without_fallbacks
from headrace.ir.expr import Attr
from headrace.ir.near import Near
from headrace.ir.plan import Keep, Pin, Plan, Publish, Remember, Step
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Delta, Load, Measured, Ref, Rel, Snapshot, Source
from headrace.ir.time import NEW, OLD, Reached, Version
from headrace.ir.walk import leaves, nodes
from headrace.spark.catalyst import Catalyst, Collected
from headrace.spark.delta_log import File, Table, rows_of
from headrace.spark.file_stats import near as near_files
from headrace.spark.file_stats import rows_in
from headrace.spark.frames import Frame
from headrace.spark.memory import Held, Memory
from headrace.spark.sources.source import CHANGE_TYPE, Scan, SourceReader
from headrace.spark.state import State, file_frame
from headrace.spark.to_spark import Compiler

# Below this many rows a result goes through the driver: one small file, written without a Spark job. A step that
# reads no more works in a single partition, for starting a task takes longer than its work.
SMALL = 150_000
MIDDLE = 5_000_000
# Above this share of rows that leave, a source's snapshot is consolidated before it is joined: a row that was
# updated is there three times, and through ten joins the copies multiply.
CANCELLED = 0.02
# Up to this many rows of a result come to the driver at once.
COLLECTED = 250_000
_MANY_FILES = 12  # of a small result: appended to until then, and written anew as one


@dataclass
class Measures:
    """What a run measured: rows by Tvr, seconds by step, and the steps that each Tvr was part of; how often each state
    was scanned, and the seconds in which some were folded."""

    rows: dict[int, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    step_of: dict[int, str] = field(default_factory=dict)
    published: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    rows_read: int = 0
    how: str = ""
    files_skipped: int = 0
    scans: dict[str, int] = field(default_factory=dict)
    folded: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Computed:
    """What a step has computed: a frame, its rows where they are in the driver, and what was measured on the way."""

    frame: Frame
    rows: Collected | None
    seen: Mapping[str, list[int]] = field(default_factory=dict)


class Watch(Protocol):
    """Who is told of each step before and after it is done. A step that folds a state is in no plan."""

    def began(self, step: str) -> None: ...

    def done(self, step: str, rows: int, seconds: float) -> None: ...


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
    ) -> None:
        self.catalyst = catalyst
        self.memory = memory
        self.sources = sources
        self.states = states
        self.result = result
        self.since = since
        self.until = until
        self.watch = watch
        self.measures = Measures()
        self.result_files: list[Path] = []
        self.overwrite = False
        self.removed: list[File] = []
        self.changes: Path | None = None
        self._feed = feed and CHANGE_TYPE not in result.schema.names
        self._loading = False
        self._before = {n: (s.table.version if s.table.exists else -1) for n, s in states.items()}
        self._frames: dict[str, _Computed] = {}
        self._parts: dict[int, tuple[Near, Scan]] = {}
        self._nears: dict[int, tuple[int, Near]] = {}
        self._held: list[Any] = []
        self._rows: dict[str, int] = {}
        self._tiny = False
        self._step_name = ""
        self._written: Collected | None = None
        self.many = memory.many if memory is not None else set[str]()
        catalyst.restart()
        self._compiler = Compiler(
            catalyst, self._snapshot, self._delta, self._load, self._near, self._step, self._index
        )

    def run(self, plan: Plan) -> None:
        self._loading = plan.situation is None
        try:
            if self.memory is not None:
                self._prepare(plan, self.memory)
            scans = {step.name: step for step in plan.scans}
            for step in plan.steps:
                with self._measured(step.name):
                    if step.name in scans and indexes(step.rel) and self._reads(step) > SMALL:
                        step = scans[step.name]  # tasks would do it, and cannot look rows up
                    left = self._left(step)
                    if left is not None:
                        self._do(left)
                    elif isinstance(step, Publish):
                        self._rows[step.name], self.measures.how = 0, "nothing changed"
                    else:
                        attrs = self.states[step.state].attrs if isinstance(step, Keep) else step.rel.attrs
                        self._rows[step.name], self._frames[step.name] = 0, self._none(attrs)
                for node in nodes(step.rel):
                    if isinstance(node, Measured):
                        self.measures.step_of[node.tvr] = step.name
        finally:
            for held in self._held:
                held.unpersist(False)

    def _left(self, step: Step) -> Step | None:
        """What is left of a step once rows are known that earlier ones did not find; None where it is nothing. A small
        step is done as it is, for its plan is known; but a fallback that is not needed is never computed."""
        if self._loading or (isinstance(step, Publish) and step.replace) or (isinstance(step, Keep) and step.base):
            return step
        rel, none = without_empty(step.rel, lambda leaf: isinstance(leaf, Ref) and not self._rows[leaf.step])
        if rel is not None and rel is not step.rel and self._reads(step) <= SMALL:
            rel, none = without_fallbacks(step.rel, lambda ref: not self._rows[ref.step]), frozenset[int]()
        if rel is step.rel:
            return step
        self.measures.rows |= dict.fromkeys(none, 0)
        return None if rel is None else replace(step, rel=rel)

    def _do(self, step: Step) -> None:
        self._work(self._reads(step))
        match step:
            case Pin(name=name, rel=rel):
                self._frames[name] = self._hold(self._counted(self._compiler.compile(rel)))
                self._rows[name] = self._frames[name].seen["out"][0]
            case Remember(name=name, index=index, rel=rel):
                self._frames[name] = self._hold(self._counted(self._compiler.compile(rel)))
                self._rows[name] = self._frames[name].seen["out"][0]
                self._index_join(index, self._leaf(self._frames[name], name))
            case Keep():
                self._keep(step)
            case Publish(name=name, replace=replaces):
                (self._replace if replaces else self._change)(step)
                self._rows[name] = self.measures.published

    # --- indexes

    def _prepare(self, plan: Plan, memory: Memory) -> None:
        """Build the indexes that a plan needs and that are not there, and let all that are there see what is new."""
        self._drop_unremembered(plan, memory)
        self.build([i for step in plan.steps for i in indexes(step.rel).values()])
        moved = [h for h in memory.held.values() if (s := h.index.source) and self._between(s.name).rows]
        if moved:
            with self._measured("index new rows"):
                deltas = [Delta(h.index.source, OLD, NEW) for h in moved if h.index.source]
                rows = self._rows["index new rows"] = self._rows_of(deltas)
                self._work(rows)
                frames = [self._compiler.compile(h.index.over(d)) for h, d in zip(moved, deltas, strict=True)]
                memory.pend(self.catalyst, zip(moved, frames, strict=True))

    def _drop_unremembered(self, plan: Plan, memory: Memory) -> None:
        """Drop the joins of which something moves and that a plan does not bring up to date."""
        remembered = {s.index.name for s in plan.steps if isinstance(s, Remember)}
        states = {s.state for s in plan.steps if isinstance(s, Keep)}
        for name, held in list(memory.held.items()):
            if held.index.members and name not in remembered:
                sources = {n.name for n in nodes(held.index.rel) if isinstance(n, Source)}
                kept = {n.state for n in held.index.leaves if isinstance(n, Load)}
                if kept & states or any(self._between(s).rows for s in sources):
                    memory.drop(name)

    def build(self, wanted: Iterable[Index]) -> None:
        """Build those of some indexes that are not there."""
        assert self.memory is not None
        for index in wanted:
            if index.name not in self.memory.held:
                step = f"index {index}"
                with self._measured(step):
                    rows = self._rows_of(index.leaves)
                    self._work(rows)
                    self.memory.build(index, self._compiler.compile(index.rel).rows(), rows)
                    self._rows[step] = int(self.memory.held[index.name].java.records())

    def _index_state(self, step: Keep, rows: Collected | None) -> None:
        """Let the indexes of a state see the Delta just kept; its rows themselves where they are here."""
        if self.memory is None:
            return
        leaves = {n: h.index.leaf for n, h in self.memory.held.items()}
        ours = [h for n, h in self.memory.held.items() if getattr(leaves[n], "state", None) == step.state]
        if rows is not None:
            attrs = self.states[step.state].attrs
            for held in [h for h in ours if h.index.rel == h.index.leaf]:
                self.memory.pend_rows(held, rows, attrs)
            ours = [h for h in ours if h.index.rel != h.index.leaf]
        refs = [Ref(step.name, h.index.leaves[0].attrs) for h in ours]
        frames = [self._compiler.compile(h.index.over(r)) for h, r in zip(ours, refs, strict=True)]
        self.memory.pend(self.catalyst, zip(ours, frames, strict=True))

    def _index_join(self, index: Index, delta: Frame) -> None:
        """Let the index of a join, where it is there, see its Delta."""
        held = None if self.memory is None else self.memory.held.get(index.name)
        if self.memory is not None and held is not None:
            self.memory.pend(self.catalyst, [(held, delta)])

    def _index(self, index: Index) -> Held:
        held = None if self.memory is None else self.memory.get(index)
        if held is None:
            raise InternalError("BAD_PLAN", f"there is no {index.name} in memory")
        return held

    # --- steps

    @contextmanager
    def _measured(self, step: str) -> Iterator[None]:
        """Take the time of a step, and tell of it."""
        self._step_name = step
        if self.watch is not None:
            self.watch.began(step)
        started = time.perf_counter()
        yield
        self.measures.seconds[step] = seconds = time.perf_counter() - started
        if self.watch is not None:
            self.watch.done(step, self._rows[step], seconds)

    def _work(self, rows: int) -> None:
        """Work in one partition where all that is read is few rows."""
        self._tiny = rows <= SMALL
        self.catalyst.work("small" if self._tiny else "middle" if rows <= MIDDLE and not self._loading else "large")

    def _reads(self, step: Step) -> int:
        """The rows of all leaves of a step, known before it is run."""
        total = 0
        if isinstance(step, Publish) and not step.replace and not step.growing:
            total += self.result.rows()
        return total + self._rows_of(leaves(step.rel))

    def _rows_of(self, rels: Iterable[Rel]) -> int:
        total = 0
        for rel in rels:
            match rel:
                case Ref(step=name):
                    total += self._rows[name]
                case Snapshot(of=Source(name=name), at=at):
                    total += self._at(name, at).rows
                case Delta(of=Source(name=name)):
                    total += self._between(name).rows
                case Near(input=Snapshot()):
                    total += self._part(rel).rows
                case Near(input=Load(state=name, at=at), within=within):
                    version = self._before[name] if at == OLD else None
                    total += rows_in(self.states[name].near(dict(within), version))
                case Load(state=name, at=at):
                    total += self.states[name].table.rows(self._before[name] if at == OLD else None)
        return total

    def _at(self, source: str, at: Version) -> Scan:
        return self.sources[source].snapshot((self.until if at == NEW else self.since).at(source))

    def _between(self, source: str) -> Scan:
        return self.sources[source].delta(self.since.at(source), self.until.at(source))

    def _keep(self, step: Keep) -> None:
        state = self.states[step.state]
        frame = self._compiler.compile(step.rel)
        distinct = state.unique and frame.weight is None
        frame = (frame.with_weight() if distinct else frame.consolidate().with_weight()).select(state.attrs)
        with effect("state written"):
            files, self._rows[step.name] = self._write(state.table, frame, state.table.schema)
        if files or step.base:
            with effect("state committed"):
                state.table.commit(files, overwrite=step.base)
        if not step.base:
            here = self._written is not None
            segment = replace(frame, unit=state.unique, consolidated=True) if here else self._segment(state, files)
            self._frames[step.name] = _Computed(segment, self._written)
            self._index_state(step, self._written)

    def fold(self, states: Iterable[str]) -> None:
        """Fold the Segments of states into one, rows that cancel gone."""
        for name in states:
            state, step = self.states[name], f"fold {name}"
            with self._measured(step):
                self._work(state.table.rows())
                frame = state.read(self.catalyst, "fold").consolidate().with_weight().select(state.attrs)
                with effect("state compacted"):
                    files, self._rows[step] = self._write(state.table, frame, state.table.schema)
                    state.table.commit(files, overwrite=True)
            self.measures.folded[name] = self.measures.seconds[step]

    def _segment(self, state: State, files: list[Path]) -> Frame:
        """The Delta just kept, to be read by later steps."""
        paths, place = [f.absolute() for f in files], ("segment", state.name)
        return file_frame(self.catalyst, place, paths, state.table.schema, state.attrs, state.unique, True)

    def _replace(self, step: Publish) -> None:
        frame = self._compiler.compile(step.rel).rows()
        self.result_files, self.measures.published = self._write_result(frame, step.cluster)
        self.overwrite, self.measures.how = True, "replaced"

    def _change(self, step: Publish) -> None:
        """Publish a Delta: appended when it only adds rows, written over a small result, else put into just those
        files of a large one that hold rows it takes away. Where a view reads this one (``feed``), the rows that came
        and left are put beside it: those of a rewritten file would be all of its rows."""
        delta = self._compiler.compile(step.rel)
        if step.growing:
            self.result_files, self.measures.published = self._write_result(delta.rows())
            self.measures.how = "appended"
            return
        before = self.result.files()
        touched = before
        if self._feed or not self._tiny:
            delta, added, removed = self._signed(delta.consolidate().with_weight())
            self.measures.published = added + removed
            if not added and not removed:
                self.measures.how = "nothing changed"
                return
            if not removed and (not self._tiny or len(before) < _MANY_FILES):
                self.result_files, _ = self._write_result(delta.rows())
                self.measures.how = "appended"
                return
            if step.cluster is not None and not self._tiny and removed <= SMALL:
                touched = self._touched(delta, step.cluster)
            if self._feed and added + removed <= SMALL:
                self._write_changes(delta)
        self.measures.bytes_read += sum(f.size for f in touched)
        merged = self._merged(delta, [f.path for f in touched])
        self.result_files, rows = self._write_result(merged.rows(), step.cluster)
        self.overwrite, self.removed = len(touched) == len(before), touched
        self.measures.how = "rewritten" if self.overwrite else f"rewritten in {len(touched)} of {len(before)} files"
        self.measures.published = self.measures.published or rows

    def _write_changes(self, delta: Frame) -> None:
        """A consolidated Delta as a file of changes."""
        schema, units = self.result.schema, delta.units()
        columns = [c.withName(n) for c, n in zip(units.columns, [*schema.names, CHANGE_TYPE], strict=True)]
        rows = self.catalyst.collect(self.catalyst.project(columns, units.plan)).arrow()
        kinds = pc.if_else(pc.greater(rows.column(CHANGE_TYPE), 0), "insert", "delete")
        with effect("changes written"):
            place = rows.column_names.index(CHANGE_TYPE)
            self.changes = self.result.write_changes(rows.set_column(place, CHANGE_TYPE, kinds))

    def _touched(self, delta: Frame, cluster: Attr) -> list[File]:
        """The files of the result that may hold a row which a Delta takes away."""
        c = self.catalyst
        key = c.attr(cluster)
        leaving = c.filter(f"{delta.w} < 0L", delta.plan)
        values = c.collect(c.aggregate([key], [key], leaving)).arrow().column(0).to_pylist()
        column = self.result.schema.names[delta.attrs.index(cluster)]
        return self.result.meeting(column, values)

    def _merged(self, delta: Frame, files: list[Path]) -> Frame:
        """Files of the result with a Delta added to them."""
        attrs = delta.attrs
        schema = self.result.schema
        old = file_frame(self.catalyst, "result", files, schema, attrs, True, False, weighted=False)
        before = old.with_weight()
        plan = self.catalyst.union([before.plan, delta.with_weight().plan])
        return Frame(self.catalyst, plan, attrs, before.weight, unit=False)

    def _signed(self, delta: Frame) -> tuple[Frame, int, int]:
        """A consolidated Delta, held, and how many rows it adds and takes away."""
        assert delta.weight is not None
        held = self._hold(delta.over(self.catalyst.measure_signs("signs", delta.weight, delta.plan)))
        added, removed = held.seen["signs"]
        return self._leaf(held, "signed"), added, removed

    # --- leaves

    def _snapshot(self, source: Source, at: Version) -> Frame:
        return self._rows_at(source, self._at(source.name, at), (source.name, source.fields, str(at)))

    def _near(self, near: Near) -> Frame:
        """Those files of a leaf that can match; how many are passed over is measured."""
        if isinstance(near.input, Load):
            state, version = self.states[near.input.state], self._before[near.input.state]
            at = version if near.input.at == OLD else None
            files = state.near(dict(near.within), at)
            self.measures.files_skipped += len(state.table.files(at)) - len(files)
            self.measures.bytes_read += sum(f.stat().st_size for f in files)
            return state.read(self.catalyst, self._place(near), at, dict(near.within))
        assert isinstance(near.input, Snapshot)
        assert isinstance(near.input.of, Source)
        part = self._part(near)
        self.measures.files_skipped += len(self._at(near.input.of.name, near.input.at).files) - len(part.files)
        of = near.input.of
        return self._rows_at(of, part, (of.name, of.fields, str(near.input.at), self._place(near)))

    def _place(self, near: Near) -> int:
        """A part of a leaf is told from others by when it is first read: the ranges are other ones in every run."""
        return self._nears.setdefault(id(near), (len(self._nears), near))[0]

    def _part(self, near: Near) -> Scan:
        """The part of a source's snapshot that can match."""
        if id(near) not in self._parts:
            self._parts[id(near)] = (near, self._matching(near))
        return self._parts[id(near)][1]

    def _matching(self, near: Near) -> Scan:
        assert isinstance(near.input, Snapshot)
        assert isinstance(near.input.of, Source)
        source, scan = near.input.of, self._at(near.input.of.name, near.input.at)
        if scan.among is None:
            return scan
        field_of = {a.id: f for a, f in zip(source.columns, source.fields, strict=True)}
        return scan.among(near_files(scan.files, {field_of[a.id]: r for a, r in near.within}))

    def _rows_at(self, source: Source, scan: Scan, place: Hashable) -> Frame:
        frame = self._read(source, scan, place)
        many = scan.leaving > CANCELLED * scan.rows
        return frame.consolidate() if scan.leaving and (self._loading or self._tiny or many) else frame

    def _delta(self, source: Source) -> Frame:
        scan = self._between(source.name)
        frame = self._read(source, scan, (source.name, source.fields, "delta"))
        return frame.consolidate() if scan.leaving else frame

    def _read(self, source: Source, scan: Scan, place: Hashable) -> Frame:
        self.measures.rows_read += scan.rows
        self.measures.bytes_read += scan.bytes
        names = self.sources[source.name].schema.names
        places, c = [names.index(f) for f in source.fields], self.catalyst
        if self._tiny:
            return scan.slot(c, place, source.attrs, places, len(names))
        return scan.frame(c, source.attrs, places, len(names))

    def _load(self, load: Load) -> Frame:
        state, version = self.states[load.state], self._before[load.state] if load.at == OLD else None
        self.measures.scans[load.state] = self.measures.scans.get(load.state, 0) + 1
        self.measures.bytes_read += sum(f.size for f in state.table.files(version))
        return state.read(self.catalyst, str(load.at), version)

    def _step(self, ref: Ref) -> Frame:
        if ref.step not in self._frames:
            raise InternalError("BAD_PLAN", f"step {ref.step} is used before it is computed")
        return self._leaf(self._frames[ref.step], ref.step)

    def _leaf(self, computed: _Computed, name: str) -> Frame:
        """What was computed, as a leaf of a later plan."""
        frame, rows = computed.frame, computed.rows
        if rows is None:
            return frame.over(self.catalyst.gathered(frame.plan))
        columns = frame.attrs if frame.weight is None else (*frame.attrs, frame.weight)
        return frame.over(self.catalyst.slot_of_rows(("step", name), rows, columns))

    # --- doing

    def _counted(self, frame: Frame) -> Frame:
        return frame.over(self.catalyst.measure("out", frame.plan))

    def _none(self, attrs: tuple[Attr, ...]) -> _Computed:
        """What a step has computed that has no rows."""
        columns = [self.catalyst.attr(a) for a in attrs]
        return _Computed(
            Frame(self.catalyst, self.catalyst.no_rows(columns), attrs, consolidated=True, exact=True), None
        )

    def _hold(self, frame: Frame) -> _Computed:
        """Compute a frame once and hold its rows, in the driver when few; and what was measured on the way."""
        frame, c = frame.select(frame.attrs), self.catalyst
        rows = self._few(frame.plan)
        if rows is not None:
            seen = self._observed(rows.observed)
            if len(rows) and not all(sum(values) for name, values in seen.items() if name in ("out", "signs")):
                raise InternalError("BAD_MEASURE", f"{len(rows)} rows were counted as none")
            return _Computed(frame, rows, seen)
        computed = c.frame(frame.plan)
        held = computed.localCheckpoint()
        plan = held._jdf.queryExecution().analyzed()
        self._held.append(plan.rdd())
        return _Computed(frame.over(c.put(plan)), None, self._observe(computed))

    def _few(self, plan: Any) -> Collected | None:
        """The rows of a plan, unless they are many. A step that had many once is taken to have many again."""
        if self._step_name in self.many:
            return None
        rows = self.catalyst.collect_most(plan, COLLECTED)
        if rows is None:
            self.many.add(self._step_name)
        return rows

    def _write(self, table: Table, frame: Frame, schema: StructType) -> tuple[list[Path], int]:
        """A frame's rows as files of a table: through the driver when few, else by Spark. A load is expected to have
        many."""
        columns = [c.withName(f.name) for c, f in zip(frame.columns, schema, strict=True)]
        plan = self.catalyst.project(columns, frame.plan)
        rows = self._written = self._few(plan) if self._tiny or not self._loading else None
        if rows is not None:
            self._observed(rows.observed)
            return table.write_arrow(rows.arrow()), len(rows)
        computed = self.catalyst.frame(plan)
        if self._loading:
            files = table.write_spark(computed)
            return files, rows_of(files)
        held = computed.localCheckpoint()  # what a write measures on its way cannot be read
        rdd = held._jdf.queryExecution().analyzed().rdd()
        try:
            self._observe(computed)
            files = table.write_spark(held)
            return files, rows_of(files)
        finally:
            rdd.unpersist(False)

    def _write_result(self, frame: Frame, cluster: Attr | None = None) -> tuple[list[Path], int]:
        if cluster is not None and not self._tiny:
            c = self.catalyst
            frame = frame.over(c.sort(c.seq([c.sort_key(c.attr(cluster))]), frame.plan, everywhere=True))
        with effect("result written"):
            files, rows = self._write(self.result, frame, self.result.schema)
        self.measures.bytes_written = sum(f.stat().st_size for f in files)
        return files, rows

    def _observe(self, frame: DataFrame) -> dict[str, list[int]]:
        return self._observed(frame._jdf.queryExecution().observedMetrics().toString())

    def _observed(self, text: str) -> dict[str, list[int]]:
        """What was measured while a frame was computed; the counts of Tvrs are noted."""
        found = {
            name: [int(v) for v in values.split(",")] for name, values in re.findall(r"(\w+) -> \[([\d,]+)\]", text)
        }
        for name, values in found.items():
            if name.startswith("tvr"):
                self.measures.rows[int(name[3:])] = values[0]
        return found
