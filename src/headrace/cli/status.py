"""`headrace status`: how the views of a project stand."""

import time
from typing import Any

import typer
from rich.text import Text

from headrace.api import View
from headrace.api.service import Service
from headrace.cli.opening import opened
from headrace.cli.options import AsJson, Master, Spec
from headrace.cli.output import Output, explained
from headrace.cli.terminal import ago, count, line, size, table
from headrace.runtime.status import ViewStatus

_WIDE = 110


def status(
    context: typer.Context,
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Say how fresh each view is, and what waits for it.

    Its last run, the rows that it has not read yet, how many a run usually finds (in a wide terminal), what its result
    and its states take on disk, when it is due by its policy, and what went wrong. New data is looked for and counted;
    nothing is run.
    """
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        views = project.warehouse.views
        found = project.warehouse.status()
        due = Service(project.warehouse).due()
        for name, one in found.items():
            streams = sorted(views[name].reads & project.streams.keys())
            output.line(**_data(one), due=due[name], schedule=_schedule(views[name]), streams=streams)
        _show(output, list(found.values()), {name: _when(due[name], views[name]) for name in found})
        if project.streams:
            names = ", ".join(project.streams)
            _note(output, f"not counted: what waits for streaming tables and sinks, which a run reads: {names}", "dim")


def _schedule(view: View) -> str:
    return "on_change" if view.policy is None else str(view.policy)


def _when(due: float | None, view: View) -> str:
    """When `run --watch` would refresh it."""
    if due is None:
        return _schedule(view)
    left = due - time.time()
    return "now" if left <= 0 else f"in {ago(left)}"


def _data(one: ViewStatus) -> dict[str, Any]:
    last = one.last
    return {
        "view": one.view,
        "policy": one.policy,
        "fresh": one.fresh,
        "lag_seconds": one.lag,
        "last": None if last is None else vars(last),
        "failure": None if one.failure is None else vars(one.failure),
        "waiting": dict(one.waiting),
        "problems": dict(one.problems),
        "behind": list(one.behind),
        "rows": one.rows,
        "bytes": one.bytes,
        "states": dict(one.states),
        "state_bytes": one.state_bytes,
        "memory": dict(one.memory),
        "expected": dict(one.expected),
    }


def _show(output: Output, found: list[ViewStatus], due: dict[str, str]) -> None:
    wide = output.console.width >= _WIDE
    numbers = ("waiting", "usual", "rows", "result", "state", "memory", "took")
    columns = ["view", "freshness", "last run", *(["how", "took"] if wide else []), "waiting"]
    columns += [*(["usual"] if wide else []), "rows"]
    sizes = [*(["result"] if wide else []), "state", *(["memory"] if wide else [])]
    shown = table(*columns, *sizes, "due", right=numbers, cut="due")
    now = time.time()
    for one in found:
        last = one.last
        when = "never" if last is None else f"{ago(now - last.started)} ago"
        how = ["", ""] if last is None else [last.method, f"{last.seconds:.2f} s"]
        bytes_ = [size(b) for b in ((one.bytes, one.state_bytes, one.memory_bytes) if wide else (one.state_bytes,))]
        waiting = "?" if one.problems else count(sum(one.waiting.values()))
        usual = [count(round(sum(one.expected.values()))) if one.expected else "?"] if wide else []
        row = [when, *(how if wide else []), waiting, *usual, count(one.rows), *bytes_]
        shown.add_row(one.view, _freshness(one, wide), *row, line(due[one.view]))
    output.console.print(shown)
    for one in found:
        for source, problem in one.problems.items():
            _note(output, f"{one.view}: {source} cannot be read: {problem}", "yellow")
        if one.failure is not None:
            what = one.failure.error.removeprefix("error: ").splitlines()[0]
            _note(output, f"{one.view}: failed {ago(now - one.failure.started)} ago: {what}", "red")


def _freshness(one: ViewStatus, wide: bool) -> Text:
    if one.last is None:
        return Text("no result", "yellow")
    if one.fresh:
        return Text("up to date", "green")
    if one.lag is not None and not any(one.waiting.values()) and one.behind and not one.problems:
        return Text(f"behind {', '.join(one.behind)}" if wide else "behind", "yellow")
    return Text(f"≤ {ago(one.lag or 0)} late", "yellow")


def _note(output: Output, text: str, style: str) -> None:
    output.console.print(Text(text, style), soft_wrap=not output.console.is_terminal)
