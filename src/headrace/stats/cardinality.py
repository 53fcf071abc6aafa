"""How many rows every relation is expected to have in a run, and how the run changes them.

A change is a vector of inserts, updates and deletes (InQP §3.1), for they cost differently and pass operators
differently: an anti join gives deletes for inserts, a group that exists an update. A Tvr is estimated as it is once the
run is done, with what the run changes in it; ``Delta`` and ``Snapshot`` of it follow from that. Trees of the algebra of
deltas are estimated from what they are made of.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from headrace.errors import InternalError
from headrace.ir.expr import Attr
from headrace.ir.near import Near
from headrace.ir.probe import AccumulateFound, Index, Lookup, Missing, Probe
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Consolidate,
    Constant,
    Delta,
    EvalPython,
    Expand,
    Fallback,
    Filter,
    Finish,
    Generate,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Measured,
    Meeting,
    Negate,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Project,
    Provided,
    Ref,
    Rel,
    Restrict,
    Shortfall,
    Snapshot,
    Source,
    Union,
    Window,
)
from headrace.ir.time import Version
from headrace.ir.walk import nodes
from headrace.stats.estimate import NOTHING, Change, Estimate, Span, delta_of, width_of
from headrace.stats.grouping import accumulated, aggregated, groups, headed, limited, opaque, shortened, windowed
from headrace.stats.joins import Link, join_sizes, joined, linked, reference, side_by_side, some
from headrace.stats.known import Known, Learned
from headrace.stats.pair_joins import pair_joined
from headrace.stats.rowwise import (
    at_most,
    expanded,
    filtered,
    multiplied,
    of_rows,
    projected,
    row_width,
    share_of,
    together,
    united,
)
from headrace.stats.selectivity import holds

__all__ = ["Change", "Estimate", "Known", "Learned", "Span", "estimate", "estimate_tree", "groups", "join_sizes"]

# Elements that a generator makes of a row.
_ELEMENTS = 3.0
_RANGE = re.compile(r"Range \((-?\d+), (-?\d+), step=(-?\d+)")


def estimate(node: Node, inputs: tuple[Estimate, ...], known: Known) -> Estimate:
    """What is expected of a node whose inputs are as estimated."""
    made = _estimate(node, inputs, known)
    return replace(made, distinct={a: min(max(d, 0.0), made.rows) for a, d in made.distinct.items()})


def estimate_tree(rel: Rel, known: Known, steps: Mapping[str, Estimate], seen: dict[int, Estimate]) -> Estimate:
    """What is expected of a tree over leaves, and over earlier steps by name; ``seen`` holds every node's by ``id``,
    and must not outlive the nodes."""
    for node in nodes(rel):
        if id(node) not in seen:
            inputs = tuple(seen[id(i)] if isinstance(i, Node) else _of_step(i, steps) for i in node.inputs)
            seen[id(node)] = estimate(node, inputs, known)
    return seen[id(rel)] if isinstance(rel, Node) else _of_step(rel, steps)


def _of_step(rel: Rel, steps: Mapping[str, Estimate]) -> Estimate:
    if not isinstance(rel, Ref) or rel.step not in steps:
        raise InternalError("BAD_PLAN", f"nothing is known of {rel}")
    return steps[rel.step]


def _estimate(node: Node, inputs: tuple[Estimate, ...], known: Known) -> Estimate:
    match node:
        case Source():
            return known.source(node)
        case Constant():
            return _constant(node)
        case Load():
            return _load(node, known)
        case Snapshot():
            return _snapshot(node, inputs[0])
        case Delta():
            return _delta(node, inputs[0], known)
        case Near():
            return _near(node, inputs[0], known)
        case Project(columns=columns):
            return projected(node, columns, inputs[0])
        case Filter():
            return filtered(node, inputs[0], known)
        case Union():
            return united(node, inputs)
        case Expand():
            return expanded(node, inputs[0])
        case Generate():
            learned = known.learned(node)
            return multiplied(node, inputs[0], _ELEMENTS * (learned.change if inputs[0].delta else learned.rows))
        case EvalPython():
            return multiplied(node, inputs[0], 1.0)
        case Finish():
            return multiplied(node, inputs[0], 1.0)
        case Join():
            return joined(node, inputs, known)
        case PairJoin():
            return pair_joined(node, inputs[0], inputs[1], known)
        case Aggregate(keys=keys) | Partials(keys=keys):
            return aggregated(node, keys, inputs[0], known)
        case Accumulate(keys=keys):
            return accumulated(node, inputs[0], inputs[1])
        case Window(partition=partition):
            return windowed(node, partition, inputs[0])
        case Limit():
            return limited(node, inputs[0])
        case Head():
            return headed(inputs[0], inputs[1])
        case Shortfall():
            return shortened(inputs[0])
        case Fallback():
            return share_of(inputs[0], inputs[1].rows)
        case Opaque():
            return opaque(node, inputs)
        case Negate():
            return replace(inputs[0], change=inputs[0].change.negated) if inputs[0].delta else _minus(inputs[0])
        case Consolidate() | Measured() | Provided():
            return inputs[0]
        case Keys(on=on):
            return _keys(node, on, inputs)
        case Restrict(on=on):
            return _restricted(inputs[0], on, inputs[1].rows)
        case Meeting(condition=condition):
            share = holds([condition] if condition else [], side_by_side(inputs))
            return share_of(inputs[0], some(share, inputs[1].rows))
        case Probe():
            return _probe(node, inputs[0], known)
        case Lookup(keys=_, index=index):
            return _restricted(_indexed(index, known), index.keys, inputs[0].rows)
        case Missing(index=index):
            known_ones = _restricted(_indexed(index, known), index.keys, inputs[0].rows)
            share = known_ones.rows / inputs[0].rows if inputs[0].rows > 0 else 0.0
            return share_of(inputs[0], max(1 - share, 0.0))
        case AccumulateFound(index=index):
            return accumulated(node, _indexed(index, known), inputs[0])
    raise InternalError("BAD_NODE", f"nothing is known of the rows of {type(node).__name__}")


def _constant(node: Constant) -> Estimate:
    found = _RANGE.search(node.text)
    rows = 1.0
    if found:
        low, high, step = (int(found[i]) for i in (1, 2, 3))
        rows = max((high - low) / step, 0.0) if step else 0.0
    elif "[[" in node.text:  # the rows of VALUES
        rows = node.text.count("],[") + 1.0
    return Estimate(rows, NOTHING, {a.id: rows for a in node.attrs}, row_width(node.attrs))


def _load(load: Load, known: Known) -> Estimate:
    state = known.state(load)
    if state is None:
        return Estimate(1.0, width=row_width(load.attrs))
    return _at(state, load.at, None)


def _snapshot(node: Snapshot, tvr: Estimate) -> Estimate:
    return _at(tvr, node.at, node.of.name if isinstance(node.of, Source) else None)


def _at(tvr: Estimate, at: Version, source: str | None) -> Estimate:
    """A Tvr at a version: the old and the new one are known, and of a source each; one between is between."""
    if tvr.delta or at.everything or source in at.moved:
        return tvr
    if at.moved and source is None:
        return tvr.thinned((tvr.before + tvr.rows) / 2, tvr.change)
    old = tvr.thinned(tvr.before, tvr.change)
    return old.within({a: s.before for a, s in tvr.spans.items() if s.since is not None})


def _delta(node: Delta, tvr: Estimate, known: Known) -> Estimate:
    if isinstance(node.of, Source):
        moved = node.until.everything or node.of.name in node.until.moved
        if not moved or node.since.everything or node.of.name in node.since.moved:
            return delta_of(NOTHING, tvr)
        told = known.delta(node)
        if told is not None:
            return told
    return delta_of(tvr.change, tvr)


def _near(node: Near, of: Estimate, known: Known) -> Estimate:
    rows = known.near(node)
    spans = dict(of.spans)
    share = 1.0
    for attr, wanted in node.within:
        span = spans.get(attr.id)
        if span is None:
            continue
        low, high = max(span.low, float(wanted.low)), min(span.high, float(wanted.high))
        share *= max(high - low + 1, 0.0) / (span.width + 1)
        within = Span(min(low, span.high), max(high, min(low, span.high)), span.nulls if wanted.nulls else 0.0)
        spans[attr.id] = replace(within, since=span.since, rising=span.rising)
    part = of.rows * min(share, 1.0) if rows is None else min(rows, of.rows)
    return replace(share_of(of, part / of.rows if of.rows else 0.0), spans=spans)


def _keys(node: Keys, on: tuple[tuple[Attr, ...], ...], inputs: tuple[Estimate, ...]) -> Estimate:
    parts = [(groups(attrs, e), e.rows) for attrs, e in zip(on, inputs, strict=True)]
    rows = together(parts) if parts else 0.0
    width = sum(width_of(a.type) for a in on[0]) if on else 8.0
    return Estimate(rows, Change(rows), {}, max(width, 1.0), True)


def _restricted(of: Estimate, on: tuple[Attr, ...], keys: float) -> Estimate:
    number = groups(on, of)
    share = min(keys / number, 1.0) if number > 0 else 0.0
    kept = share_of(of, share)
    # The keys are mostly those that the run touches, so that all that it changes is among them.
    change = kept.change if of.delta else at_most(of.change, kept.rows, math.inf)
    distinct = {**kept.distinct, **({on[0].id: min(keys, number)} if len(on) == 1 else {})}
    return replace(kept, change=change, distinct=distinct)


def _minus(of: Estimate) -> Estimate:
    """A snapshot with its weights negated: a Delta that takes all of it away."""
    return replace(of, change=Change(0.0, 0.0, of.rows), delta=True)


def _indexed(index: Index, known: Known) -> Estimate:
    return estimate_tree(index.rel, known, {}, {})


def _probe(node: Probe, of: Estimate, known: Known) -> Estimate:
    held = _indexed(node.index, known)
    links = [Link(e, reference(k), node.null_safe) for e, k in zip(node.on, node.index.keys, strict=True)]
    made = linked(of, held, links)
    each = known.found(node.index)
    rows = made.rows if each is None else of.rows * each
    made = replace(made, rows=rows)
    if of.delta:
        return replace(made, change=of_rows(of.change, rows), delta=True)
    return replace(made, change=of.change * (rows / of.rows if of.rows > 0 else 0.0))
