"""A cluster of two executors, each a process of its own, that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from pyspark.sql import SparkSession


def start() -> SparkSession:
    return (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "900m")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.buffer.pageSize", "1m")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )


def executors() -> list[int]:
    """The executors that this process started, by way of its JVM."""
    found = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    parents = {int(pid): int(ppid) for pid, ppid, _ in rows}

    def ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [int(pid) for pid, _, args in rows if "CoarseGrainedExecutorBackend" in args and ours(int(pid))]


def kill_one() -> None:
    """Kill an executor, once there is one: the cluster starts another for each that was killed."""
    until = time.monotonic() + 180
    while not (found := executors()):
        assert time.monotonic() < until, "no executor for three minutes"
        time.sleep(0.2)
    os.kill(found[0], signal.SIGKILL)


def registered(spark: SparkSession) -> int:
    """How many executors the driver knows."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def wait_for(condition: object, what: str) -> None:
    until = time.monotonic() + 180
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until, what
        time.sleep(0.2)
