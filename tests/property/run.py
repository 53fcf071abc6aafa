"""Compares Headrace with Spark on random queries, outside pytest: `python tests/property/run.py --cases 500`.

Prints each failing case in short and goes on; the details of all of them, with the plans and with tests to
paste into `test_regressions.py`, go to a file. Every case belongs to a numbered trial:
`--seed <number> --cases 1` runs that trial again, `--shrink` makes failing cases small.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyspark.sql import SparkSession

from property.cases import Trial, drawn
from property.check import Oracle, Outcome, run_trial
from property.reduce import reduced
from property.scripts import session

TELLING = 60
"""Seconds between two lines that say how far it is."""


def main() -> int:
    arguments = _arguments()
    runner = Runner(session())

    total, kinds = Outcome(), Counter[str]()
    started = told = time.perf_counter()
    with arguments.details.open("w") as details:
        for number, outcome in results(runner, arguments):
            total.add(outcome)
            if time.perf_counter() - told > TELLING:
                told = time.perf_counter()
                print(f"{total.cases} cases in {told - started:.0f} s, {len(total.failures)} failed", flush=True)
            for failure in outcome.failures:
                kinds[failure.kind[:150]] += 1
                print(f"--- trial {number}: {failure}", flush=True)
                if arguments.shrink:
                    tell = partial(print, " ", flush=True)
                    failure = reduced(failure, runner, seconds=arguments.shrink, tell=tell)
                    print(f"--- trial {number}, made small: {failure}\n{failure.code()}", flush=True)
                details.write(f"--- trial {number}: {failure.text(plan=True)}\n{failure.code()}\n")
                details.flush()
            if arguments.stop_at and len(total.failures) >= arguments.stop_at:
                break
    seconds = time.perf_counter() - started
    print(
        f"{total.cases} cases in {seconds:.0f} s, {len(total.failures)} failed,"
        f" {len(total.discarded)} discarded;"
        f" {total.oracle_seconds / max(total.cases, 1):.2f} s of Spark for a case,"
        f" {total.refresh_seconds / max(total.refreshes, 1):.2f} s for a refresh"
    )
    for kind, count in kinds.most_common():
        print(f"  {count:5} {kind}")
    if total.failures:
        print(f"details: {arguments.details}")
    return 1 if total.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="number of the first trial")
    parser.add_argument("--stop-at", type=int, metavar="K", help="stop after K failing cases")
    parser.add_argument("--threads", type=int, default=2, help="trials side by side")
    parser.add_argument("--query", type=int, metavar="N", help="only the Nth query of each trial")
    parser.add_argument("--nan", action="store_true", help="NaN among the doubles")
    parser.add_argument(
        "--shrink", type=float, nargs="?", const=120, metavar="SECONDS", help="make each failing case small"
    )
    parser.add_argument(
        "--details",
        type=Path,
        default=Path(tempfile.gettempdir()) / "headrace-random-failures.txt",
        help="file for the details of all failing cases",
    )
    return parser.parse_args()


class Runner:
    """Runs trials, each in a folder of its own; every thread has its own oracle."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.own = threading.local()

    def __call__(self, trial: Trial) -> Outcome:
        if not hasattr(self.own, "oracle"):
            self.own.oracle = Oracle(self.spark)
        root = Path(tempfile.mkdtemp(prefix="headrace-trial-"))
        try:
            return run_trial(self.spark, self.own.oracle, trial, root)
        finally:
            shutil.rmtree(root, ignore_errors=True)


def results(runner: Runner, arguments: argparse.Namespace) -> Iterator[tuple[int, Outcome]]:
    """The outcome of each trial as it comes, until there are enough cases."""
    numbered = enumerate(drawn(arguments.seed, special=arguments.nan), arguments.seed)
    running: dict[Future[Outcome], int] = {}
    cases = 0
    with ThreadPoolExecutor(arguments.threads) as pool:
        try:
            while cases < arguments.cases or running:
                while cases < arguments.cases and len(running) < arguments.threads:
                    number, trial = next(numbered)
                    if arguments.query:
                        trial = replace(trial, queries=trial.queries[arguments.query - 1 : arguments.query])
                    cases += max(len(trial.queries), 1)
                    running[pool.submit(runner, trial)] = number
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()


if __name__ == "__main__":
    sys.exit(main())
