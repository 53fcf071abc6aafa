"""Which Tvrs to keep between runs: a fixed preference, until cost decides.

Kept are the partial states of all aggregates, or just the keys of a DISTINCT where none is ever lost; what cannot be
computed again to the same rows (windows, limits, unknown operators), because its old side must be what was published;
and every snapshot that some delta needs and that is not a row-wise view of sources and other states. The worst
situation counts: all sources move, and those that can lose rows do.
"""

from __future__ import annotations

import hashlib

from headrace.ir.plan import Kept
from headrace.ir.rel import Group, Limit, Opaque, Partials, Rel, Window
from headrace.ir.show import describe
from headrace.ir.time import Situation
from headrace.memo.memo import Memo
from headrace.memo.props import Facts
from headrace.planner.extract import Extraction, written

_ALWAYS = (Partials, Window, Limit, Opaque)


def choose_states(memo: Memo, root: Group, worst: Situation) -> dict[int, Kept]:
    """States by group, stable under repeated planning of the same query."""
    states: dict[int, Kept] = {}
    names = Names(memo)
    while True:
        extraction = Extraction(memo, worst, states, frozenset(), choosing=True)
        extraction.delta(root)
        found: dict[int, Group] = {
            i: memo.find(Group(i, ())) for i in extraction.chosen if isinstance(memo.nodes(Group(i, ()))[0], _ALWAYS)
        }
        new = {i: g for i, g in (found or extraction.wanted).items() if i not in states}
        new = new or {i: g for i, g in extraction.wanted.items() if i not in states}
        if not new:
            return states
        for i, group in new.items():
            states[i] = names.kept(group)


class Names:
    """Names that follow from what a Tvr computes, so that a later process finds its states again."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self._prints: dict[int, str] = {}

    def kept(self, group: Group) -> Kept:
        node = self.memo.nodes(group)[0]
        unique = Facts(self.memo).unique_on(group, frozenset(a.id for a in group.attrs))
        kind = type(node).__name__.lower()
        return Kept(f"{kind}-{self.fingerprint(group)[:12]}", describe(node), group, unique)

    def fingerprint(self, rel: Rel) -> str:
        group = self.memo.find(rel)
        if group.id not in self._prints:
            node = written(self.memo, group)
            own = node.with_inputs(tuple(Group(0, i.attrs) for i in node.inputs))
            parts = [repr(own), *(self.fingerprint(i) for i in node.inputs)]
            self._prints[group.id] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._prints[group.id]
