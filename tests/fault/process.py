"""Children of a test: processes that refresh its view and can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from attach import gateway_of
from pyspark.sql import SparkSession

TESTS = Path(__file__).parents[1]


class Child:
    """A process with the view of a scene in it, in the Spark of this one. It gets ready while others work."""

    def __init__(self, spark: SparkSession, folder: Path, *, wait: float = 60.0) -> None:
        paths = os.pathsep.join([str(TESTS), *sys.path])
        environment = os.environ | gateway_of(spark) | {"PYTHONPATH": paths}
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "fault" / "child.py"), str(folder), str(wait)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._ready = False

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def refresh(self) -> None:
        """Begin a refresh as soon as the process is ready; ``says`` waits for its end."""
        self._ready = self._ready or self.says() == "ready"
        assert self._ready
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
