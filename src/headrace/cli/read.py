"""`headrace read`: the rows of a view."""

import csv
import io
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow.parquet as pq
import typer

from headrace.cli.opening import opened, view_of
from headrace.cli.options import Master, Spec
from headrace.cli.output import Output, explained
from headrace.cli.terminal import table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = 20
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


class Format(str, Enum):
    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def read(
    context: typer.Context,
    view: Annotated[str, typer.Argument(help="A view or a streaming table.", metavar="NAME", show_default=False)],
    limit: Annotated[
        int | None, typer.Option(min=1, help=f"How many rows; else {_SHOWN} in a table, all in the other formats.")
    ] = None,
    format: Annotated[Format, typer.Option(help="JSON has a row a line; Parquet needs --output.")] = Format.table,
    output: Annotated[Path | None, typer.Option(help="A file to write instead of the screen.", metavar="FILE")] = None,
    spec: Spec = None,
    master: Master = None,
) -> None:
    """Show or write the rows of a view.

    They are those of its last run. The view itself is a Delta table under the project's storage, which any Delta
    reader can read.
    """
    if format is Format.parquet and output is None:
        raise typer.BadParameter("Parquet is not for a screen", param_hint="--output is needed")
    if format is Format.table and output is not None:
        raise typer.BadParameter("give --format csv, json or parquet", param_hint="--output")
    from headrace.pipelines.stream import StreamingTable

    with explained(format is Format.json) as out, opened(context, out, spec, master) as project:
        stream = project.streams.get(view)
        frame = stream.read() if isinstance(stream, StreamingTable) else view_of(project, view).read()
        wanted = limit or (_SHOWN if format is Format.table else None)
        rows = frame if wanted is None else frame.limit(wanted)
        if format is Format.table:
            _show(out, rows, frame)
        elif format is Format.parquet:
            assert output is not None
            pq.write_table(rows.toArrow(), output)
        elif output is None:
            for line in _lines(rows, format):
                typer.echo(line)
        else:
            with output.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in _lines(rows, format))


def _lines(rows: "DataFrame", format: Format) -> Any:
    if format is Format.json:
        for row in rows.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false'))").toLocalIterator():
            yield row[0]
        return
    yield _csv(rows.columns)
    for row in rows.toLocalIterator():
        yield _csv(["" if value is None else value for value in row])


def _csv(values: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()


def _show(out: Output, rows: "DataFrame", frame: "DataFrame") -> None:
    numbers = [name for name, kind in rows.dtypes if kind.split("(")[0] in _NUMBERS]
    shown = table(*rows.columns, right=numbers)
    found = rows.collect()
    for row in found:
        shown.add_row(*("NULL" if value is None else str(value) for value in row))
    out.console.print(shown)
    if len(found) == _SHOWN:
        out.console.print(f"the first {_SHOWN} of {frame.count():,} rows", style="dim")
