"""One run of a view's timeline: what is due, what is there, a plan of all runs still to come, and its first run done.

The rest of the timeline is planned anew before every run, for only now its data is known; the states that earlier runs
have left are among what it may use (Tempura §7), and what later runs will find is foreseen (``runtime.to_come``). A run
that need not deliver waits, with all states as they are, where its data is cheaper to work in together with that of the
next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.api.refreshing import Refreshing, attempt
from headrace.api.replanning import model
from headrace.ir.plan import Plan
from headrace.ir.time import Reached
from headrace.ir.timeline import Timeline
from headrace.planner.by_cost import Planned
from headrace.planner.explain import timeline_data
from headrace.planner.problem import Arriving, Problem
from headrace.runtime.progress import Progress, silent
from headrace.runtime.reason import Reason
from headrace.runtime.report import RefreshReport
from headrace.runtime.to_come import to_come
from headrace.spark.engine import State

if TYPE_CHECKING:
    from headrace.api.view import View

_SECONDS = 5.0  # to plan in


def advance(view: View, progress: Progress, *, anew: bool = False) -> RefreshReport:
    """Do the next run of a view's timeline, under its lease; ``anew`` begins it again."""
    return attempt(view, progress, lambda started: Advancing(view, started, progress, anew=anew).advance())


def explain_runs(view: View) -> dict[str, Any]:
    """How the runs still to come would be done with the data that is there now, and what else they could cost."""
    view._reload()
    advancing = Advancing(view, 0.0, silent)
    planned = advancing.plan(compare=True)
    return timeline_data(view.name, advancing.rest, planned)


def why(view: View, operator: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each run still to come, the ways that it has for an operator, and the one that it takes."""
    view._reload()
    advancing = Advancing(view, 0.0, silent)
    planned, by_cost = advancing.plan(), view._planner.by_cost
    done = [r for number, r in enumerate(advancing.rest.runs) if number not in planned.waiting]
    named = zip(done, planned.choice.best.runs, strict=True)
    return [(run.name, by_cost.why(valuation, operator)) for run, valuation in named]


class Advancing(Refreshing):
    """What a run of a timeline finds: how many runs were done, the states they left, the rows that each found."""

    def __init__(self, view: View, started: float, progress: Progress, *, anew: bool = False) -> None:
        super().__init__(view, started, progress)
        assert view.timeline is not None
        record = self.last.get("timeline", {}) if self.last else {}
        done = record.get("done", 0)
        self.found: list[dict[str, list[int]]] = record.get("found", [])
        self.before: list[dict[str, list[int]]] = record.get("before", [])
        self.delivered = bool(record.get("delivered"))
        self.shown: Mapping[str, int] = record.get("shown", {})
        self.seen = Reached(record["seen"]) if "seen" in record else self.since  # further on than what was worked in
        self.have: tuple[str, ...] = tuple(record.get("states", ())) if self.last else ()
        if anew or not 0 < done < len(view.timeline):
            done, self.before, self.found = 0, self.found if done else self.before, []
        self.done = done
        self._take(self.have if done else ())
        self.reason: Reason | None = self._reason_to_load(anew)
        self.begun = bool(done) and self.reason is None
        if not self.begun:
            self.have = ()
            self.seen = Reached()
            self._take(())
        self.rest: Timeline = view.timeline.rest(done)

    def advance(self) -> RefreshReport:
        planned = self.plan()
        plan, kept, found = planned.plans[0], frozenset(k.name for k in planned.kept[0]), self._rows(self.seen)
        self._take((*self.have, *kept))
        delivers = self.rest.runs[0].delivers
        since = self.since if self.begun else Reached()
        record = {
            "done": self.done + 1,
            "states": sorted(kept),
            "delivered": self.delivered or delivers,
            "shown": dict(self.until.positions) if delivers else dict(self.shown),
            "seen": dict(self.until.positions),
            "found": [*self.found, found],
            "before": self.before,
        }
        waits = 0 in planned.waiting
        if waits:
            self.until = since
        elif self.begun:
            plan = self._near(plan, since)
        method = "waiting" if waits else "incremental" if self.begun else "full" if self.last else "initial"
        reason = None if self.begun else self.reason or Reason("TIMELINE_BEGINS")
        report = self._run(method, reason, plan, since, self.until, kept=kept, more={"timeline": record})
        self._take(sorted(kept))
        return report

    def plan(self, *, compare: bool = False) -> Planned:
        """The runs still to come, by cost."""
        problem = Problem(
            self.rest,
            tuple(self._data()),
            begun=self.begun,
            published=self.begun and self.delivered and any(r.delivers for r in self._past()),
        )
        by_cost, methods = self.view._planner.by_cost, self.view.goal.methods

        def plan(some: Problem, seconds: float) -> Planned:
            models = [model(self.view, run, self.until) for run in some.data]
            return by_cost.plan(some, models, have=self.have, methods=methods, compare=compare, seconds=seconds)

        return by_cost.plan_or_wait(problem, plan, self.have, _SECONDS)

    def _near(self, plan: Plan, since: Reached) -> Plan:
        """The same, with files passed over that cannot match."""
        self._rewind()
        return self.view._recall.near(plan, since, self.until, wherever=True)

    def _past(self) -> tuple[Any, ...]:
        assert self.view.timeline is not None
        return self.view.timeline.runs[: self.done]

    def _take(self, names: Any) -> None:
        """Let the view have some states and no others."""
        view = self.view
        by_name = view._planner.by_cost.by_name if names else {}
        view._states = {
            n: State(view._folder / "states", view._planner.by_cost.state(by_name[n])) for n in names if n in by_name
        }
        view._recall.states = view._states

    def _rows(self, since: Reached) -> dict[str, list[int]]:
        """The rows that came and left up to now, by source."""
        found = {}
        for name, source in self.view._sources.items():
            new = source.delta(since.at(name), self.until.at(name))
            found[name] = [new.rows - new.leaving, new.leaving]
        return found

    def _data(self) -> list[dict[str, Arriving]]:
        """What each run still to come will see: this one is known, of the others it is expected."""
        since = self.since if self.begun else Reached()
        rows, new = self._rows(since), self._rows(self.seen)
        assert self.view.timeline is not None
        runs = self.view.timeline.runs
        data = []
        have = {n: float(s.snapshot(since.at(n)).rows if since.at(n) else 0) for n, s in self.view._sources.items()}
        for run in range(self.done, self.done + len(self.rest)):
            expected = rows if run == self.done else to_come(runs, run, [*self.found, new], self.before)
            made = {}
            for name, (came, left) in expected.items():
                left = min(left, int(have[name]) + came)
                made[name] = Arriving(have[name], came, 0.0, left)
                have[name] = made[name].after
            data.append(made)
        return data
