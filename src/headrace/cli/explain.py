"""`headrace explain`: how a view, or the query in a file, is maintained."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.text import Text

import headrace as hr
from headrace.cli.opening import aside, opened, view_of
from headrace.cli.options import AsJson, Master, Spec
from headrace.cli.output import Output, explained
from headrace.cli.terminal import count, line, seconds, size, table
from headrace.errors import ConfigError
from headrace.planner.dot import dot
from headrace.planner.explain import CHOSEN


def explain(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(help="A view of the project, or a file with a query.", metavar="VIEW|FILE.sql")
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="For a file outside a project: a folder of Parquet files, or a Delta table.", metavar="NAME=PATH"
        ),
    ] = None,
    spec: Spec = None,
    master: Master = None,
    as_json: AsJson = False,
    as_dot: Annotated[
        bool, typer.Option("--dot", help="A graph for Graphviz: headrace explain … --dot | dot -Tsvg")
    ] = False,
    why: Annotated[
        str | None,
        typer.Option(help="Every way to maintain operators with these words, and its cost.", metavar="WORDS"),
    ] = None,
) -> None:
    """Show how a view, or the query in a file, is maintained.

    The method of every operator, the states and their sizes, the steps of a refresh, the seconds that earlier runs
    let expect, and the reason wherever something is recomputed. A query in a file is read and not run. In a
    project it may use the names of the project.
    """
    with explained(as_json) as output, _views(context, output, what, source or [], spec, master) as views:
        if why is not None:
            for view in views:
                typer.echo(view.why(why))
            return
        for place, data in enumerate(view.explain_data() for view in views):
            if as_dot:
                typer.echo(dot(data))
            elif as_json:
                output.line(**data)
            else:
                output.console.print("" if place == 0 else "\n", end="")
                _show(output, data)


@contextmanager
def _views(
    context: typer.Context, output: Output, what: str, sources: list[str], spec: Path | None, master: str | None
) -> Iterator[list[hr.View]]:
    """The view by that name, those that a file of the project defines, or one made of the query in a file."""
    if not what.endswith(".sql"):
        with opened(context, output, spec, master) as project:
            yield [view_of(project, what)]
        return
    file = Path(what)
    if not file.is_file():
        raise ConfigError("FILE_MISSING", f"there is no file {file}", hint="correct its name")
    if sources or (spec is None and not _in_project()):
        with _outside(context, output, sources) as warehouse:
            yield [_query(warehouse, file)]
        return
    with opened(context, output, spec, master) as project:
        here = [n for n, at in project.places.items() if project.root / at.rsplit(":", 1)[0] == file.resolve()]
        defined = [view for name, view in project.warehouse.views.items() if name in here]
        yield defined or [_query(project.warehouse, file)]


def _query(warehouse: hr.Warehouse, file: Path) -> hr.View:
    """A view of the query in a file, under a name that no other has."""
    name = file.stem
    while name in warehouse.views or name in warehouse.sources:
        name += "_"
    return warehouse.view(name, file.read_text(encoding="utf-8").strip().rstrip(";"))


@contextmanager
def _outside(context: typer.Context, output: Output, sources: list[str]) -> Iterator[hr.Warehouse]:
    """A warehouse for as long as a query is explained, with sources given as NAME=PATH."""
    with TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True) as folder:
        with output.console.status("starting Spark"), aside(context, Path(folder)):
            warehouse = hr.Warehouse(folder, spark=context.obj)
        try:
            for given in sources:
                name, _, path = given.partition("=")
                if not path:
                    raise typer.BadParameter(f"{given}: give a name and a path", param_hint="--source")
                delta = (Path(path) / "_delta_log").is_dir()
                warehouse.source(name, hr.DeltaTable(path) if delta else hr.Folder(path))
            yield warehouse
        finally:
            if context.obj is None:
                warehouse.spark.stop()


def _in_project() -> bool:
    from headrace.pipelines.spec import find_spec

    try:
        find_spec(Path.cwd())
    except ConfigError:
        return False
    return True


def _show(output: Output, data: dict[str, Any]) -> None:
    console = output.console
    incremental = data["maintained"] == "incremental"
    how = "maintained incrementally" if incremental else f"computed anew on every run: policy {data['policy']}"
    console.print(f'view "{data["view"]}": {how}\n', soft_wrap=True)
    kept = {name: place for place, name in enumerate((s["name"] for s in data["states"]), 1)}
    plan = table("operator", "method", "state", right=("state",), cut="operator")
    for o in data["operators"]:
        text = line("  " * o["depth"] + o["text"], "red" if o["reason"] else "")
        plan.add_row(text, o["method"], str(kept.get(o["state"], "")))
    console.print(plan)
    for reason in dict.fromkeys(
        f"{o['operator']} is recomputed: {o['reason']}" for o in data["operators"] if o["reason"]
    ):
        console.print(Text(reason, "red"), soft_wrap=not console.is_terminal)
    console.print()
    if data["kept_by"] != "preference":
        console.print(f"chosen for {CHOSEN[data['kept_by']]}:")
    if kept:
        states = table("", "state", "keeps", "size", right=("", "size"), cut="keeps")
        for state in data["states"]:
            held = size(state["bytes"]) if state["bytes"] else "not built"
            states.add_row(str(kept[state["name"]]), state["name"], line(state["operator"]), held)
        console.print(states)
    else:
        console.print("states: none" + (", for every delta follows from the sources alone" if incremental else ""))
    console.print()
    title = "of a refresh in which every source changes" if incremental else "of a refresh"
    steps = table("step", title, cut=title)
    for step in data["steps"]:
        steps.add_row(step["do"], line(step["what"]))
    console.print(steps)
    if data["costs"]:
        console.print()
        costs = table("for the next delta", "rows", "seconds", right=("rows", "seconds"))
        for cost in data["costs"]:
            costs.add_row(cost["plan"], count(cost["rows"]), seconds(cost["seconds"]))
        console.print(costs)
        if data["methods"]:
            console.print()
            methods = table("by prices alone, with what each plan would keep", "seconds", right=("seconds",))
            for name, cost in data["methods"].items():
                methods.add_row(name, seconds(cost))
            console.print(methods)
    elif data["seconds"]:
        told = ", ".join(f"{method} {seconds(taken)} s" for method, taken in data["seconds"].items())
        console.print(f"\nearlier runs took about: {told}", soft_wrap=True)
