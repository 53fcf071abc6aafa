"""How a view is maintained, as a graph for Graphviz: rows flow upwards, from sources to the result."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

_WIDTH = 40
_COLOURS = {"recompute": "#f4cccc", "read": "#e8eef7"}
_STATE = 'shape=cylinder style=filled fillcolor="#fff2cc"'


def dot(data: Mapping[str, Any]) -> str:
    """The facts of ``explain_data`` as a DOT document. What is recomputed is red and says why; a state hangs by a
    dashed line at the operator that keeps it, or stands alone where it is kept for several."""
    lines = [
        f"digraph {_quoted([data['view']])} {{",
        '  rankdir=BT node [shape=box fontname="Helvetica" fontsize=10] edge [fontname="Helvetica" fontsize=9]',
        f"  result [label={_quoted([data['view']])} shape=box3d]",
    ]
    sizes = {s["name"]: s["bytes"] for s in data["states"]}
    for o in data["operators"]:
        label = [*wrap(o["text"], _WIDTH), f"({o['method']})"]
        if o["reason"]:
            label += wrap(f"because {o['reason']}", _WIDTH)
        colour = f' style=filled fillcolor="{_COLOURS[o["method"]]}"' if o["method"] in _COLOURS else ""
        above = "result" if o["above"] is None else f"n{o['above']}"
        lines += [f"  n{o['place']} [label={_quoted(label)}{colour}]", f"  n{o['place']} -> {above}"]
        if o["state"]:
            kept = [o["state"], *_size(sizes[o["state"]])]
            lines += [f"  s{o['place']} [label={_quoted(kept)} {_STATE}]"]
            lines += [f"  s{o['place']} -> n{o['place']} [style=dashed dir=none]"]
    shown = {o["state"] for o in data["operators"]}
    for place, state in enumerate(s for s in data["states"] if s["name"] not in shown):
        label = [state["name"], *wrap(state["operator"], _WIDTH), *_size(state["bytes"])]
        lines.append(f"  k{place} [label={_quoted(label)} {_STATE}]")
    return "\n".join([*lines, "}"])


def _size(found: int | None) -> list[str]:
    return [f"{found:,} bytes" if found else "not built yet"]


def _quoted(lines: list[str]) -> str:
    inner = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{inner}"'
