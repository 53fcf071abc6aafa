"""What a view keeps, by cost: planned for the changes that are expected, and again when they leave that range.

A view that is to cost least is planned for what is expected from the first. Any other keeps what the fixed preference
says, and is planned by cost once its changes have been alike for some runs. It is then changed where another set of
states is expected to save a good part of a refresh, and, where some of them must be computed first, where that has been
lost already in the runs that were alike: as much again may be won. What is expected follows from prices, and from how
long runs of each kind took beside theirs.

A plan is remembered for sizes of about the same: within a factor of two of what it was made for. Sizes that come for
the first time are worked in by a plan that is there: planning another takes time, and its code would be new, which
takes longer still. When they come again they are planned for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from headrace.api.status import arrivals
from headrace.cost.correction import Correction
from headrace.cost.model import SMALL
from headrace.cost.seconds import Seconds
from headrace.cost.tuples import TupleModel, Tuples
from headrace.ir.plan import Kept, Plan, Publish
from headrace.ir.time import Reached, Situation
from headrace.planner.problem import AnyModel, Arriving, refresh
from headrace.planner.search import Valuation
from headrace.runtime.arrivals import ALIKE, alike, predict
from headrace.runtime.choice import FULL
from headrace.stats import feedback

if TYPE_CHECKING:
    from headrace.api.view import View

_SECONDS = 5.0  # to plan in for the least cost
_SHORT = 1.0  # to plan in otherwise
_EXPECTED = 0.01  # of a source's rows: what comes where nothing is known
_WORTH = 0.7  # of the cost with the states that are there: others must cost less

Data = Mapping[str, Arriving]


@dataclass(frozen=True)
class Remembered:
    """What was planned for some changes: the states to keep of those that were there, or how to work changes in."""

    data: Data
    of: object
    planned: Any


def recalled(memory: Iterable[Remembered], data: Data, of: object) -> Any | None:
    """What was planned for about the same."""
    return next((r.planned for r in memory if r.of == of and _near(r.data, data)), None)


def _stand_in(view: View, data: Data, of: object) -> Plan | None:
    """For sizes that come for the first time, what was planned last for others of their kind. One that computes all of
    the result was for many changes, and says nothing of few."""
    first = recalled(view._seen, data, of) is None
    view._seen.append(Remembered(data, of, True))
    plans: Iterator[Plan] = (r.planned for r in reversed(view._planned) if r.of == of)
    parts = (p for p in plans if not any(isinstance(s, Publish) and s.replace for s in p.steps))
    return next(parts, None) if first else None


def _near(one: Data, other: Data) -> bool:
    """Whether sizes differ by no more than a factor of two."""
    pairs = ((a, b) for n in one for a, b in zip(_sizes(one[n]), _sizes(other[n]), strict=True))
    return one.keys() == other.keys() and all(a <= 2 * b + 1 and b <= 2 * a + 1 for a, b in pairs)


def _sizes(a: Arriving) -> tuple[float, float, float]:
    return a.before, a.inserts + a.updates, a.deletes + a.updates


def model(view: View, data: Data, at: Reached, last: Mapping[str, Any] | None = None, *, memory: int = 0) -> AnyModel:
    """What work costs in a run that finds these: in seconds, or in rows where there are too few of them for seconds to
    tell more of them than of the machine. Rows are looked up in what has room in ``memory`` bytes."""
    if sum(a.after for a in data.values()) > SMALL:
        lessons = feedback.recall(last.get("lessons", {})) if last else {}
        return Seconds(view._knowledge.arriving(data, at, lessons), view.warehouse._prices, memory)
    sizes = {n: Tuples(a.after, a.before, a.inserts + 2 * a.updates + a.deletes) for n, a in data.items()}
    return TupleModel(sizes, lookups=memory > 0)


def _room(view: View) -> int:
    """Bytes in which rows are looked up."""
    return view._memory.most if view._memory.possible else 0


# --- what is expected


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


def _usual(view: View, last: Mapping[str, Any], at: Reached) -> tuple[dict[str, Arriving], int]:
    """What the last runs found that are like the very last, and how many those are."""
    histories = {n: h for n, h in arrivals(last).items() if n in view._sources}
    runs = alike(histories) if histories.keys() == view._sources.keys() else 0
    data = {}
    for name, history in histories.items() if runs else ():
        some = history.arrivals[-runs:]
        rows = float(view._sources[name].snapshot(at.at(name)).rows)
        came, left = sum(a.inserted for a in some) / runs, sum(a.deleted for a in some) / runs
        data[name] = Arriving(rows, came, 0.0, min(left, rows + came))
    return data, runs


# --- what is kept


def keep(view: View, last: Mapping[str, Any] | None, until: Reached) -> tuple[Kept, ...]:
    """The states that a view should have from now on."""
    if view.goal.by_cost:
        return _cheapest(view, last, until)
    if last is None or view.refresh_policy != "AUTO" or view._knowledge.everything(until) <= SMALL:
        return there(view, last)
    data, runs = _usual(view, last, until)
    if runs < ALIKE:
        return there(view, last)
    decided = last.get("decided")
    if decided is None or decided["of"] != sorted(last["states"]) or not _near(_restored(decided), data):
        decided = _decided(view, last, data, until)
    view._decided = decided
    later = decided["keep"] is None or runs < decided["after"]
    return there(view, last) if later else _named(view, decided["keep"])


def kept_by(view: View) -> str:
    """How the states of a view were chosen."""
    if view.goal.by_cost:
        return "least cost"
    return "preference" if view._planner.states_are_preferred else "usual changes"


def there(view: View, last: Mapping[str, Any] | None) -> tuple[Kept, ...]:
    """The states that a run has left, where they were chosen by cost for the query and the goal that the view has now;
    else those of the fixed preference."""
    how = "least cost" if view.goal.by_cost else "usual changes" if view.refresh_policy == "AUTO" else None
    if last is None or last["fingerprint"] != view._planner.fingerprint or last.get("kept_by", "") != how:
        return view._planner.preferred
    return _named(view, last["states"])


def _named(view: View, names: Iterable[str]) -> tuple[Kept, ...]:
    """States by their names; those of the fixed preference where a name means nothing to the rules that there are."""
    by_cost, sorted_ = view._planner.by_cost, sorted(names)
    known = all(n in by_cost.by_name for n in sorted_)
    return tuple(by_cost.state(by_cost.by_name[n]) for n in sorted_) if known else view._planner.preferred


def _cheapest(view: View, last: Mapping[str, Any] | None, until: Reached) -> tuple[Kept, ...]:
    by_cost, data, methods = view._planner.by_cost, expected(view, last, until), view.goal.methods
    names = tuple(n for n in (last["states"] if last else ()) if n in by_cost.by_name)
    of = ("least cost", frozenset(names))
    kept = recalled(view._planned, data, of)
    if kept is None:
        problem, models = refresh(data), [model(view, data, until, last, memory=_room(view))]
        preferred = [k.name for k in view._planner.preferred]
        planned = by_cost.plan(problem, models, have=names, known=[preferred], methods=methods, seconds=_SECONDS)
        kept = planned.kept[0]
        if last is not None and {k.name for k in kept} != set(names):
            now = by_cost.judged(problem, models, names, methods).total
            if planned.costs[0] > _WORTH * now:
                kept = _named(view, names)
        view._planned.append(Remembered(data, of, kept))
    assert isinstance(kept, tuple)
    return kept


def _decided(view: View, last: Mapping[str, Any], data: Data, until: Reached) -> dict[str, Any]:
    """Which states to keep for changes that are usual, None for those that are there, and after how many runs like
    them; as plain data, for the next process should not have to plan again."""
    kept, after = _better(view, last, data, until)
    names = None if kept is None else sorted(k.name for k in kept)
    sizes = {n: [a.before, a.inserts, a.deletes] for n, a in data.items()}
    return {"for": sizes, "of": sorted(last["states"]), "keep": names, "after": after}


def _restored(decided: Mapping[str, Any]) -> Data:
    """What a decision was made for."""
    return {n: Arriving(before, came, 0.0, left) for n, (before, came, left) in decided["for"].items()}


def _better(view: View, last: Mapping[str, Any], data: Data, until: Reached) -> tuple[tuple[Kept, ...] | None, float]:
    """The states that are clearly better for some changes than those that are there, and how many times such must have
    come before the better ones are bought."""
    have = there(view, last)
    by_cost, problem = view._planner.by_cost, refresh(data)
    models, names = [model(view, data, until, last, memory=_room(view))], [k.name for k in have]
    correction = Correction(**last.get("correction", {}))
    now = _seconds(by_cost.judged(problem, models, names), correction)
    preferred = [k.name for k in view._planner.preferred]
    planned = by_cost.plan(problem, models, have=names, known=[preferred, names], seconds=_SHORT)
    best = _seconds(planned.choice.best.runs[0], correction)
    if best == inf or best > _WORTH * now:
        return None, 0
    if {k.name for k in planned.kept[0]} <= set(names):
        return planned.kept[0], 0
    anew = correction.expected(FULL, by_cost.judged(problem, models, (), ("recompute",)).total)
    return planned.kept[0], anew / (now - best)


def _seconds(run: Valuation, correction: Correction) -> float:
    """What a run is expected to take, by how long runs of its kind took beside their prices."""
    if run.total == inf:
        return inf
    usual = max(correction.runs, key=lambda kind: (kind != FULL, correction.runs[kind]), default=FULL)
    return correction.expected(FULL if from_scratch(run) else usual, run.total)


def from_scratch(run: Valuation) -> bool:
    """Whether a run computes all of its result from sources."""
    return not run.keeping.keep and run.delivery.anew


# --- how changes are worked in


def plan(view: View, situation: Situation, since: Reached, until: Reached, last: Mapping[str, Any]) -> Plan | None:
    """The plan of a run that works changes in: by the fixed preference where the view keeps what that needs, else by
    cost; None where what was kept for other changes does not let these be worked in."""
    planner = view._planner
    if not view.goal.by_cost and planner.states_are_preferred:
        return planner.refresh(situation)
    data, of = found(view, since, until), (situation, frozenset(view._states))
    known = recalled(view._planned, data, of) or _stand_in(view, data, of)
    if known is None:
        prices = model(view, data, until, last, memory=_room(view))
        known = planner.refresh_by_cost(situation, prices, view.goal.methods)
        if known is not None:
            view._planned.append(Remembered(data, of, known))
    assert known is None or isinstance(known, Plan)
    return known


def plan_for(view: View, situation: Situation) -> Plan:
    """The plan of runs that will find a situation, for changes as they are expected; that which computes everything
    where what is kept does not let such changes be worked in."""
    planner = view._planner
    if not view.goal.by_cost and planner.states_are_preferred:
        return planner.refresh(situation)
    last, at = view._result.last_run(), Reached({n: s.discover() for n, s in view._sources.items()})
    data = {}
    for name, a in expected(view, last, at).items():
        came = max(a.inserts, 1.0) if name in situation.moved else 0.0
        left = min(max(a.deletes, 1.0), a.before) if name in situation.shrinking & situation.moved else 0.0
        data[name] = Arriving(a.before, came, 0.0, left)
    prices = model(view, data, at, last, memory=_room(view))
    return planner.refresh_by_cost(situation, prices, view.goal.methods) or planner.load()


def why(view: View, operator: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """The ways that the next refresh has for an operator, by the changes that are expected."""
    last = view._result.again().last_run()
    at = Reached({n: s.discover() for n, s in view._sources.items()})
    return [("refresh", view._planner.by_cost.why(next_run(view, last, at), operator))]


def by_method(view: View, last: Mapping[str, Any] | None, at: Reached) -> dict[str, float]:
    """What the changes that are expected cost in a refresh as it is planned, by the plan of least cost, and by those of
    single methods."""
    by_cost, data = view._planner.by_cost, expected(view, last, at)
    models = [model(view, data, at, last, memory=_room(view))]
    now = [k.name for k in view._planner.kept]
    planned = by_cost.plan(refresh(data), models, known=[now], compare=True, seconds=_SECONDS)
    alone = {f"{method} alone": s.costs[0] for method, s in planned.choice.methods.items()}
    return {"as it is": next_run(view, last, at).total, "all methods": planned.costs[0], **alone}


def next_run(view: View, last: Mapping[str, Any] | None, at: Reached) -> Valuation:
    """The least costs of the next refresh with the states that the view has, by the changes that are expected."""
    planner, problem = view._planner, refresh(expected(view, last, at))
    prices = model(view, problem.data[0], at, last, memory=_room(view))
    by_cost = planner.by_cost
    return by_cost.valued(problem.situation(0), planner.states, prices, view.goal.methods)
