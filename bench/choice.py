"""How often is the faster way chosen? TPC-H queries, deltas of several sizes, each refreshed in every way.

    python bench/choice.py --scale 1 --json build/choice.json

Six views of a query read the same folders: one chooses its way (AUTO); one must work changes in (INCREMENTAL); one
computes everything anew, with all that lets it work the next changes in (refresh(full=True)); one recomputes and keeps
nothing (FULL); one has all that it keeps and does planned for the least cost; and one works changes in by a single
method of Tempura, which is the best by the model for the first delta. After two deltas of 1 % to warm up come those
that count, the small ones first.

A view that chooses has two ways: incremental and anew. A choice is right where the way that was chosen took, forced, at
most 15 % longer than the faster one; where it was wrong, the loss says how many times longer. Recomputing without
keeping anything is no way for it, since the next small change would have to wait for all states, but it is what people
compare with: how often the choice was as fast as that is told too. The plan of least cost is right where it took at
most 15 % longer than computing anew and than the single method.
"""

from __future__ import annotations

import json
import math
import shutil
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tpch
import typer
from cuts import Cut, place
from refresh import Pattern
from rich.console import Console
from rich.table import Table
from running import ALL_CORES, Cores, Data, Heap, Json, Queries, Scale, chosen, release, same_rows, session, timed

import headrace as hr
from headrace.api import replanning
from headrace.cli.terminal import ratio, seconds, stderr_to
from headrace.planner.problem import refresh
from headrace.rules import METHODS

TIE = 1.15
WARM = (0.01, 0.01)
WAYS = {
    "auto": "AUTO",
    "incremental": "INCREMENTAL",
    "anew": "INCREMENTAL",
    "full": "FULL",
    "cost": "AUTO",
    "single": "INCREMENTAL",
}

Result = dict[str, Any]


def bench(
    scale: Scale = 1.0,
    deltas: Annotated[str, typer.Option(help="Sizes, as fractions of what is there at first.")] = "0.001,0.01,0.1,0.5",
    pattern: Annotated[
        Pattern, typer.Option(help="random: in every table but nation and region; natural: the newest orders.")
    ] = Pattern.random,
    queries: Queries = "",
    json_file: Json = None,
    data: Data = Path("build/bench"),
    cores: Cores = ALL_CORES,
    memory: Heap = "12g",
    states: Annotated[str, typer.Option(help="Of it, what each view may take to look rows up in.")] = "1g",
) -> None:
    """Compare what AUTO chooses with the faster of both ways."""
    console, texts = Console(highlight=False), chosen(queries)
    try:
        sizes = (*WARM, *(float(d) for d in deltas.split(",")))
    except ValueError:
        raise typer.BadParameter("write fractions as in 0.001,0.01", param_hint="--deltas") from None
    cut = tpch.growing(data, scale, pattern.value, sizes, console.print)
    work = data / "choice"
    shutil.rmtree(work, ignore_errors=True)
    with stderr_to(data / "spark.log"):
        spark = session(cores, memory)
    results: list[Result] = []
    for name, sql in texts.items():
        found = _measured(name, sql, cut, sizes, work / name, spark, states)
        release(spark, work / name)
        results += found
        for result in found:
            console.print(_line(result), soft_wrap=True, markup=False)
        if json_file is not None:
            json_file.parent.mkdir(parents=True, exist_ok=True)
            summary = {"scale": scale, "pattern": pattern.value, "results": results, **_summary(results)}
            json_file.write_text(json.dumps(summary, indent=2) + "\n")
    spark.stop()
    shutil.rmtree(work, ignore_errors=True)
    _conclude(console, results)
    if not all(r["agree"] for r in results):
        console.print("a view differs from the recomputed one", style="red")
        raise typer.Exit(1)


def _measured(
    name: str, sql: str, cut: Cut, sizes: tuple[float, ...], folder: Path, spark: Any, states: str
) -> list[Result]:
    """A query refreshed in all ways; who is first goes round, for the first finds cold files."""
    views: dict[str, hr.View] = {}
    for table in tpch.KEYS:
        place(cut.base(table), folder / table, "base")
    for way, policy in WAYS.items():
        own = hr.Warehouse(str(folder / f"warehouse-{way}"), spark=spark, memory=states)
        for table in tpch.KEYS:
            own.source(table, hr.Folder(str(folder / table)))
        views[way] = own.view(name.lower(), sql, refresh_policy=policy, goal=_goal(way, views))
        views[way].refresh()
    results = []
    for number, size in enumerate(sizes, 1):
        for table in tpch.KEYS:
            place(cut.delta(number, table), folder / table, f"delta-{number}")
        turn = number % len(views)
        order = [*views][turn:] + [*views][:turn]
        took = {way: timed(partial(views[way].refresh, full=way == "anew")) for way in order}
        if number > len(WARM):
            results.append(_result(name, size, took, views))
    return results


def _goal(way: str, views: dict[str, hr.View]) -> hr.Goal | None:
    if way == "single":
        return hr.least_cost(methods=[_best_method(views["auto"])])
    return hr.least_cost() if way == "cost" else None


def _best_method(view: hr.View) -> str:
    """The method whose best plan costs least by the model, for a change of the size that is expected at first."""
    at = replanning.Reached({n: s.discover() for n, s in view._sources.items()})
    data = replanning.expected(view, None, at)
    planned = view._planner.by_cost.plan(refresh(data), [replanning.model(view, data, at)], compare=True, seconds=20)
    alone = {m: s.costs[0] for m, s in planned.choice.methods.items() if m != "recompute"}
    return min(alone, key=lambda m: (alone[m], [*METHODS].index(m)))


def _result(name: str, size: float, took: Any, views: Any) -> Result:
    method = took["auto"].value.method
    forced = {way: took[way].seconds for way in ("incremental", "anew")}
    way = "anew" if method in ("full", "initial") else "incremental"
    loss, plain = forced[way] / min(forced.values()), took["full"].seconds
    return {
        "name": name,
        "delta": size,
        "chosen": method,
        "reason": took["auto"].value.code,
        "incremental_s": forced["incremental"],
        "anew_s": forced["anew"],
        "full_s": plain,
        "auto_s": took["auto"].seconds,
        "cost_s": took["cost"].seconds,
        "cost_method": took["cost"].value.method,
        "single_s": took["single"].seconds,
        "single_method": views["single"].goal.methods[0],
        "loss": round(loss, 3),
        "right": loss <= TIE,
        "as_fast_as_full": forced[way] <= TIE * plain,
        "cost_right": took["cost"].seconds <= TIE * min(forced["anew"], took["single"].seconds),
        "agree": all(_agree(views[way], views["full"]) for way in ("auto", "cost", "single")),
    }


def _agree(one: hr.View, other: hr.View) -> bool:
    return same_rows([tuple(r) for r in one.read().collect()], [tuple(r) for r in other.read().collect()])


def _line(r: Result) -> str:
    both = f"incremental {seconds(r['incremental_s'])} s, anew {seconds(r['anew_s'])} s, full {seconds(r['full_s'])} s"
    single = f"by cost {seconds(r['cost_s'])} s ({r['cost_method']}), {r['single_method']} {seconds(r['single_s'])} s"
    judged = "right" if r["right"] else f"wrong, {ratio(r['loss'])}"
    return (
        f"{r['name']}  {r['delta']:6.1%}  {both}: {r['chosen']} ({judged}), itself {seconds(r['auto_s'])} s, {single}"
    )


def _summary(results: list[Result]) -> Result:
    wrong = [r["loss"] for r in results if not r["right"]]
    lost = sum(r["auto_s"] for r in results) / sum(min(r["incremental_s"], r["anew_s"]) for r in results)
    return {
        "right": round(1 - len(wrong) / len(results), 4),
        "loss_when_wrong": round(math.exp(sum(map(math.log, wrong)) / len(wrong)), 3) if wrong else None,
        "as_fast_as_full": round(sum(r["as_fast_as_full"] for r in results) / len(results), 4),
        "auto_to_best": round(lost, 3),
        "cost_right": round(sum(r["cost_right"] for r in results) / len(results), 4),
        "cost_to_single": round(sum(r["cost_s"] for r in results) / sum(r["single_s"] for r in results), 3),
        "auto_to_single": round(sum(r["auto_s"] for r in results) / sum(r["single_s"] for r in results), 3),
    }


def _conclude(console: Console, results: list[Result]) -> None:
    table = Table("delta", "right", "of", "incremental", "anew", "as fast as recomputing", "loss when wrong")
    for size in dict.fromkeys(r["delta"] for r in results):
        some = [r for r in results if r["delta"] == size]
        every = _summary(some)
        full = sum(r["chosen"] == "full" for r in some)
        lost = "–" if every["loss_when_wrong"] is None else ratio(every["loss_when_wrong"])
        plain = sum(r["as_fast_as_full"] for r in some)
        cells = (sum(r["right"] for r in some), len(some), len(some) - full, full, plain)
        table.add_row(f"{size:.1%}", *map(str, cells), lost)
    console.print(table)
    every = _summary(results)
    console.print(f"the faster way was chosen, or one as fast, in {every['right']:.1%} of {len(results)} refreshes")
    console.print(f"it was as fast as recomputing without keeping anything in {every['as_fast_as_full']:.1%} of them")
    planned = f"{every['cost_right']:.1%}"
    console.print(
        f"a plan of least cost was as fast as computing anew and as the best single method in {planned} of them"
    )
    both = f"{ratio(every['auto_to_single'])}, one with plans of least cost {ratio(every['cost_to_single'])}"
    console.print(f"in all, a view that chooses took {both} the seconds of one that keeps to the best single method")


if __name__ == "__main__":
    typer.run(bench)
