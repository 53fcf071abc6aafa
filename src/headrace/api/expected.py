"""What the ways to bring a view up to date are expected to cost, by prices and by what its earlier runs took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.cost.correction import Correction
from headrace.cost.model import SMALL, built, price_plan
from headrace.ir.plan import Plan, Publish
from headrace.ir.time import Reached
from headrace.runtime.choice import FULL, better_anew, incremental, words
from headrace.runtime.pace import Pace
from headrace.stats import feedback
from headrace.stats.cardinality import Change, Estimate, Learned, estimate_tree
from headrace.stats.estimate import width_of

if TYPE_CHECKING:
    from headrace.api.knowledge import RunStatistics
    from headrace.api.view import View
    from headrace.runtime.report import RefreshReport


@dataclass(frozen=True)
class Ran:
    """A run that was done: its plan, what was expected of it, the indexes that were there, and what it tells."""

    plan: Plan
    expected: Expected
    held: frozenset[str]
    report: RefreshReport


class Expected:
    """What is expected of a run between two versions. ``last`` is what the commit of the last run says."""

    def __init__(
        self,
        view: View,
        last: Mapping[str, Any] | None,
        since: Reached,
        until: Reached,
        changes: Mapping[str, Change] | None = None,
    ) -> None:
        """``changes`` are those that are expected, where they have not come yet."""
        self.view = view
        self.changes = changes
        self.since = since
        self.until = until
        self.there = last is not None
        self._asked: dict[int, tuple[Plan, float]] = {}
        self.lessons = feedback.recall(last.get("lessons", {})) if last else {}
        self.correction = Correction(**last.get("correction", {})) if last else Correction()
        self.pace = Pace(last["paces"]) if last else Pace()

    @property
    def worth_asking(self) -> bool:
        """Whether there is enough data for seconds to tell more of it than of the machine, or somebody asks."""
        return self.view._observer is not None or self.view._knowledge.everything(self.until) > SMALL

    @cached_property
    def known(self) -> RunStatistics:
        """What is known in a run that works changes in."""
        if not self.there:
            return self._moved(self.whole, states=False)
        known = self.view._knowledge.run(self.since, self.until, self.lessons, self.view._recall)
        return self._moved(known, states=True)

    @cached_property
    def whole(self) -> RunStatistics:
        """What is known in a run that computes everything: neither states nor changes need be there."""
        return self.view._knowledge.run(self.until, self.until, self.lessons, states=False)

    def next(self, changes: Mapping[str, Change]) -> RunStatistics:
        """What is known in a run that finds other changes where this one began."""
        view = self.view
        known = view._knowledge.run(self.since, self.since, self.lessons, view._recall)
        return view._knowledge.moved(known, changes, states=True)

    def _moved(self, known: RunStatistics, *, states: bool) -> RunStatistics:
        return known if self.changes is None else self.view._knowledge.moved(known, self.changes, states=states)

    def kind(self, plan: Plan) -> str:
        """The kind of a run, of which each has its own correction."""
        return FULL if plan.situation is None else incremental(self.view._recall.large(plan))

    def price(self, plan: Plan) -> float:
        """The seconds of a plan by prices alone. Indexes are taken to be there: they are built once."""
        if id(plan) not in self._asked:
            self._asked[id(plan)] = (plan, self._priced(plan))
        return self._asked[id(plan)][1]

    def _priced(self, plan: Plan) -> float:
        prices = self.view.warehouse._prices
        if plan.situation is None:
            return price_plan(plan, self.whole, prices).seconds
        return price_plan(plan, self.known, prices, result=self.result).seconds

    def seconds(self, plan: Plan) -> float:
        """The seconds of a plan, corrected by earlier runs."""
        return self.correction.expected(self.kind(plan), self.price(plan))

    def alternatives(self, plans: Iterable[Plan]) -> list[dict[str, Any]]:
        """What ways to refresh are expected to cost, the cheapest first: in words, with the rows that they work
        through."""
        found = []
        for plan in plans:
            kind, sources = self.kind(plan), self.known.sources.values()
            rows = sum(m.table.rows if kind == FULL else m.change.rows for m in sources)
            found.append({"plan": words(kind), "rows": round(rows), "seconds": round(self.seconds(plan), 3)})
        return sorted(found, key=lambda cost: float(cost["seconds"]))

    def better_anew(self, plan: Plan) -> str | None:
        """Why to compute everything anew instead of by a plan; None where that is not known to be better."""
        knowledge = self.view._knowledge
        anew = knowledge.about(self.until, lambda: self.price(knowledge.load))
        # What is lost must be made again only where changes are usually worked in faster.
        usual = self.pace.runs.get("incremental", 0.0)
        lost = self._lost if usual <= self.correction.expected(FULL, anew) else 0.0
        return better_anew(self.correction, self.kind(plan), self.price(plan), anew, lost)

    def learned(self, rows: Mapping[int, int]) -> dict[str, Learned]:
        """What is known of operators once a run has counted the rows of their changes."""
        view = self.view
        plain = view._knowledge.run(self.since, self.until, {}, states=self.there)
        counted = view._knowledge.counted(rows)
        return feedback.after(self.lessons, view._planner.query, plain, counted)

    @property
    def _lost(self) -> float:
        """Computing anew drops the indexes that are there. What is new would have to be put into them in any case."""
        total = 0.0
        for held in self.view._memory.held.values():
            source, width = held.index.source, sum(width_of(a.type) for a in held.index.rel.attrs)
            new = self.known.sources[source.name].change.rows if source is not None else 0.0
            total += built(max(held.counts[0] - new, 0.0), width, self.view.warehouse._prices).seconds
        return total

    @cached_property
    def result(self) -> Estimate:
        """What the view's table holds once changes are worked in."""
        (publish,) = (s for s in self.view._knowledge.load.steps if isinstance(s, Publish))
        made = estimate_tree(publish.rel, self.known, {}, {})
        if not self.there:
            return made
        return made.thinned(max(self.view._result.rows() + made.change.net, 0.0), made.change)
