"""Prices from measured steps.

A step's seconds are a sum over prices, each times how many units of it the step has: rows, bytes, jobs. So measured
steps are equations, and prices what solves them best: least squares of relative errors, each price no less than nothing
and drawn a little towards what it was, for no set of steps tells all prices apart. A step that the machine disturbed
counts less. Of few and disturbed steps the best sum may be far from most of them: prices from which the middle step is
further off than before are not taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from headrace.cost.model import price_plan
from headrace.cost.prices import Prices
from headrace.ir.plan import Plan
from headrace.stats.cardinality import Estimate, Known

Numbers = npt.NDArray[np.float64]
NAMES = tuple(f.name for f in fields(Prices) if f.name != "cores")
_LEAST, _MOST = 0.05, 20.0  # times what it was
_PULL = 0.004  # towards what it was, against the error of one step
_NOISE = 0.01  # seconds by which any step may be off
_ROUNDS, _SWEEPS = 8, 200


@dataclass(frozen=True)
class Sample:
    """A step that was done: its seconds, and the units of each price that it has."""

    step: str
    seconds: float
    units: Mapping[str, float]

    def priced(self, prices: Prices) -> float:
        return float(sum(n * getattr(prices, name) for name, n in self.units.items()))


def units(
    plan: Plan, known: Known, cores: float, *, result: Estimate | None = None, held: Collection[str] | None = None
) -> dict[str, dict[str, float]]:
    """The units of each price that each step of a plan has."""
    nothing = Prices(**dict.fromkeys(NAMES, 0.0), cores=cores)
    found: dict[str, dict[str, float]] = {}
    for name in NAMES:
        cost = price_plan(plan, known, replace(nothing, **{name: 1.0}), result=result, held=held)
        for step, one in cost.steps.items():
            if one.seconds:
                found.setdefault(step, {})[name] = one.seconds
    return found


def samples(steps: Mapping[str, Mapping[str, float]], seconds: Mapping[str, float]) -> list[Sample]:
    """The steps that were priced and measured."""
    return [Sample(step, seconds[step], of) for step, of in steps.items() if step in seconds]


def better(measured: Sequence[Sample], start: Prices) -> Prices:
    """The prices that explain measured steps best, or those before where these do as well."""
    found = fit(measured, start)
    return found if error(measured, found) < error(measured, start) else start


def fit(measured: Sequence[Sample], start: Prices) -> Prices:
    """The prices whose errors are the least in sum."""
    if not measured:
        return start
    scale = np.array([getattr(start, name) or 1e-9 for name in NAMES])
    matrix = np.array([[s.units.get(name, 0.0) for name in NAMES] for s in measured]) * scale
    seconds = np.array([s.seconds for s in measured])
    weight = 1.0 / (seconds + _NOISE)
    times = np.ones(len(NAMES))
    for _ in range(_ROUNDS):
        times = _solved(matrix * weight[:, None], seconds * weight, times)
        error = np.abs(matrix @ times - seconds) / (seconds + _NOISE)
        # Of a step that is far off, the machine is suspected: its error counts as it is, not as its square.
        weight = np.sqrt(np.minimum(1.0, 0.3 / np.maximum(error, 1e-12))) / (seconds + _NOISE)
    found = {name: float(times[i] * scale[i]) for i, name in enumerate(NAMES)}
    return replace(start, **found)


def _solved(matrix: Numbers, target: Numbers, start: Numbers) -> Numbers:
    """One price after another at its best while the others stay, until nothing moves."""
    times: Numbers = start.copy()
    rest = target - matrix @ times
    square = (matrix * matrix).sum(axis=0) + _PULL
    for _ in range(_SWEEPS):
        moved = 0.0
        for i in range(len(times)):
            best = (matrix[:, i] @ rest + (square[i] - _PULL) * times[i] + _PULL) / square[i]
            best = min(max(best, _LEAST), _MOST)
            step = best - times[i]
            if step:
                rest = rest - matrix[:, i] * step
                times[i] = best
                moved = max(moved, abs(step))
        if moved < 1e-6:
            break
    return times


def error(measured: Iterable[Sample], prices: Prices) -> float:
    """By how many times prices are off, as the middle of all steps has it."""
    ratios = sorted(
        max((s.priced(prices) + _NOISE) / (s.seconds + _NOISE), (s.seconds + _NOISE) / (s.priced(prices) + _NOISE))
        for s in measured
    )
    return ratios[len(ratios) // 2] if ratios else 1.0
