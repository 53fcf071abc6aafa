"""The command line as a user meets it: what it prints, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headrace
from headrace.cli import app


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the demo starts and stops its own Spark."""
    soon = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"}  # a short life is not worth the best code
    command = [sys.executable, "-m", "headrace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | soon)


def test_help_names_the_commands() -> None:
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "demo" in shown.output


def test_the_version_is_the_packages() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.output.split() == ["headrace", headrace.__version__]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--orders", "5"], "100"), (["--batches", "1"], "2"), (["--what"], "No such option")],
    ids=["too few orders", "too few batches", "an unknown option"],
)
def test_bad_options_are_refused(arguments: list[str], said: str) -> None:
    shown = CliRunner().invoke(app, ["demo", *arguments])
    assert shown.exit_code == 2
    assert said in shown.output


def test_a_folder_that_holds_something_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    shown = CliRunner().invoke(app, ["demo", "--keep", str(tmp_path)])
    assert shown.exit_code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_the_demo_agrees_with_spark(tmp_path: Path) -> None:
    """Batches with late returns and corrections, refreshed and recomputed: the answers are the same."""
    done = run("demo", "--orders", "2000", "--batches", "3", "--json", "--keep", str(tmp_path / "shop"))
    assert done.returncode == 0, done.stderr
    measures = json.loads(done.stdout)
    assert measures["agree"] is True
    assert [b["method"] for b in measures["batches"]] == ["initial", *["incremental"] * 2]
    assert all(b["agree"] and b["rows"] for b in measures["batches"])
    assert (tmp_path / "shop" / "warehouse" / "views" / "summary" / "table" / "_delta_log").is_dir()
