"""The delta of a partial state P = Partials[k; f] A, and of D = Distinct[k] A.

add_new_keys:        ΔD = Distinct[k] ΔA − (old D | K), K the keys that occur in Distinct[k] ΔA, while no row leaves A
merge_partials:      ΔP = Accumulate(old P, Partials[k; f] ΔA), for buffers that merge
regroup_touched:     ΔP = Partials[k; f](new A | K) − (old P | K), K the keys that occur in ΔA

Merging adds the buffers of ΔA, deletes with their sign, to the old row of each touched group; it holds
under deletes when the buffers form a group (COUNT, exact SUM and AVG), and only while no row leaves for
MIN, MAX and floating-point sums: when the row that held the maximum leaves, the maximum of the rest is
not in the state. Regrouping holds for every function, because groups outside K see the same rows before
and after. The old side is read from the state and not computed again, so what was once published is
what is taken back, to the last bit of a float. Of keys that are never lost nobody needs to know how many rows each has:
D has only keys, and of a change only those are written that are new. Tempura §3.2, DESIGN §4.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ir.aggregate import Merging
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Consolidate,
    Delta,
    Finish,
    Keys,
    Negate,
    Node,
    Partials,
    Provided,
    Restrict,
    Snapshot,
    union,
)
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo
from headrace.rules.rule import rule


@rule("delta", "new keys", Aggregate)
def add_new_keys(d: Aggregate, memo: Memo) -> Iterator[Node]:
    if d.calls or not d.keys:
        return
    came = Finish(Partials(Delta(d.input, OLD, NEW), d.keys, ()), d.keys, ())
    known = Restrict(Snapshot(memo.find(d), OLD), d.keys, Keys((came,), (d.keys,)))
    yield Provided(Consolidate(union(came, Negate(known))), d.input)


@rule("delta", "merge", Partials)
def merge_partials(p: Partials, memo: Memo) -> Iterator[Node]:
    merging = min((c.merging for c in p.calls), default=Merging.ALWAYS)
    if merging is Merging.NEVER:
        return
    change = Partials(Delta(p.input, OLD, NEW), p.keys, p.calls, change=True)
    state: Node = Snapshot(memo.find(p), OLD)
    if p.keys:
        state = Restrict(state, p.keys, Keys((change,), (p.keys,)))
    yield Accumulate(state, change, p.keys, p.calls, needs_growth=merging is Merging.GROWING)


@rule("delta", "keyed", Partials)
def regroup_touched(p: Partials, memo: Memo) -> Iterator[Node]:
    if not p.keys:
        return
    touched = Keys((Delta(p.input, OLD, NEW),), (p.keys,))
    now = Partials(Restrict(Snapshot(p.input, NEW), p.keys, touched), p.keys, p.calls)
    yield union(now, Negate(Restrict(Snapshot(memo.find(p), OLD), p.keys, touched)))
