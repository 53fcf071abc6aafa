"""What a run reads: sources and states, each at the version that a leaf of a plan asks for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from headrace.ir.near import Near
from headrace.ir.rel import Delta, Load, Ref, Rel, Snapshot, Source
from headrace.ir.time import NEW, OLD, Reached, Version
from headrace.spark.computing import Computing
from headrace.spark.file_stats import near as near_files
from headrace.spark.file_stats import rows_in
from headrace.spark.frames import Frame
from headrace.spark.sources.source import Scan, SourceReader
from headrace.spark.state import State

# Above this share of rows that leave, a source's snapshot is consolidated before it is joined: a row that was
# updated is there three times, and through ten joins the copies multiply.
CANCELLED = 0.02


class Inputs:
    """The leaves of a run's plans as frames. A state that the run adds to is still read as it was before."""

    def __init__(
        self,
        computing: Computing,
        sources: Mapping[str, SourceReader],
        states: Mapping[str, State],
        since: Reached,
        until: Reached,
    ) -> None:
        self.computing = computing
        self.catalyst = computing.catalyst
        self.measures = computing.measures
        self.sources = sources
        self.states = states
        self.since = since
        self.until = until
        self._before = {n: (s.table.version if s.table.exists else -1) for n, s in states.items()}
        self._parts: dict[int, tuple[Near, Scan]] = {}
        self._nears: dict[int, tuple[int, Near]] = {}

    def rows_of(self, rels: Iterable[Rel]) -> int:
        """The rows of some leaves, known before they are read."""
        total = 0
        for rel in rels:
            match rel:
                case Ref(step=name):
                    total += self.computing.rows[name]
                case Snapshot(of=Source(name=name), at=at):
                    total += self._at(name, at).rows
                case Delta(of=Source(name=name)):
                    total += self.between(name).rows
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

    def between(self, source: str) -> Scan:
        return self.sources[source].delta(self.since.at(source), self.until.at(source))

    def snapshot(self, source: Source, at: Version) -> Frame:
        return self._rows_at(source, self._at(source.name, at), (source.name, source.fields, str(at)))

    def near(self, near: Near) -> Frame:
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
        at_once = self.computing.loading or self.computing.tiny or many
        return frame.consolidate() if scan.leaving and at_once else frame

    def delta(self, source: Source) -> Frame:
        scan = self.between(source.name)
        frame = self._read(source, scan, (source.name, source.fields, "delta"))
        return frame.consolidate() if scan.leaving else frame

    def _read(self, source: Source, scan: Scan, place: Hashable) -> Frame:
        self.measures.rows_read += scan.rows
        self.measures.bytes_read += scan.bytes
        names = self.sources[source.name].schema.names
        places, c = [names.index(f) for f in source.fields], self.catalyst
        if self.computing.tiny:
            return scan.slot(c, place, source.attrs, places, len(names))
        return scan.frame(c, source.attrs, places, len(names))

    def load(self, load: Load) -> Frame:
        state, version = self.states[load.state], self._before[load.state] if load.at == OLD else None
        self.measures.scans[load.state] = self.measures.scans.get(load.state, 0) + 1
        self.measures.bytes_read += sum(f.size for f in state.table.files(version))
        return state.read(self.catalyst, str(load.at), version)
