"""What the experiments of `diss.py` found: tables, means of all queries, and plots."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headrace.cli.terminal import seconds, size

Row = dict[str, Any]

# What tells the rows of an experiment apart, besides the query.
GROUPS = {
    "late": ("strategy",),
    "budgets": ("budget_bytes", "strategy"),
    "predictions": ("wrong", "said", "came"),
    "deletes": ("deletes",),
    "injected": ("states",),
}


def table(console: Console, name: str, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(k for row in rows for k in row if k not in ("experiment", "deltas", "holds")))
    made = Table(*columns, title=name)
    for row in rows:
        cells = []
        for column in columns:
            value = row.get(column)
            if value is None:
                cells.append("")
            elif column.endswith("_s"):
                cells.append(seconds(value))
            elif column.endswith("bytes"):
                cells.append(size(value))
            else:
                cells.append(str(value))
        made.add_row(*cells)
    console.print(made)


def means(console: Console, name: str, rows: list[Row]) -> None:
    """What all queries together say: geometric means of the seconds of a delta, of each of three where they differ, and
    the sum of what was held."""
    made = Table(*GROUPS[name], "delta_s", "memory", title=f"{name}: means of all queries")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if "delta_s" in row:
            groups.setdefault(tuple(row.get(k) for k in GROUPS[name]), []).append(row)
    for group, of in groups.items():
        each = zip(*(row.get("deltas", [row["delta_s"]]) for row in of), strict=True)
        shown = [
            size(v) if k.endswith("bytes") and v is not None else v for k, v in zip(GROUPS[name], group, strict=True)
        ]
        mean = ", ".join(seconds(statistics.geometric_mean(e)) for e in each)
        made.add_row(*("" if v is None else str(v) for v in shown), mean, size(sum(row["memory_bytes"] for row in of)))
    console.print(made)


def plots(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    by = {name: [r for r in rows if r["experiment"] == name and "delta_s" in r] for name in GROUPS}
    for name, group in (("late", "strategy"), ("deletes", "deletes"), ("injected", "states")):
        if by[name]:
            for measure in ("delta_s", "memory_bytes"):
                figure, axes = pyplot.subplots(figsize=(9, 4))
                bars(axes, by[name], group, measure)
                figure.savefig(folder / f"{name}-{measure}.png", dpi=150, bbox_inches="tight")
                pyplot.close(figure)
    for query in dict.fromkeys(r["query"] for r in by["budgets"]):
        figure, axes = pyplot.subplots(figsize=(6, 4))
        for strategy in ("diss", "recycler", "keep-all", "rebatch"):
            of = [r for r in by["budgets"] if r["query"] == query and r["strategy"] == strategy]
            if len(of) > 1:
                xs = [(r["budget_bytes"] or 0) / 2**20 for r in of]
                axes.plot(xs, [r["delta_s"] for r in of], marker="o", label=strategy)
            elif of:
                colour = "grey" if strategy == "rebatch" else "black"
                axes.axhline(of[0]["delta_s"], linestyle="--", color=colour, label=strategy)
        axes.set(title=query, xlabel="budget (MB)", ylabel="delta (s)", xscale="symlog", yscale="log")
        axes.set_xlim(left=0)
        axes.legend()
        figure.savefig(folder / f"budgets-{query}.png", dpi=150, bbox_inches="tight")
        pyplot.close(figure)
    for query in dict.fromkeys(r["query"] for r in by["predictions"]):
        figure, axes = pyplot.subplots(figsize=(6, 4))
        for wrong, x in (("too few tables", "said"), ("too many tables", "came")):
            of = [r for r in by["predictions"] if r["query"] == query and r["wrong"] == wrong]
            axes.plot([r[x] for r in of], [r["delta_s"] for r in of], marker="o", label=wrong)
        axes.set(title=query, xlabel="tables", ylabel="delta (s)")
        axes.legend()
        figure.savefig(folder / f"predictions-{query}.png", dpi=150, bbox_inches="tight")
        pyplot.close(figure)


def bars(axes: Any, rows: list[Row], group: str, measure: str) -> None:
    queries = list(dict.fromkeys(r["query"] for r in rows))
    groups = list(dict.fromkeys(r[group] for r in rows))
    width = 0.8 / len(groups)
    for n, one in enumerate(groups):
        values = {r["query"]: r[measure] for r in rows if r[group] == one}
        scale = 2**20 if measure.endswith("bytes") else 1
        places = [q + n * width for q in range(len(queries))]
        axes.bar(places, [values.get(q, 0) / scale for q in queries], width, label=str(one))
    axes.set_xticks(range(len(queries)), queries)
    axes.set_ylabel("memory (MB)" if measure.endswith("bytes") else "delta (s)")
    axes.legend(title=group)
