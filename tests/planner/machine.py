"""Plans carried out in plain Python: what Spark does with the steps of a run, on bags. As there, what turns out to have
no rows is left out of later steps.

Sums of doubles come out a little different each time they are computed from rows, as they do when Spark adds in
another order: a plan that takes back what it did not publish leaves both rows behind, and is found out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rules.meaning import Bag, Meaning, minus, row, tidy

from headrace.ir.aggregate import floating
from headrace.ir.empty import without_empty
from headrace.ir.plan import Keep, Pin, Publish, Step
from headrace.ir.rel import Aggregate, Constant, Delta, Load, Measured, Node, Partials, Ref, Rel, Snapshot, Source
from headrace.ir.time import NEW, OLD
from headrace.memo.memo import Memo

JITTER = 1e-6


class Machine(Meaning):
    """States and the result of a view, and the rows of its sources before and after the run at hand."""

    def __init__(self) -> None:
        super().__init__(Memo(), {})
        self.states: dict[str, Bag] = {}
        self.result: Bag | None = None
        self._before: dict[str, Bag] = {}
        self._frames: dict[str, Bag] = {}
        self._computed = 0

    def run(self, steps: Iterable[Step], before: Mapping[str, Bag], after: Mapping[str, Bag]) -> None:
        self.world = {n: {OLD: before[n], NEW: after[n]} for n in after}
        self._before, self._frames = dict(self.states), {}
        for step in steps:
            whole = getattr(step, "base", False) or getattr(step, "replace", False)
            left, _ = without_empty(step.rel, (lambda _: False) if whole else lambda leaf: not self.of(leaf))
            bag = Counter() if left is None else self.of(left)
            match step:
                case Pin(name=name):
                    self._frames[name] = bag
                case Keep(name=name, state=state, base=base):
                    self.states[state] = bag if base else plus(self.states[state], bag)
                    if not base:
                        self._frames[name] = bag
                    assert all(w > 0 for w in self.states[state].values()), f"{state} has rows of negative weight"
                case Publish(replace=replace, growing=growing):
                    assert replace or self.result is not None, "a change of nothing is published"
                    assert replace or not growing or all(w > 0 for w in bag.values()), "it was said to grow"
                    self.result = bag if replace else plus(self.result or Counter(), bag)
                    assert all(w > 0 for w in self.result.values()), "the result has rows of negative weight"

    def of(self, rel: Rel) -> Bag:
        match rel:
            case Ref(step=step):
                return self._frames[step]
            case Load(state=state, at=at):
                return self._before[state] if at == OLD else self.states[state]
            case Snapshot(of=Source(name=name), at=at):
                assert at in (OLD, NEW)
                return self.world[name][at]
            case Delta(of=Source(name=name)):
                return minus(self.world[name][NEW], self.world[name][OLD])
            case Measured(input=below):
                return self.of(below)
            case Constant():
                return Counter({row({}): 1})
            case Snapshot() | Delta():
                raise AssertionError(f"{rel} is not a leaf that a run can read")
        assert isinstance(rel, Node)
        return tidy(self._apply(rel, [self.of(i) for i in rel.inputs]))

    def _apply(self, node: Node, bags: list[Bag]) -> Bag:
        made = super()._apply(node, bags)
        if isinstance(node, Partials | Aggregate):
            sums = [c for c in node.calls if c.function == "sum" and any(floating(e.type) for e in c.args)]
            ids = {b.attr.id for c in sums for b in c.buffers if b.merge == "add" and b.attr.type == "double"}
            ids |= {c.attr.id for c in sums} if isinstance(node, Aggregate) else set()
            if ids:
                self._computed += 1
                shift = self._computed * JITTER
                made = Counter({_shifted(r, ids, shift): w for r, w in made.items()})
        return made


def _shifted(r: frozenset[tuple[str, object]], ids: set[str], shift: float) -> frozenset[tuple[str, object]]:
    return frozenset((k, v + shift if k in ids and isinstance(v, int | float) else v) for k, v in r)


def plus(one: Bag, other: Bag) -> Bag:
    out = Counter(one)
    out.update(other)
    return tidy(out)


def rounded(bag: Bag) -> Bag:
    out: Bag = Counter()
    for r, w in bag.items():
        out[frozenset((k, round(v, 3) if isinstance(v, float) else v) for k, v in r)] += w
    return out
