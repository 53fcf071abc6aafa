"""How a view is maintained: the operators with their methods, the states with their sizes, the steps of a refresh.

``explain_data`` gives the facts as plain data, ``explain`` tells them to people; ``planner.dot`` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.ir.plan import Keep, Kept, Pin, Plan, Remember, Step
from headrace.ir.rel import Consolidate, Measured, Node, Rel
from headrace.ir.show import describe


def explain_data(
    view: str,
    plan: Plan,
    states: tuple[Kept, ...],
    sizes: Mapping[str, int],
    *,
    policy: str = "AUTO",
    seconds: Mapping[str, float] | None = None,
    memory: Mapping[str, int] | None = None,
    costs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The facts about a view. ``sizes`` are bytes by state, ``seconds`` what earlier runs let expect by method,
    ``memory`` bytes by what is held to look rows up in. ``costs`` are the ways in which the next delta can be worked in
    and the seconds that each is expected to take. Operators come top down, each with the place of the one above it."""
    return {
        "view": view,
        "policy": policy,
        "maintained": "incremental" if plan.situation is not None else "full",
        "operators": _operators(plan),
        "states": [{"name": k.name, "operator": k.operator, "bytes": sizes.get(k.name) or None} for k in states],
        "steps": [step_data(step) for step in plan.steps],
        "memory": dict(memory or {}),
        "costs": [dict(c) for c in costs],
        "seconds": {method: round(taken, 3) for method, taken in (seconds or {}).items()},
    }


def explain(data: Mapping[str, Any]) -> str:
    incremental = data["maintained"] == "incremental"
    how = "maintained incrementally" if incremental else f"computed anew on every run: its policy is {data['policy']}"
    lines = [f'view "{data["view"]}": {how}', "", "operators"]
    operators = data["operators"]
    width = min(max((len(o["text"]) + 2 * o["depth"] for o in operators), default=0) + 4, 100)
    for o in operators:
        text = "  " * (o["depth"] + 1) + o["text"]
        if len(text) > width - 2:
            text = text[: width - 3] + "…"
        kept = f"   keeps {o['state']}" if o["state"] else ""
        lines.append(f"{text:<{width}}{o['method']}{kept}")
        if o["reason"]:
            lines.append("  " * (o["depth"] + 2) + f"recomputed because {o['reason']}")
    lines += ["", "states"]
    for state in data["states"]:
        size = f"{state['bytes']:,} bytes" if state["bytes"] else "not built yet"
        lines.append(f"  {state['name']:<26} {state['operator']}  [{size}]")
    if not data["states"]:
        lines.append(f"  none: {'every delta follows from the sources alone' if incremental else 'nothing is kept'}")
    lines += ["", "steps of a refresh in which every source changes" if incremental else "steps of a refresh"]
    for step in data["steps"]:
        held = f"{step['name']:<26} " if step["do"] == "hold" else ""
        lines.append(f"  {step['do']:<8} {held}{step['what']}")
    if data["memory"]:
        lines += ["", "in memory, to look rows up in"]
        lines += [f"  {what}  [{size:,} bytes]" for what, size in data["memory"].items()]
    if data["costs"]:
        lines += ["", "expected costs of the alternatives for the next delta"]
        for cost in data["costs"]:
            lines.append(f"  {cost['plan']:<48} {cost['rows']:>14,} rows {cost['seconds']:>9.2f} s")
    elif data["seconds"]:
        lines += ["", "seconds that earlier runs let expect"]
        lines += [f"  {method:<12}{taken:>8.2f}" for method, taken in data["seconds"].items()]
    return "\n".join(lines)


def step_data(step: Step) -> dict[str, str]:
    """A step as plain data: what is done, under which name, in words."""
    match step:
        case Keep(name=name, state=state):
            return {"do": "keep", "name": name, "what": state}
        case Pin(name=name, rel=rel) | Remember(name=name, rel=rel):
            return {"do": "hold", "name": name, "what": f"the delta of {_held(rel)}"}
        case _:
            return {"do": "publish", "name": step.name, "what": "the result" if step.replace else "the result's delta"}


def _operators(plan: Plan) -> list[dict[str, Any]]:
    above: list[int] = []
    found = []
    for place, u in enumerate(plan.upkeep):
        del above[u.depth :]
        facts = {"text": u.text, "method": u.method, "state": u.state, "reason": u.reason, "depth": u.depth}
        found.append({"place": place, "above": above[-1] if above else None, "operator": u.operator, **facts})
        above.append(place)
    return found


def _held(rel: Rel) -> str:
    """What a held relation is the delta of: its first operator that does something."""
    while isinstance(rel, Measured | Consolidate):
        rel = rel.input
    return describe(rel) if isinstance(rel, Node) else "a step"
