"""Run TPC queries against Headrace outside pytest, one line for each query.

    python tests/tpc/run.py ds                      # all of TPC-DS
    python tests/tpc/run.py h 3 13 16 --stages 3    # three queries, the first three loads
    python tests/tpc/run.py h --plain               # Spark's batch answers only, without Headrace

A line says `ok`, `right, but` what was recomputed that need not be, or at which load what went wrong; and
the seconds of each refresh. What failed is described in full in a file, the traceback with it. Data and
answers are kept between runs.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))
if sys.path[1] == str(Path(__file__).parent):
    del sys.path[1]  # where Python looks for a script's neighbours: they are the modules of `tpc`

from conftest import SETTINGS as SPARK_SETTINGS

from tpc.answers import SETTINGS, Answers
from tpc.queries import COUNTS, Query, queries
from tpc.schedule import LOADS, USUAL, Ledger, histories, sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main() -> int:
    options = _options()
    data: Path = options.keep_data
    ledger = Ledger(options.benchmark, data)
    spark = _session()
    here = threading.local()

    def run(query: Query) -> str:
        if not hasattr(here, "answers"):
            here.answers = Answers(spark, data)
        if options.plain:
            return _plain(query, ledger, here.answers, options.stages)
        return _maintained(query, ledger, here.answers, spark, options)

    failed = []
    start = time.perf_counter()
    chosen = queries(options.benchmark, options.numbers)
    with ThreadPoolExecutor(options.threads) as pool:
        for query, line in zip(chosen, pool.map(run, chosen), strict=True):
            print(f"{query.name}  {line}", flush=True)
            if not line.startswith("ok"):
                failed.append(query.number)
    print(
        f"{len(chosen) - len(failed)} of {len(chosen)} ok in {time.perf_counter() - start:.0f} s"
        + (f"; failed: {' '.join(map(str, failed))}" if failed else "")
    )
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=sorted(COUNTS))
    parser.add_argument("numbers", nargs="*", type=int, help="of the queries; all when none is given")
    parser.add_argument("--stages", type=int, default=USUAL, choices=range(1, len(LOADS) + 1), help="loads to run")
    parser.add_argument("--threads", type=int, default=2, help="queries side by side")
    parser.add_argument("--keep-data", type=Path, default=Path(tempfile.gettempdir()) / "headrace-tpc", metavar="DIR")
    parser.add_argument("--keep-warehouses", action="store_true", help="leave what each query wrote in DIR/trials")
    parser.add_argument("--explain", action="store_true", help="print each view's plan")
    parser.add_argument("--plain", action="store_true", help="batch answers only: prove data and texts")
    return parser.parse_args()


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("headrace tpc")
    scratch = tempfile.mkdtemp(prefix="headrace-tpc-spark-")
    settings = {**SPARK_SETTINGS, **SETTINGS, "spark.sql.warehouse.dir": scratch}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    # What a query raises is reported by its line.
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return session


def _plain(query: Query, ledger: Ledger, answers: Answers, stages: int) -> str:
    rows, seconds = [], []
    for load in range(stages):
        start = time.perf_counter()
        tables = {
            table: ledger.load(table, history[: load + 1]).truth
            for table, history in histories(query, sizes(ledger)).items()
        }
        try:
            rows.append(answers.batch(query, tables).num_rows)
        except Exception as error:
            return f"load {load} ({LOADS[load]}): {type(error).__name__}: {_first_line(error)}"
        seconds.append(time.perf_counter() - start)
    return f"ok  rows {rows}  {_seconds(seconds)}"


def _maintained(
    query: Query, ledger: Ledger, answers: Answers, spark: SparkSession, options: argparse.Namespace
) -> str:
    seconds: list[float] = []
    recomputed: dict[str, None] = {}
    home: Path = options.keep_data / "trials" / f"{query.name}-{os.getpid()}"
    report: Path = options.keep_data / "failures" / f"{query.name}.txt"
    shutil.rmtree(home, ignore_errors=True)
    report.unlink(missing_ok=True)
    load, trial = 0, None
    complaints: list[str] = []
    try:
        from tpc.trial import Trial, kind

        trial = Trial(query, spark, ledger, answers, home)
        for load in range(options.stages):
            refresh = trial.refresh(load)
            seconds.append(refresh.seconds)
            trial.check_rows(load)
            complaints += trial.complaints(load, refresh)
            if load:
                recomputed.update(dict.fromkeys(map(kind, refresh.report.recomputed)))
        line = f"{_seconds(seconds)}" + (f"  recomputed {', '.join(recomputed)}" if recomputed else "")
        if options.explain:
            line += f"\n{trial.view.explain()}"
        return f"right, but {complaints[0][:300]}  {line}" if complaints else f"ok  {line}"
    except Exception as error:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(f"{traceback.format_exc()}\n{_explain(trial)}\n\n{query.sql}\n", encoding="utf-8")
        where = f"load {load} ({LOADS[load]})"
        return f"{where}: {type(error).__name__}: {_first_line(error)}  {_seconds(seconds)}  {report}"
    finally:
        if not options.keep_warehouses:
            shutil.rmtree(home, ignore_errors=True)


def _explain(trial: object) -> str:
    try:
        return str(trial.view.explain())  # type: ignore[attr-defined]
    except Exception as error:
        return f"no plan: {error!r}"


def _first_line(error: Exception) -> str:
    """What a reader needs: for rows that differ, the first that is missing and the first that is too many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    shown = [lines[0]]
    for i, line in enumerate(lines[:-1]):
        if line.startswith(("missing:", "surplus:")) and not line.endswith("none"):
            shown.append(f"{line.split(':')[0]} {lines[i + 1]}")
    if lines[0].startswith("the columns differ"):
        shown = lines[:3]
    return " | ".join(text[:300] for text in shown)


def _seconds(seconds: list[float]) -> str:
    return " ".join(f"{s:.1f}" for s in seconds) + " s"


if __name__ == "__main__":
    sys.exit(main())
