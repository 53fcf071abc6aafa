"""The bench runs, and measures what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "refresh.py"


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["random", "natural"])
def test_three_queries_at_a_tiny_scale(tmp_path: Path, pattern: str) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, str(BENCH), "--scale", "0.01", "--queries", "1,3,13", "--pattern", pattern]
    command += [
        "--delta",
        "0.02,0.01",
        "--warm",
        "1",
        "--memory",
        "2g",
        "--data",
        str(tmp_path / "data"),
        "--json",
        str(results),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(results.read_text())
    assert [q["name"] for q in summary["queries"]] == ["Q01", "Q01", "Q03", "Q03", "Q13", "Q13"]
    for query in summary["queries"]:
        assert query["agree"] is True
        assert query["ratio"] == pytest.approx(query["recompute_s"] / query["refresh_s"], abs=0.01)
        assert query["method"] in ("incremental", "unchanged")
        assert query["duckdb_s"] > 0
        assert query["rows_read"] > 0
