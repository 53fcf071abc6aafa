"""What estimates rest on: what is known of leaves, and what runs have said of operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from headrace.ir.near import Near
from headrace.ir.probe import Index
from headrace.ir.rel import Delta, Load, Node, Source
from headrace.ir.time import Version
from headrace.stats.estimate import Estimate
from headrace.stats.operator_key import OperatorKeys
from headrace.stats.table import Moving, TableFacts


@dataclass(frozen=True)
class Learned:
    """How many times the rows, and the rows of the change, that the formulas give for an operator runs have found."""

    rows: float = 1.0
    change: float = 1.0


class Known(Protocol):
    """What is known of the leaves of a query, and of its operators by earlier runs."""

    def source(self, source: Source) -> Estimate:
        """A source once the run is done, and what the run finds changed in it."""

    def delta(self, delta: Delta) -> Estimate | None:
        """What is known of the changes of a source by themselves; None where that follows from the source."""

    def state(self, load: Load) -> Estimate | None:
        """A kept state once the run is done; None where it is not known."""

    def near(self, near: Near) -> float | None:
        """The rows in files that can match; None where that is not known."""

    def found(self, index: Index) -> float | None:
        """How many rows an index gives for a key; None where it is not known."""

    def learned(self, node: Node) -> Learned:
        """What runs say of an operator."""


_NOTHING_LEARNED = Learned()
_UNKNOWN_ROWS = 10_000.0  # of a source of which nothing is known


@dataclass(frozen=True)
class Statistics:
    """What is known as plain data: sources by name, states by name, the rows that indexes give for a key by name, and
    what was learned by the key of an operator."""

    sources: Mapping[str, Moving] = field(default_factory=dict)
    states: Mapping[str, Estimate] = field(default_factory=dict)
    indexes: Mapping[str, float] = field(default_factory=dict)
    lessons: Mapping[str, Learned] = field(default_factory=dict)
    keys: OperatorKeys = field(default_factory=OperatorKeys, compare=False, repr=False)

    def source(self, source: Source) -> Estimate:
        moving = self.sources.get(source.name)
        if moving is None:
            return TableFacts(_UNKNOWN_ROWS).estimate(source)
        return moving.table.estimate(source, moving.change)

    def delta(self, delta: Delta) -> Estimate | None:
        assert isinstance(delta.of, Source)
        moving = self.sources.get(delta.of.name)
        return moving.changes(delta.of) if moving else None

    def state(self, load: Load) -> Estimate | None:
        return self.states.get(load.state)

    def near(self, near: Near) -> float | None:
        return None

    def found(self, index: Index) -> float | None:
        return self.indexes.get(index.name)

    def learned(self, node: Node) -> Learned:
        return self.lessons.get(self.keys.of(node), _NOTHING_LEARNED) if self.lessons else _NOTHING_LEARNED

    def between(self, since: Version, until: Version) -> Statistics:
        """What is known when only the sources have changed that move from one version to the other: for versions that
        lie between old and new, where the estimate of a Tvr by itself does not say which of its changes are made."""
        moved = {n: m for n, m in self.sources.items() if _moved(n, until) and not _moved(n, since)}
        arrived = {n: Moving(m.table) if _moved(n, since) else m.still for n, m in self.sources.items()}
        return replace(self, sources={**arrived, **moved})


def _moved(source: str, version: Version) -> bool:
    return version.everything or source in version.moved
