"""The delta of the first n rows L = Limit[order; n] A, whose order is total up to rows that are equal.

Let F be the first n of those rows of old L + ΔA before which fewer than n rows of old L come: up to its last one, z, or
all where old L has fewer than n. H = Head[order; n](old L, ΔA) = F − old L. Then

take_first:            ΔL = H, while no row leaves A
take_first_or_all:     ΔL = H + Fallback(L(new A) − old L − H, Shortfall H)

Where old L has fewer than n rows it is old A, so that old L + ΔA is new A, and F = L(new A). Else old L has all copies
of every row before z that old A has, so that old L + ΔA has all that new A has; of z itself, of which A may have more
than L, it has not too many. So if F has n rows, they are the first of new A. If it has fewer, H takes away more rows
than it gives, and only new A tells what comes after z: then it is read, and not before. (Where A has fewer than n rows
it may be read without need: it is small.) Weights of ΔA may have either sign, for they are added to those of old L
first; of z more copies may leave than L has, which leaves none of it in F. While no row leaves A, F has no fewer rows
than old L, and A need not be kept at all.

Breaks where what is left of old L + ΔA is taken for the first rows: of 1, 2, 3, 4 the first two are 1 and 2; when 1
leaves and 9 comes, 2 and 9 are left, and the first two are 2 and 3. (DESIGN §4 recomputes every LIMIT.)
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.rel import Delta, Fallback, Head, Limit, Negate, Node, Provided, Shortfall, Snapshot, union
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule

# Of more first rows than this some leave in nearly every run, so that all rows are read in every other one, and the
# first ones besides.
MOST = 10_000
# Two values of these types may have one text, by which they are ordered.
_UNORDERED = ("map", "variant")


@rule("delta", "top n", Limit)
def take_first(limit: Limit, memo: Memo) -> Iterator[Node]:
    head = _head(limit, memo)
    if head is not None:
        yield Provided(head, limit.input)


@rule("delta", "top n", Limit)
def take_first_or_all(limit: Limit, memo: Memo) -> Iterator[Node]:
    head = _head(limit, memo)
    if head is not None:
        anew = limit.with_inputs((Snapshot(limit.input, NEW),))
        others = union(anew, Negate(head.kept), Negate(head))
        yield union(head, Fallback(others, Shortfall(head)))


def _head(limit: Limit, memo: Memo) -> Head | None:
    ordered = not any(t in a.type for a in limit.attrs for t in _UNORDERED)
    if limit.skip or limit.count is None or limit.count > MOST or not ordered:
        return None
    kept = Snapshot(memo.find(limit), OLD)
    return Head(kept, Delta(limit.input, OLD, NEW), limit.order, limit.ties, limit.count)
