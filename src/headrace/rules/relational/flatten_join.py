"""Join (Join A B) C = Join A B C, also through a projection that only drops columns.

Weights multiply in any order. The delta of one member can then join outwards from itself to any other,
and no snapshot of the inner join is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Join, Node, Project, Rel, prune
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("relational", "bilinear", Join, leaves=("split_member",))
def flatten_join(join: Join, memo: Memo) -> Iterator[Node]:
    for place, member in enumerate(join.members):
        inner = _inner_join(member, memo)
        if inner is None:
            continue
        members = join.members[:place] + inner.members + join.members[place + 1 :]
        ids = [a.id for m in members for a in m.attrs]
        if len(ids) == len(set(ids)):
            flat = Join(members, inner.equals + join.equals, inner.residual + join.residual)
            yield prune(flat, join.attrs)
            return


def _inner_join(rel: Rel, memo: Memo) -> Join | None:
    for join in memo.members(rel, Join):
        return join
    for project in memo.members(rel, Project):
        if project.pruning:
            return _inner_join(project.input, memo)
    return None
