"""Refreshes, and looking rows up in executors, are right on a real cluster of processes, also when one of them ends in
the middle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def lines_of(script: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(script)), str(folder)],
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout.strip().splitlines()


@pytest.mark.long
def test_an_index_in_executors(tmp_path: Path) -> None:
    assert lines_of("looked_up.py", tmp_path) == [
        "joined by one long",
        "joined by one string",
        "joined by composite",
        "weights, pending and settled",
        "merged",
        "measured and given back",
        "a limit holds",
        "killed between probes",
        "killed during a probe",
        "killed once merged",
        "an error, and not fewer rows",
    ]


@pytest.mark.long
def test_an_executor_is_killed_during_a_refresh(tmp_path: Path) -> None:
    lines = lines_of("refreshes.py", tmp_path)
    killed = [f"killed an executor after step {n}" for n in (1, 2, 3)]
    refreshed = [line for each in killed for line in (each, "incremental True")]
    assert lines[:7] == ["initial True", *refreshed]
    later = [line.split() for line in lines[7:]]
    assert [int(rows) for _, rows, *_ in later] == [10, 10, 10, 160_000, 10, 10, 10]
    assert all(method == "incremental" and agrees == "True" for method, _, *_, agrees, _ in later)
    looked_up = ["looked up" in line for line in lines[7:]]
    assert looked_up[2:4] == [True, True], "small steps and large ones look rows up in executors"
    assert looked_up[-1], "what was lost with an executor is built again"
