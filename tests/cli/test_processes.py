"""Commands in processes of their own: two at once, one that is interrupted, and one with its own Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attach import gateway_of
from pyspark.sql import SparkSession

from .conftest import Shop

TESTS = Path(__file__).parents[1]


class Child:
    """A command that begins when it is told to."""

    def __init__(self, shop: Shop, command: str, *arguments: str) -> None:
        paths = os.pathsep.join([str(TESTS), *sys.path])
        environment = os.environ | gateway_of(shop.spark) | {"PYTHONPATH": paths}
        spec = str(shop.root / "spark-pipeline.yml")
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "cli" / "child.py"), command, "--spec", spec, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def begin(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        assert self.process.stdout.readline() == "ready\n"
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, object]:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def ends(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


def test_two_at_once_take_turns(shop: Shop) -> None:
    shop.orders(40)
    children = [Child(shop, "run", "--json"), Child(shop, "run", "--json")]
    for child in children:
        child.begin()
    done = []
    for child in children:
        code, out, err = child.ends()
        assert code == 0, out + err
        events = [json.loads(line) for line in out.splitlines()]
        done.append({e["view"]: e["method"] for e in events if e["event"] == "run_done"})
    for name in ("daily_revenue", "top_customers"):
        assert sorted(d[name] for d in done) == ["incremental", "unchanged"]
    (told,) = shop.json("check", "daily_revenue")
    assert told["agrees"]


def test_ctrl_c_leaves_a_whole_warehouse(shop: Shop) -> None:
    """In the middle of a step, at the worst: its view stays as it was, and the next run works the rows in."""
    slow = "transform(sequence(0, 500), x -> sha2(cast(x + order_id AS string), 256))"
    shop.define(
        "slow.sql", f"CREATE MATERIALIZED VIEW slow AS SELECT SUM(size({slow})) AS n FROM orders GROUP BY order_id % 7"
    )
    child = Child(shop, "run", "--refresh", "slow", "--json")
    child.begin()
    while child.line()["event"] != "step_began":
        pass
    time.sleep(0.5)
    child.process.send_signal(signal.SIGINT)
    code, out, err = child.ends()
    assert code == 130, out + err
    assert json.loads(out.splitlines()[-1]) == {"event": "interrupted"}
    assert "Traceback" not in err
    deadline = time.monotonic() + 60
    while shop.spark.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < deadline, "Spark goes on with what was interrupted"
        time.sleep(0.1)
    (status,) = (line for line in shop.json("status") if line["view"] == "slow")
    assert status["last"] is None
    shop.define("slow.sql", "CREATE MATERIALIZED VIEW slow AS SELECT COUNT(*) AS n FROM orders GROUP BY order_id % 7")
    shop.headrace("run", "--refresh", "slow")
    shop.json("check", "slow")


@pytest.mark.long
def test_with_a_spark_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """As a user types it: from the folder of the project, nothing of Spark's on the screen, exit codes by the shell."""

    def headrace(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headrace", *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYSPARK_GATEWAY")}
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, env=environment)

    assert headrace("init", "shop", cwd=tmp_path).returncode == 0
    ran = headrace("run", "--master", "local[1]", cwd=tmp_path / "shop" / "transformations")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert ran.stdout.splitlines()[-1].startswith("3 up to date")
    assert headrace("run", "--what", cwd=tmp_path).returncode == 2
    assert headrace("status", cwd=tmp_path).returncode == 1


@pytest.fixture(autouse=True)
def _no_slow(shop: Shop) -> None:
    (shop.root / "transformations" / "slow.sql").unlink(missing_ok=True)
