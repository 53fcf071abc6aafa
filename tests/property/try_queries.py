"""Are the random queries good? Runs them in Spark alone: `python tests/property/try_queries.py 500 --seed 1`.

Reports the errors by class, how often each operator occurs in the optimised plans, how many answers hold
rows, how many change from batch to batch, and the time of a query.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from property.cases import drawn
from property.check import Oracle
from property.histories import arrow
from property.scripts import session
from property.tables import TABLES

MARKS = ("RangeFrame", "RowFrame", "rank(", "row_number", "FILTER", "distinct", "spark_grouping_id")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nan", action="store_true", help="NaN among the doubles")
    parser.add_argument("--show", action="store_true", help="print every query")
    arguments = parser.parse_args()

    spark = session()
    oracle, planner = Oracle(spark), Planner(spark)
    errors: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    lengths: list[int] = []
    cases = answered = filled = changed = 0
    seconds = 0.0
    for trial in drawn(arguments.seed, special=arguments.nan):
        answers: dict[str, list[list[str]]] = {sql: [] for sql in trial.queries}
        failed: set[str] = set()
        for step in range(len(trial.history.batches)):
            oracle.load(trial.history, step)
            for sql in answers:
                started = time.perf_counter()
                try:
                    answer = oracle.answer(sql)
                    answers[sql].append(sorted(map(str, answer.table.to_pylist())))
                    answered += 1
                    filled += answer.table.num_rows > 0
                except PySparkException as error:
                    if sql not in failed:
                        condition = error.getCondition() or type(error).__name__
                        errors[condition] += 1
                        print(f"{condition}\n  {sql}\n  {str(error).splitlines()[0][:300]}", file=sys.stderr)
                    failed.add(sql)
                seconds += time.perf_counter() - started
        for sql in answers:
            cases += 1
            lengths.append(len(sql))
            changed += len({str(rows) for rows in answers[sql]}) > 1
            if arguments.show:
                print(sql)
            if sql not in failed:
                operators.update(set(planner.operators(sql)))
        if cases >= arguments.cases:
            break

    print(f"{cases} queries, {sum(errors.values())} errors ({sum(errors.values()) / cases:.1%})")
    for condition, count in errors.most_common():
        print(f"  {count:5} {condition}")
    print(f"answers with rows: {filled / max(answered, 1):.0%}")
    print(f"queries whose answer changes: {changed / cases:.0%}")
    lengths.sort()
    sizes = ", ".join(f"{p}% ≤ {lengths[cases * p // 100]}" for p in (25, 50, 75, 95))
    print(f"length of the query: {sizes}")
    print(f"{seconds / max(answered, 1):.3f} s for an answer")
    print("queries with:")
    for operator, count in operators.most_common():
        print(f"  {count:5} {count / cases:4.0%} {operator}")


class Planner:
    """Optimised plans over empty tables that the optimiser cannot look into."""

    def __init__(self, spark: SparkSession) -> None:
        self.session = spark.newSession()
        for name, table in TABLES.items():
            schema = self.session.createDataFrame(arrow(table, [])).schema
            rows = spark.sparkContext.emptyRDD()
            self.session.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def operators(self, sql: str) -> list[str]:
        """The operators of the plan; of a join its type too, and what is special about the others."""
        plan = self.session.sql(sql)._jdf.queryExecution().optimizedPlan().toString()
        found = []
        for line in plan.splitlines():
            name = re.match(r"[\s:+-]*(\w+)(?: (\w+))?", line)
            if name is None:
                continue
            word = name[1]
            if word == "Join":
                equal = "equi" if re.search(r"\) = |\d = |<=>", line) else "other"
                found.append(f"Join {name[2]}")
                found.append(f"Join {name[2]} ({equal})")
                if "<=>" in line:
                    found.append("Join by <=>")
            elif word == "Aggregate":
                found.append("Aggregate by key" if re.search(r"Aggregate \[.*?\], \[", line) else word)
            elif word == "Window":
                lists = re.findall(r", \[([^\[\]]*)\]", line)
                partitioned = any(" ASC" not in text and " DESC" not in text for text in lists)
                found.append("Window partitioned" if partitioned else "Window global")
            else:
                found.append(word)
            if "scalar-subquery" in line:
                found.append("scalar subquery")
            found += [mark for mark in MARKS if mark in line]
        if plan.count("Aggregate") > 1:
            found.append("several aggregates")
        return found


if __name__ == "__main__":
    main()
