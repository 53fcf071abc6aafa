"""From the steps of a run to events that people can follow."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ir.plan import Plan
from headrace.planner.explain import step_data
from headrace.runtime.progress import Progress, StepBegan, StepDone


class Telling:
    """Passes on what a run says of its steps, with their place in the plan and what is expected of each."""

    def __init__(self, view: str, method: str, plan: Plan, expected: Mapping[str, float], progress: Progress) -> None:
        self._view = view
        self._method = method
        self._of = len(plan.steps)
        self._expected = expected
        self._progress = progress
        self._places = {step.name: place for place, step in enumerate(plan.steps, 1)}
        self._words = {step.name: " ".join(step_data(step)[k] for k in ("do", "what")) for step in plan.steps}

    def began(self, step: str) -> None:
        self._progress(StepBegan(*self._said(step)))

    def done(self, step: str, rows: int, seconds: float) -> None:
        self._progress(StepDone(*self._said(step), rows, seconds))

    def _said(self, step: str) -> tuple[str, str, int, int, str, str, float | None]:
        if step not in self._places:  # folding a state is decided on the way
            self._of += 1
            self._places[step] = self._of
        words = self._words.get(step, step)
        return self._view, self._method, self._places[step], self._of, step, words, self._expected.get(step)
