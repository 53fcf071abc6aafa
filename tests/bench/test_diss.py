"""The experiments on memory run, agree with Spark and keep to their budgets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "diss.py"


@pytest.mark.long
def test_one_query_at_a_tiny_scale(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, str(BENCH), "--scale", "0.01", "--queries", "3", "--budgets", "0,64k,1g", "--heap", "2g"]
    command += ["--memory", "512m", "--data", str(tmp_path / "data"), "--json", str(results), "--plots", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(results.read_text())["results"]
    assert {r["experiment"] for r in found} == {"late", "budgets", "predictions", "deletes", "injected"}
    assert all(r["agrees"] for r in found if "agrees" in r)
    budgets = [r for r in found if r["experiment"] == "budgets" and r.get("budget_bytes") is not None]
    assert all(r["memory_bytes"] <= 1.1 * r["budget_bytes"] for r in budgets)
    assert list(tmp_path.glob("*.png"))
