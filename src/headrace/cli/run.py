"""`headrace run`: bring the views of a project up to date."""

import time
from typing import Annotated

import typer

from headrace.cli import exits
from headrace.cli.dry_run import tell_notes
from headrace.cli.opening import opened
from headrace.cli.options import AsJson, Master, Spec, names
from headrace.cli.output import Output, explained
from headrace.cli.progress import shown
from headrace.cli.terminal import seconds
from headrace.cli.watch import watch as follow
from headrace.runtime.report import PipelineError, PipelineReport


def run(
    context: typer.Context,
    spec: Spec = None,
    refresh: Annotated[
        list[str] | None,
        typer.Option(help="Only these, comma-separated; what they read stays as it is.", metavar="A,B"),
    ] = None,
    full_refresh: Annotated[list[str] | None, typer.Option(help="Only these, and from scratch.", metavar="A,B")] = None,
    full_refresh_all: Annotated[bool, typer.Option("--full-refresh-all", help="All, from scratch.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and refresh each view when its policy says so.")
    ] = False,
    parallel: Annotated[int, typer.Option(help="Views that run side by side.", min=1)] = 2,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Bring the views of a project up to date.

    Each after those it reads. One that fails keeps its last good result, and so do those above it; the others go
    on (exit code 4). With --watch it stays as a service, and SIGTERM or Ctrl-C ends it after the run in hand.
    """
    chosen, anew = names(refresh), names(full_refresh)
    if full_refresh_all and (chosen or anew):
        raise typer.BadParameter(
            "it takes all: leave --refresh and --full-refresh out", param_hint="--full-refresh-all"
        )
    if watch and (chosen or anew or full_refresh_all):
        raise typer.BadParameter("a service follows the policies: name no views", param_hint="--watch")
    with explained(as_json) as output, opened(context, output, spec, master) as project:
        tell_notes(output, project)
        if watch:
            follow(output, project, parallel)
            return
        started = time.monotonic()
        try:
            with shown(output, [*project.streams, *project.warehouse.views]) as progress:
                report = project.run(
                    refresh=chosen,
                    full_refresh=anew,
                    full_refresh_all=full_refresh_all,
                    progress=progress,
                    parallel=parallel,
                )
        except PipelineError as failed:
            _conclude(output, failed.report, time.monotonic() - started)
            raise typer.Exit(exits.SOME_FAILED) from None
        _conclude(output, report, time.monotonic() - started)


def _conclude(output: Output, report: PipelineReport, taken: float) -> None:
    output.line(
        event="done",
        refreshed=list(report.refreshed),
        failed=list(report.failed),
        skipped=list(report.skipped),
        seconds=round(taken, 3),
    )
    parts = [f"{len(report.refreshed)} up to date in {seconds(taken)} s"]
    parts += [
        f"{len(found)} {word}" for found, word in ((report.failed, "failed"), (report.skipped, "left out")) if found
    ]
    output.console.print(", ".join(parts))
