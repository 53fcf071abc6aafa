"""What is expected of the steps of a plan, each from those before it.

What a step adds to a state is the change of the relation that the state holds. A tree of the algebra of deltas may come
to it by many rows that cancel out, touched groups taken away and given back, and its rows say little of how many stay;
the operator that the state is of says it, and what runs have learned of that operator.
"""

from __future__ import annotations

from headrace.ir.plan import Keep, Step
from headrace.ir.rel import Load, Rel
from headrace.ir.time import NEW
from headrace.stats.cardinality import estimate_tree
from headrace.stats.estimate import Estimate
from headrace.stats.known import Known


class Steps:
    """What is expected of steps by name, and of trees over them."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.made: dict[str, Estimate] = {}
        self._seen: dict[int, Estimate] = {}  # by ``id``: of nodes of steps, which outlive this

    def add(self, step: Step) -> Estimate:
        """What a step gives: the next one in the order of its plan."""
        made = self.of(step.rel)
        if isinstance(step, Keep) and made.delta:
            state = self.known.state(Load(step.state, step.rel.attrs, NEW))
            if state is not None and state.change.rows < made.rows:
                made = made.thinned(state.change.rows, state.change)
        self.made[step.name] = made
        return made

    def of(self, rel: Rel) -> Estimate:
        """A tree that is part of a step."""
        return estimate_tree(rel, self.known, self.made, self._seen)

    def of_new(self, rel: Rel) -> Estimate:
        """A tree that may be gone before this is."""
        return estimate_tree(rel, self.known, self.made, {})
