"""How a view is maintained, for people: the operators with their methods, the states with their sizes."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ir.plan import Keep, Kept, Pin, Plan
from headrace.ir.rel import Consolidate, Measured, Node, Rel
from headrace.ir.show import describe


def explain(view: str, plan: Plan, states: tuple[Kept, ...], sizes: Mapping[str, int]) -> str:
    lines = [f'view "{view}": maintained incrementally', "", "operators"]
    width = min(max((len(u.text) + 2 * u.depth for u in plan.upkeep), default=0) + 4, 100)
    for u in plan.upkeep:
        text = "  " * (u.depth + 1) + u.text
        if len(text) > width - 2:
            text = text[: width - 3] + "…"
        kept = f"   keeps {u.state}" if u.state else ""
        lines.append(f"{text:<{width}}{u.method}{kept}")
        if u.reason:
            lines.append("  " * (u.depth + 2) + f"recomputed because {u.reason}")
    lines += ["", "states"]
    for k in states:
        size = f"{sizes[k.name]:,} bytes" if sizes.get(k.name) else "not built yet"
        lines.append(f"  {k.name:<26} {k.operator}  [{size}]")
    if not states:
        lines.append("  none: every delta follows from the sources alone")
    lines += ["", "steps of a refresh in which every source changes"]
    for step in plan.steps:
        match step:
            case Keep(state=state):
                lines.append(f"  keep     {state}")
            case Pin(name=name, rel=rel):
                lines.append(f"  hold     {name:<26} the delta of {_held(rel)}")
            case _:
                lines.append("  publish  the result's delta")
    return "\n".join(lines)


def _held(rel: Rel) -> str:
    """What a held relation is the delta of: its first operator that does something."""
    while isinstance(rel, Measured | Consolidate):
        rel = rel.input
    return describe(rel) if isinstance(rel, Node) else "a step"
