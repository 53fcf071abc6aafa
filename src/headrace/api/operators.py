"""What a run did operator by operator, from its plan and what it measured."""

from __future__ import annotations

from headrace.ir.plan import Plan
from headrace.runtime.report import OperatorReport
from headrace.spark.engine import Measures


def operators(plan: Plan, measures: Measures, rows_in: dict[str, int]) -> tuple[OperatorReport, ...]:
    upkeep = plan.upkeep
    below: list[list[int]] = [[] for _ in upkeep]
    above: list[int] = []
    for place, line in enumerate(upkeep):
        del above[line.depth :]
        if above:
            below[above[-1]].append(place)
        above.append(place)
    first = {line.tvr: place for place, line in reversed(list(enumerate(upkeep)))}

    def rows(place: int) -> int | None:
        """How many rows an operator's delta has: counted on the way, or as many as its input has."""
        place = first[upkeep[place].tvr]
        line = upkeep[place]
        if line.operator == "Source":
            return rows_in.get(line.text.removeprefix("Source "))
        if line.operator == "Project" and line.method == "linear" and len(below[place]) == 1:
            return rows(below[place][0])
        return measures.rows.get(line.tvr)

    entries = []
    for place, line in enumerate(upkeep):
        step = measures.step_of.get(line.tvr)
        known = [n for n in map(rows, below[place]) if n is not None]
        entries.append(
            OperatorReport(
                operator=line.operator,
                text=line.text,
                method=line.method,
                rows_in=sum(known) if known else None,
                rows_out=rows(place),
                seconds=measures.seconds.get(step) if step else None,
                step=step,
                reason=line.reason,
                depth=line.depth,
            )
        )
    return tuple(entries)
