"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Spec = Annotated[
    Path | None,
    typer.Option(help="The project's spec; else spark-pipeline.yml here or in a folder above.", metavar="FILE"),
]
Master = Annotated[
    str | None, typer.Option(help="Where Spark runs; local\\[*] unless the spec says other.", metavar="URL")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line, and nothing else.")]
ViewName = Annotated[str, typer.Argument(help="A view of the project.", metavar="VIEW", show_default=False)]


def names(given: list[str] | None) -> tuple[str, ...]:
    """Names as Spark's command takes them: several options, and several names in one, with commas."""
    return tuple(name.strip() for part in given or () for name in part.split(",") if name.strip())
