"""A time-varying relation: a group of a query's operators, seen as a function of versions.

A Tvr knows the groups of its snapshots and of its delta, which are made on first use. Links to other
Tvrs are named relations between groups, which rules make and other rules look for:

    POSITIVE, NEGATIVE     Q = Qᴾ + Qᴺ: what only gets rows while the inputs do, and what may lose some (IM-2)
    DIRECT, INDIRECT       Q = Qᴰ + Qᴵ: what a change of an input enters, and what that takes rows from (OJV)
    HIGHER_ORDER           the join of all members but one, kept for the changes of that one (HOV)
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.ir.rel import Delta, Group, Snapshot
from headrace.ir.time import NEW, OLD, Version
from headrace.memo.memo import Memo

POSITIVE, NEGATIVE = "positive part", "negative part"
DIRECT, INDIRECT = "direct part", "indirect part"
HIGHER_ORDER = "higher-order view"


@dataclass(frozen=True)
class Tvr:
    memo: Memo
    group: Group

    def snapshot(self, at: Version) -> Group:
        return self.memo.add(Snapshot(self.group, at))

    def delta(self, since: Version = OLD, until: Version = NEW) -> Group:
        return self.memo.add(Delta(self.group, since, until))
