"""What a node, a step and a plan cost, in seconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from headrace.cost.operators import NOTHING, Cost, Pricing
from headrace.cost.prices import Prices
from headrace.ir.empty import without_fallbacks
from headrace.ir.near import Near
from headrace.ir.plan import Keep, Pin, Plan, Publish, Remember, Step
from headrace.ir.probe import Index, indexes
from headrace.ir.rel import Delta, Fallback, Load, Node, Ref, Rel, Snapshot, Source
from headrace.ir.time import NEW, OLD
from headrace.ir.walk import leaves, nodes
from headrace.stats.cardinality import Estimate, Known, estimate_tree
from headrace.stats.estimate import drawn, width_of
from headrace.stats.steps import Steps

__all__ = ["Cost", "PlanCost", "built", "inserted", "price", "price_plan", "published", "saved"]

# A step that reads no more rows is computed in the driver.
SMALL = 150_000
# Rows of a file of a large result.
_FILE = 1_000_000.0


def price(
    node: Node,
    inputs: tuple[Estimate, ...],
    output: Estimate,
    prices: Prices,
    *,
    large: bool,
    found: Collection[int] = (),
) -> Cost:
    """What a node costs whose inputs and rows are as estimated, in a step that is large or small. The inputs at the
    places ``found`` are looked up."""
    pricing = Pricing(prices, large)
    return pricing.node(node, inputs, output, found) + pricing.planned()


def saved(rows: Estimate, prices: Prices, *, large: bool) -> Cost:
    """Keeping rows as a Segment of a state."""
    return Pricing(prices, large).written(rows.rows, rows.bytes) + Cost(fixed=prices.commit)


def published(
    change: Estimate, result: Estimate, prices: Prices, *, large: bool, growing: bool, clustered: bool
) -> Cost:
    """Working a Delta into a result: appended where it only adds rows; a small result is written anew, of a large one
    those files that hold rows which leave."""
    pricing = Pricing(prices, large)
    if growing:
        return pricing.written(change.rows, change.bytes)
    leaving = change.change.deletes + change.change.updates
    touched = result.before if result.before > 0 else result.rows
    if large:
        if leaving <= 0:
            return pricing.written(change.rows, change.bytes)
        if clustered:
            touched = min(touched, _FILE * drawn(max(touched / _FILE, 1.0), leaving))
    rows = max(touched, 0.0) + change.rows
    cost = pricing.scanned(Estimate(touched, width=result.width), prices.scan_row)
    cost += Cost(cpu=rows * prices.rewrite_row / pricing.cores)
    return cost + pricing.written(rows, rows * result.width)


# Of a row that is looked up, the bytes beside its columns, and how many of theirs there are: most numbers are small.
_RECORD, _PACKED = 18.0, 0.5


def index_bytes(rows: float, width: float) -> float:
    """The memory that rows of so many bytes take where they are looked up."""
    return rows * (_RECORD + _PACKED * width)


def built(rows: float, width: float, prices: Prices) -> Cost:
    """Building an index of so many rows, once they are read."""
    return Cost(cpu=rows * prices.index_row / prices.cores, fixed=prices.job, memory=index_bytes(rows, width))


def inserted(rows: float, width: float, prices: Prices) -> Cost:
    """Letting an index that is there see new rows."""
    return Cost(cpu=rows * prices.insert_row, memory=index_bytes(rows, width))


@dataclass(frozen=True)
class PlanCost:
    """What each step of a plan costs, by name; and what the run costs besides."""

    steps: Mapping[str, Cost]
    run: Cost = NOTHING

    @property
    def total(self) -> Cost:
        return sum(self.steps.values(), self.run)

    @property
    def seconds(self) -> float:
        return self.total.seconds


def price_plan(
    plan: Plan, known: Known, prices: Prices, *, result: Estimate | None = None, held: Collection[str] | None = None
) -> PlanCost:
    """What a run by a plan costs. ``result`` is what the view's table holds after it; ``held`` names the indexes that
    are there, all of them unless it is given."""
    return _PlanPricing(plan, known, prices, result, held).priced()


class _PlanPricing:
    def __init__(
        self,
        plan: Plan,
        known: Known,
        prices: Prices,
        result: Estimate | None,
        held: Collection[str] | None,
    ) -> None:
        self.plan = plan
        self.known = known
        self.prices = prices
        self.result = result
        self.held = held
        self.steps = Steps(known)

    def priced(self) -> PlanCost:
        steps = dict(self._indexes())
        for step in self.plan.steps:
            steps[step.name] = self._step(step)
        return PlanCost(steps, Cost(fixed=self.prices.run))

    def _step(self, step: Step) -> Cost:
        out = self.steps.add(step)
        large = self._reads(step, without_fallbacks(step.rel)) > SMALL
        cost = self._tree(step.rel, Pricing(self.prices, large)) + self._fixed(large)
        match step:
            case Pin() | Remember():
                held = Cost(cpu=out.rows * self.prices.held_row, memory=out.bytes)
                return cost + held
            case Keep():
                return cost + saved(out, self.prices, large=large)
            case Publish(replace=True, cluster=cluster):
                pricing = Pricing(self.prices, large)
                ordered = pricing.sorted(out, spread=True) if large and cluster is not None else NOTHING
                return cost + ordered + pricing.written(out.rows, out.bytes)
            case Publish(growing=growing, cluster=cluster):
                result = self.result or Estimate(0.0, width=out.width)
                how = {"large": large, "growing": growing, "clustered": cluster is not None}
                return cost + published(out, result, self.prices, **how)

    def _fixed(self, large: bool) -> Cost:
        return Cost(fixed=self.prices.job if large else self.prices.driver_step)

    def _estimate(self, rel: Rel) -> Estimate:
        return self.steps.of(rel)

    def _reads(self, step: Step, rel: Rel | None) -> float:
        """The rows that a step reads for a tree: which says where it is computed."""
        total = 0.0
        if isinstance(step, Publish) and not step.replace and not step.growing and self.result is not None:
            total += self.result.before
        return total + sum(self._estimate(leaf).rows for leaf in (leaves(rel) if rel is not None else ()))

    def _tree(self, rel: Rel, pricing: Pricing) -> Cost:
        """A tree with all below it. What is used twice is computed twice: Spark does so too."""
        done: dict[int, Cost] = {}

        def visit(r: Rel) -> Cost:
            if isinstance(r, Ref):
                return Cost(cpu=self.steps.made[r.step].rows * self.prices.held_row / pricing.cores)
            assert isinstance(r, Node)
            if isinstance(r, Fallback):
                return visit(r.needed) + self._seldom(r)
            if id(r) not in done:
                inputs = tuple(self._estimate(i) for i in r.inputs)
                own = pricing.node(r, inputs, self._estimate(r)) + pricing.planned()
                below = () if isinstance(r, Snapshot | Delta | Load | Near) else r.inputs
                done[id(r)] = sum((visit(i) for i in below), own)
            return done[id(r)]

        return visit(rel)

    def _seldom(self, fallback: Fallback) -> Cost:
        """What is computed in some runs only, at what it costs on average. Where it is many rows, it makes the step a
        large one."""
        rows = sum(self._estimate(leaf).rows for leaf in leaves(fallback.input))
        cost = self._tree(fallback.input, Pricing(self.prices, rows > SMALL))
        return cost * min(self._estimate(fallback.needed).rows, 1.0)

    def _indexes(self) -> dict[str, Cost]:
        """Indexes that are not there are built; all see what is new."""
        found: dict[str, Index] = {}
        for step in self.plan.steps:
            found |= indexes(step.rel)
        costs: dict[str, Cost] = {}
        new = 0.0
        for name, index in sorted(found.items()):
            width = sum(width_of(a.type) for a in index.rel.attrs)
            if self.held is not None and name not in self.held:
                rows = self._estimate(index.rel)
                reads = sum(self._estimate(leaf).rows for leaf in leaves(index.rel))
                pricing = Pricing(self.prices, reads > SMALL)
                costs[f"index {index}"] = self._tree(index.rel, pricing) + built(rows.rows, width, self.prices)
            held = (n.of for n in nodes(index.rel) if isinstance(n, Snapshot))
            deltas = [Delta(of, OLD, NEW) for of in held if isinstance(of, Source)]
            new += sum(estimate_tree(delta, self.known, {}, {}).rows for delta in deltas)
        if new:
            costs["index new rows"] = inserted(new, 0.0, self.prices) + self._fixed(new > SMALL)
        return costs
