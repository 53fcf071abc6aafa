"""Which method is best depends on the query and on how data arrives: the table of Tempura §8.1, by the model.

    python bench/methods.py --json build/methods.json
    python bench/methods.py --all                       # all queries of TPC-DS and TPC-H, checked

Costs are those of the best plan of each method alone and of all together, as the model has them, relative to IM-1. Four
patterns of arrival: as much comes as was there (delta-big), a quarter of it (delta-small), half of it and rows leave
the facts (delta-R), and the returns too (delta-RS). Two kinds of problems: a refresh (IVM) and two runs of which the
last delivers (PDW).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planning import interned
from tpc_plans import FACTS, RETURNS, plans, rows

from headrace.cost.tuples import TupleModel, Tuples
from headrace.ir.rel import Node
from headrace.ir.timeline import runs
from headrace.ir.walk import sources
from headrace.memo.memo import Memo
from headrace.planner.explore import Engine
from headrace.planner.problem import Arriving, Problem, refresh
from headrace.planner.share import Choice, choose
from headrace.planner.space import Space
from headrace.rules import METHODS, RULES

QUERIES = (10, 35, 40, 78, 80)
PATTERNS = {"delta-big": 1.0, "delta-small": 0.25, "delta-R": 0.5, "delta-RS": 0.5}
LEAVING = 0.02


def arriving(benchmark: str, query: Node, pattern: str) -> list[dict[str, Arriving]]:
    """What there is before, and what comes then; dimensions are there from the first."""
    first, second = {}, {}
    for name in sources(query):
        all_rows = rows(benchmark, name)
        if name not in FACTS:
            first[name], second[name] = Arriving(0, all_rows), Arriving(all_rows)
            continue
        had = all_rows / (1 + PATTERNS[pattern])
        leaves = pattern == "delta-RS" or (pattern == "delta-R" and name not in RETURNS)
        first[name] = Arriving(0, had)
        second[name] = Arriving(had, all_rows - had, 0.0, LEAVING * had if leaves else 0.0)
    return [first, second]


def model(data: Mapping[str, Arriving]) -> TupleModel:
    return TupleModel({n: Tuples(a.after, a.before, a.inserts + a.deletes) for n, a in data.items()})


def compared(benchmark: str, query: Node) -> Iterator[tuple[str, str, Choice]]:
    memo = Memo()
    root = interned(memo, query)
    Engine(memo, RULES).explore(root)
    space = Space(memo, root)
    for pattern in PATTERNS:
        data = arriving(benchmark, query, pattern)
        yield "IVM", pattern, choose(space, refresh(data[1]), [model(data[1])], compare=True)
        problem = Problem(runs([1, 2], weights=[0.3, 1.0]), tuple(data))
        yield "PDW", pattern, choose(space, problem, [model(d) for d in data], compare=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--all", action="store_true", help="all queries, not just those of the paper's table")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    print(f"{'query':<7}{'problem':<9}{'arrival':<13}" + "".join(f"{m:>11}" for m in METHODS) + f"{'all':>11}")
    found: list[dict[str, Any]] = []
    wrong = 0
    for benchmark in ("ds", "h") if given.all else ("ds",):
        for name, query in plans(benchmark, () if given.all else QUERIES):
            for kind, pattern, choice in compared(benchmark, query):
                costs = {m: float(s.total) for m, s in choice.methods.items()}  # type: ignore[arg-type]
                costs["all"] = float(choice.best.total)  # type: ignore[arg-type]
                wrong += costs["all"] > min(costs.values()) * (1 + 1e-9)
                found.append({"query": name, "problem": kind, "arrival": pattern, "costs": costs})
                base = costs["IM-1"] or 1.0  # of a query without facts nothing moves, and nothing costs anything
                line = "".join(f"{c / base:>11.3f}" for c in costs.values())
                print(f"{name:<7}{kind:<9}{pattern:<13}{line}", flush=True)
    less = sum(f["costs"]["all"] < min(c for m, c in f["costs"].items() if m != "all") * (1 - 1e-9) for f in found)
    print(f"{len(found)} problems: all methods together cost less than each alone in {less}, more in {wrong}")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=2))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
