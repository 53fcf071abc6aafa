"""Refreshes are right on a real cluster of processes, also when one of them ends in the middle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_an_executor_is_killed_during_a_refresh(tmp_path: Path) -> None:
    script = Path(__file__).with_name("refreshes.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.strip().splitlines()
    killed = [f"killed an executor after step {n}" for n in (1, 2, 3)]
    refreshed = [line for each in killed for line in (each, "incremental True")]
    assert lines[:7] == ["initial True", *refreshed]
    assert len(lines) == 10
    assert all(line.startswith("incremental") and line.endswith("True") for line in lines[7:])
    assert lines[-1] == "incremental looked up True", "rows are looked up in the driver"
