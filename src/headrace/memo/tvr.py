"""A time-varying relation: a group of a query's operators, seen as a function of versions.

A Tvr knows the groups of its snapshots and of its delta, which are made on first use. Links to other
Tvrs (a positive part, a part not affected, a higher-order view) are named relations between groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.ir.rel import Delta, Group, Snapshot
from headrace.ir.time import NEW, OLD, Version
from headrace.memo.memo import Memo


@dataclass(frozen=True)
class Tvr:
    memo: Memo
    group: Group

    def snapshot(self, at: Version) -> Group:
        return self.memo.add(Snapshot(self.group, at))

    def delta(self, since: Version = OLD, until: Version = NEW) -> Group:
        return self.memo.add(Delta(self.group, since, until))
