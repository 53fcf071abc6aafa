"""What a view keeps, by cost: planned for the changes that are expected, and again when they leave that range.

A plan is remembered for sizes of about the same: within a factor of two of what it was made for. The states that are
there are among what it may keep, and they are changed only where that is expected to save a good part of a refresh,
for what is new must be computed from scratch once.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import TYPE_CHECKING, Any

from headrace.api.status import arrivals
from headrace.cost.model import SMALL
from headrace.cost.seconds import Seconds
from headrace.cost.tuples import TupleModel, Tuples
from headrace.ir.plan import Kept
from headrace.ir.time import Reached
from headrace.planner.problem import AnyModel, Arriving, refresh
from headrace.runtime.arrivals import predict

if TYPE_CHECKING:
    from headrace.api.view import View

_SECONDS = 5.0  # to plan in
_EXPECTED = 0.01  # of a source's rows: what comes where nothing is known
_WORTH = 0.7  # of the cost with the states that are there: others must cost less

Shape = tuple[tuple[str, tuple[int, ...]], ...]


def shape(data: Mapping[str, Arriving]) -> Shape:
    """Sizes up to a factor of two."""
    sizes = {n: (a.before, a.inserts + a.updates, a.deletes + a.updates) for n, a in sorted(data.items())}
    return tuple((n, tuple(round(log2(rows + 1)) for rows in each)) for n, each in sizes.items())


def model(view: View, data: Mapping[str, Arriving], at: Reached, *, memory: int = 0) -> AnyModel:
    """What work costs in a run that finds these: in seconds, or in rows where there are too few of them for seconds to
    tell more of them than of the machine. Rows are looked up in what has room in ``memory`` bytes."""
    if sum(a.after for a in data.values()) > SMALL:
        return Seconds(view._knowledge.arriving(data, at), view.warehouse._prices, memory)
    return TupleModel({n: Tuples(a.after, a.before, a.inserts + 2 * a.updates + a.deletes) for n, a in data.items()})


def expected(view: View, last: Mapping[str, Any] | None, at: Reached) -> dict[str, Arriving]:
    """The next changes of each source, by what earlier runs found; a small part of it where nothing is known."""
    known = predict(arrivals(last)) if last else {}
    found = {}
    for name, source in view._sources.items():
        rows = float(source.snapshot(at.at(name)).rows)
        came, left = _EXPECTED * rows, _EXPECTED * rows if source.can_shrink else 0.0
        if name in known and known[name].inserted.sample:
            came, left = known[name].inserted.mean, known[name].deleted.mean
        found[name] = Arriving(rows, came, 0.0, min(left, rows + came))
    return found


def found(view: View, since: Reached, until: Reached) -> dict[str, Arriving]:
    """What a run finds in each source."""
    data = {}
    for name, source in view._sources.items():
        new, rows = source.delta(since.at(name), until.at(name)), float(source.snapshot(since.at(name)).rows)
        data[name] = Arriving(rows, new.rows - new.leaving, 0.0, min(new.leaving, rows + new.rows - new.leaving))
    return data


def keep(view: View, last: Mapping[str, Any] | None, until: Reached) -> tuple[Kept, ...]:
    """The states that a view should have from now on."""
    by_cost, data, methods = view._planner.by_cost, expected(view, last, until), view.goal.methods
    there = tuple(n for n in (last["states"] if last else ()) if n in by_cost.by_name)
    key = (shape(data), there)
    if key not in view._kept:
        problem, models = refresh(data), [model(view, data, until)]
        planned = by_cost.plan(problem, models, have=there, methods=methods, seconds=_SECONDS)
        kept = planned.kept[0]
        if last is not None and {k.name for k in kept} != set(there):
            now = by_cost.judged(problem, models, there, methods)
            if planned.costs[0] > _WORTH * now:
                kept = tuple(by_cost.state(by_cost.by_name[n]) for n in there)
        view._kept[key] = kept
    return view._kept[key]


def why(view: View, operator: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """The ways that the next refresh has for an operator, by the changes that are expected."""
    planner = view._planner
    by_cost = planner.by_cost
    last = view._result.again().last_run()
    at = Reached({n: s.discover() for n, s in view._sources.items()})
    problem = refresh(expected(view, last, at))
    prices, methods = model(view, problem.data[0], at), view.goal.methods
    run = by_cost.valued(problem.situation(0), planner.states, prices, methods)
    return [("refresh", by_cost.why(run, operator))]
