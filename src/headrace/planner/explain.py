"""How a view is maintained: the operators with their methods, the states with their sizes, the steps of a refresh.

``explain_data`` gives the facts as plain data, ``explain`` tells them to people; ``planner.dot`` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.ir.plan import Keep, Kept, Pin, Plan, Remember, Step
from headrace.ir.rel import Consolidate, Measured, Node, Rel, Shortfall
from headrace.ir.show import describe
from headrace.ir.timeline import Timeline
from headrace.planner.by_cost import Planned
from headrace.planner.problem import Latest

CHOSEN = {"least cost": "the least cost", "usual changes": "the changes that it usually finds"}


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
    kept_by: str = "preference",
    methods: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The facts about a view. ``sizes`` are bytes by state, ``seconds`` what earlier runs let expect by method,
    ``memory`` bytes by what is held to look rows up in. ``costs`` are the ways in which the next delta can be worked in
    and the seconds that each is expected to take, ``methods`` the seconds by prices alone of plans by single methods
    and by all together. ``kept_by`` says how states were chosen. Operators come top down, each with the place of the
    one above it."""
    return {
        "view": view,
        "policy": policy,
        "maintained": "incremental" if plan.situation is not None else "full",
        "operators": _operators(plan),
        "states": [{"name": k.name, "operator": k.operator, "bytes": sizes.get(k.name) or None} for k in states],
        "steps": [step_data(step) for step in plan.steps],
        "memory": dict(memory or {}),
        "costs": [dict(c) for c in costs],
        "kept_by": kept_by,
        "methods": {name: round(cost, 3) for name, cost in (methods or {}).items()},
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
    how = "" if data["kept_by"] == "preference" else f", chosen for {CHOSEN[data['kept_by']]}"
    lines += ["", f"states{how}"]
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
        if data["methods"]:
            lines += ["", "the same by prices alone, with what each plan would keep"]
            lines += [f"  {name:<48} {'':>14}      {cost:>9.2f} s" for name, cost in data["methods"].items()]
    elif data["seconds"]:
        lines += ["", "seconds that earlier runs let expect"]
        lines += [f"  {method:<12}{taken:>8.2f}" for method, taken in data["seconds"].items()]
    return "\n".join(lines)


def timeline_data(view: str, timeline: Timeline, planned: Planned) -> dict[str, Any]:
    """The facts about the runs of a view that are still to come: what each does, keeps and is expected to cost, and
    what each method alone would cost."""
    choice = planned.choice
    best, total = choice.best, _number(choice.best.total)
    found: list[dict[str, Any]] = []
    runs = zip(timeline.runs, planned.plans, planned.kept, planned.costs, strict=True)
    for number, (run, plan, kept, cost) in enumerate(runs):
        found.append(
            {
                "run": run.name,
                "weight": run.weight,
                "delivers": run.delivers,
                "waits": number in planned.waiting,
                "cost": round(cost, 3),
                "keeps": [{"name": k.name, "operator": k.operator} for k in kept],
                "operators": _operators(plan),
                "steps": [step_data(step) for step in plan.steps],
            }
        )
    return {
        "view": view,
        "maintained": "progressive",
        "timeline": found,
        "total": round(total, 3),
        "methods": {m: round(_number(s.total), 3) for m, s in choice.methods.items()},
        "states": sorted({k["name"] for run in found for k in run["keeps"]}),
        "complete": choice.complete,
        "runs": len(best.runs),
    }


def _number(total: Any) -> float:
    """A total as one number: of costs that are compared run by run, that of the last."""
    return float(total.costs[0] if isinstance(total, Latest) else total)


def explain_why(runs: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> str:
    """The ways that each run had for an operator, and the one that it takes."""
    lines = []
    for name, operators in runs:
        lines.append(f"run {name}")
        for o in operators:
            lines.append(f"  {o['operator']}, {o['of']}")
            for way in o["ways"]:
                cost = "not possible here" if way["cost"] is None else f"{way['cost']:,.3f}"
                lines.append(f"    {'→' if way['taken'] else ' '} {way['rules']:<48}{cost:>18}")
    return "\n".join(lines)


def explain_timeline(data: Mapping[str, Any]) -> str:
    """The facts of ``timeline_data`` for people."""
    lines = [f'view "{data["view"]}": worked on ahead of when it is due']
    for run in data["timeline"]:
        due = "delivers the result" if run["delivers"] else "delivers nothing"
        due = "does nothing, its data is left to the next" if run["waits"] else due
        lines += ["", f"run {run['run']}: {due}, weight {run['weight']:g}, cost {run['cost']:,.3f}"]
        width = max((len(o["text"]) + 2 * o["depth"] for o in run["operators"]), default=0) + 4
        for o in run["operators"]:
            lines.append(f"{'  ' * (o['depth'] + 1) + o['text']:<{min(width, 100)}}{o['method']}")
        lines += [f"  keeps {k['name']}  {k['operator']}" for k in run["keeps"]]
    lines += ["", f"all runs, weighted {data['total']:>16,.3f}"]
    lines += [f"  {method + ' alone':<18}{cost:>14,.3f}" for method, cost in data["methods"].items()]
    return "\n".join(lines)


def step_data(step: Step) -> dict[str, str]:
    """A step as plain data: what is done, under which name, in words."""
    match step:
        case Keep(name=name, state=state):
            return {"do": "keep", "name": name, "what": state}
        case Pin(name=name, rel=Shortfall()):
            return {"do": "hold", "name": name, "what": "whether first rows are missing"}
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
