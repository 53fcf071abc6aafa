"""Relations in words, one printer for explain, reports, errors and tests."""

from __future__ import annotations

from headrace.ir.expr import pretty
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Constant,
    EvalPython,
    Expand,
    Filter,
    Finish,
    Generate,
    Group,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Meeting,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Project,
    Provided,
    Ref,
    Rel,
    Restrict,
    Snapshot,
    Source,
    Union,
    Window,
)

_WIDTH = 110


def describe(node: Node) -> str:
    """An operator with its parameters, without its inputs, on one line."""
    return _cut(_describe(node))


def tree(rel: Rel, depth: int = 0) -> str:
    """A relation with all below it, an operator a line; a group and a step by name."""
    match rel:
        case Group(id=number):
            text = f"Group {number}"
        case Ref(step=step):
            text = f"Step {step}"
        case Node():
            text = describe(rel)
        case _:
            text = type(rel).__name__
    inputs = rel.inputs if isinstance(rel, Node) else ()
    return "\n".join(["  " * depth + text, *(tree(i, depth + 1) for i in inputs)])


def _describe(node: Node) -> str:
    match node:
        case Source(name=name):
            return f"Source {name}"
        case Constant(text=text):
            return f"Constant {pretty(text)}"
        case Project(columns=columns):
            return f"Project {_list(columns)}"
        case Filter(conjuncts=conjuncts):
            return f"Filter {' AND '.join(map(str, conjuncts))}"
        case Union(branches=branches):
            return f"Union of {len(branches)}"
        case Expand(rows=rows):
            return f"Expand to {len(rows)} rows each"
        case Generate(text=text):
            return f"Generate {pretty(text)}"
        case EvalPython(text=text):
            return f"Python {pretty(text)}"
        case Join(members=members, equals=equals, residual=residual):
            on = " AND ".join(map(str, (*equals, *residual)))
            return f"Join of {len(members)}{' on ' + on if on else ''}"
        case PairJoin(kind=kind, condition=condition):
            return f"{kind.capitalize()} join{f' on {condition}' if condition else ''}"
        case Aggregate(keys=keys, calls=calls) | Finish(keys=keys, calls=calls):
            return _grouped("Aggregate" if calls else "Distinct", keys, calls)
        case Partials(keys=keys, calls=calls):
            return _grouped("Partial states" if calls else "Counted distinct", keys, calls)
        case Window(text=text):
            return f"Window {pretty(text)}"
        case Limit(order=order, skip=skip, count=count):
            head = f"Limit {count}" if count is not None else "All"
            by = f" by {_list(order)}" if order else ""
            return f"{head}{f' after {skip}' if skip else ''}{by}"
        case Head(order=order, count=count):
            return f"Head {count}{f' by {_list(order)}' if order else ''}"
        case Opaque(text=text):
            return f"{pretty(text)}"
        case Snapshot(at=at):
            return f"Snapshot {at}"
        case Load(state=state, at=at):
            return f"Load {state} {at}"
        case Provided():
            return "Provided that the second only grows"
        case Keys(on=on):
            return f"Keys {_list(on[0])}"
        case Restrict(on=on):
            return f"Restrict {_list(on)}"
        case Meeting(condition=condition):
            return f"Meeting{f' on {condition}' if condition else ''}"
        case Accumulate(keys=keys, calls=calls, needs_growth=needs_growth):
            return _grouped("Accumulate", keys, calls) + (" while growing" if needs_growth else "")
    return type(node).__name__


def _grouped(head: str, keys: object, calls: object) -> str:
    values = _list(calls)
    by = _list(keys)
    return f"{head} {values}{' ' if values else ''}{'by ' + by if by else ''}".rstrip()


def _list(items: object) -> str:
    return ", ".join(str(i) for i in items)  # type: ignore[attr-defined]


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
