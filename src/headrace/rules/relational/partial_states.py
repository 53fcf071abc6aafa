"""γ[k; f] A = Finish (Partials[k; f] A).

The partial state has one row for each group: its keys, how many rows it has, and the buffers of each
call. The count decides whether a group still exists, so a SUM of zero is not mistaken for an empty
group. Finish maps rows to rows and is linear. Tempura §3.2 (Initialize, Iterate, Merge, Final).
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Aggregate, Finish, Node, Partials
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("relational", "partial states", Aggregate)
def partial_states(aggregate: Aggregate, memo: Memo) -> Iterator[Node]:
    keys, calls = aggregate.keys, aggregate.calls
    yield Finish(Partials(aggregate.input, keys, calls), keys, calls)
