"""How long does planning by cost take? All 99 TPC-DS queries, by all methods together.

    python bench/planning.py --runs 3 --json build/planning.json
    python bench/planning.py --runs 9 --query 33 --breakdown

Spark only reads the queries, before anything is measured; planning is one process and one thread. Seconds are CPU
seconds, for on a machine with other work wall clock says little; both are in the JSON. Facts arrive in equal parts,
dimensions with the first run; the last run delivers and costs 1, those before it 0.3.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from tpc_plans import FACTS, plans, rows

from headrace.cost.tuples import TupleModel, Tuples
from headrace.ir.rel import Group, Node
from headrace.ir.timeline import runs
from headrace.ir.walk import nodes, sources
from headrace.memo.memo import Memo
from headrace.planner.explore import Engine
from headrace.planner.problem import Arriving, Problem
from headrace.planner.share import choose
from headrace.planner.space import Space
from headrace.rules import METHODS, RULES


@dataclass
class Clock:
    """CPU seconds by part."""

    at: float = 0.0

    def __post_init__(self) -> None:
        self.at = process_time()

    def lap(self) -> float:
        before, self.at = self.at, process_time()
        return self.at - before


def interned(memo: Memo, query: Node) -> Group:
    groups: dict[int, Group] = {}
    for node in nodes(query):
        groups[id(node)] = memo.add(node.with_inputs(tuple(groups[id(i)] for i in node.inputs)))
    return groups[id(query)]


def progressive(benchmark: str, query: Node, count: int) -> tuple[Problem, list[TupleModel]]:
    """Facts that arrive in equal parts over some runs."""
    have = dict.fromkeys(sources(query), 0.0)
    data = []
    for run in range(count):
        found = {}
        for name in have:
            all_rows = rows(benchmark, name)
            came = all_rows / count if name in FACTS else all_rows if run == 0 else 0.0
            found[name] = Arriving(have[name], came)
            have[name] += came
        data.append(found)
    timeline = runs(list(range(count)), weights=[0.3] * (count - 1) + [1.0])
    models = [TupleModel({n: Tuples(a.after, a.before, a.inserts) for n, a in run.items()}) for run in data]
    return Problem(timeline, tuple(data)), models


def planned(
    name: str, query: Node, count: int, *, pruning: bool = True, guided: bool = True, methods: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Plan one query; what that took."""
    wall, clock = perf_counter(), Clock()
    memo = Memo()
    root = interned(memo, query)
    Engine(memo, RULES, pruning=pruning).explore(root)
    explore = clock.lap()
    space = Space(memo, root)
    problem, models = progressive("ds", query, count)
    chosen = choose(space, problem, models, methods=methods or tuple(METHODS), guided=guided)
    total = clock.lap()
    part = chosen.times.search / max(chosen.times.search + chosen.times.share, 1e-9)
    return {
        "name": name,
        "seconds": round(explore + total, 4),
        "wall_s": round(perf_counter() - wall, 4),
        "explore_s": round(explore, 4),
        "search_s": round(total * part, 4),
        "share_s": round(total * (1 - part), 4),
        "groups": sum(1 for _ in memo.groups()),
        "tvrs": len(space.tvrs),
        "states": len(chosen.best.kept),
        "cost": chosen.best.total,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--query", type=int, action="append", default=[], help="of these alone")
    options.add_argument("--breakdown", action="store_true", help="what each speed-up and each method is for")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    read = list(plans("ds", given.query))
    found = []
    print(f"{'query':<8}{'seconds':>9}{'explore':>9}{'search':>9}{'share':>9}{'groups':>8}{'states':>8}")
    for name, query in read:
        one = planned(name, query, given.runs)
        found.append(one)
        times = "".join(f"{one[k]:>9.2f}" for k in ("seconds", "explore_s", "search_s", "share_s"))
        print(f"{name:<8}{times}{one['groups']:>8}{one['states']:>8}", flush=True)
    ordered = sorted(one["seconds"] for one in found)
    most = ordered[max(-(-len(ordered) * 8 // 10) - 1, 0)]
    print(f"80 % within {most:.2f} s, all within {ordered[-1]:.2f} s, {given.runs} runs")
    result = {"runs": given.runs, "within_80": most, "within_all": ordered[-1], "queries": found}
    if given.breakdown:
        result["breakdown"] = [breakdown(name, query, given.runs) for name, query in read]
        result["effects"] = effects(result["breakdown"], given.runs)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(result, indent=2))
    return 0


def breakdown(name: str, query: Node, count: int) -> dict[str, Any]:
    """The same without pruning, without guidance, with exploring once for each run, with more runs, and with fewer
    methods."""
    base, free = planned(name, query, count), planned(name, query, count, guided=False)
    apart = sum(planned(name, query, count)["explore_s"] for _ in range(count))
    found = {
        "name": name,
        "seconds": base["seconds"],
        "without_guidance_s": free["seconds"],
        "explore_s": base["explore_s"],
        "explore_without_pruning_s": planned(name, query, count, pruning=False)["explore_s"],
        "explore_run_by_run_s": round(apart, 4),
        "by_runs": {k: {p: planned(name, query, k)[p] for p in ("explore_s", "search_s", "share_s")} for k in (3, 9)},
        "by_methods": {
            "+".join(some): planned(name, query, count, methods=some)["seconds"]
            for some in (("IM-1",), ("IM-1", "IM-2"), ("IM-1", "IM-2", "HOV"), ("IM-1", "IM-2", "HOV", "OJV"))
        },
    }
    print(json.dumps(found))
    return found


def effects(parts: list[dict[str, Any]], count: int) -> dict[str, float]:
    """What each speed-up is worth over all queries, as times as long without it; and how planning grows with runs."""

    def total(*path: Any) -> float:
        return sum(reduce(getitem, path, part) for part in parts)

    few, many = (total("by_runs", k, "share_s") + total("by_runs", k, "search_s") for k in (3, 9))
    found = {
        "exploring without pruning": total("explore_without_pruning_s") / total("explore_s"),
        f"exploring once for each of {count} runs": total("explore_run_by_run_s") / total("explore_s"),
        "planning without guidance": total("without_guidance_s") / total("seconds"),
        "exploring for nine runs against three": total("by_runs", 9, "explore_s") / total("by_runs", 3, "explore_s"),
        "search and sharing for nine runs against three": many / few,
    }
    found |= {f"with {some} alone": total("by_methods", some) / total("seconds") for some in parts[0]["by_methods"]}
    for what, times in found.items():
        print(f"{what:<50}{times:>7.2f} times")
    return {what: round(times, 3) for what, times in found.items()}


if __name__ == "__main__":
    sys.exit(main())
