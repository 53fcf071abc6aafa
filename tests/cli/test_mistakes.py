"""What people do wrong, and what goes wrong: a message that helps, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headrace.cli import app

from .conftest import Shop


def test_no_project_here(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["run"], ["status"], ["read", "x"], ["dry-run"]):
        shown = CliRunner().invoke(app, arguments, obj=spark)
        assert shown.exit_code == 1
        assert "PIPELINE_SPEC_FILE_NOT_FOUND" in shown.stderr
        assert shown.stdout == ""


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("name: x\n", "PIPELINE_SPEC_MISSING_REQUIRED_FIELD"),
        ("name: x\nstorage: file:///tmp/x\nwhat: 1\n", "PIPELINE_SPEC_UNEXPECTED_FIELD"),
        ("name: [", "PIPELINE_SPEC_INVALID"),
        ("name: x\nstorage: somewhere\n", "PIPELINE_STORAGE_ROOT_INVALID"),
        (None, "PIPELINE_SPEC_FILE_DOES_NOT_EXIST"),
    ],
    ids=["a field that lacks", "an unknown field", "not YAML", "storage without a scheme", "no such file"],
)
def test_a_wrong_spec(spark: SparkSession, tmp_path: Path, spec: str | None, code: str) -> None:
    path = tmp_path / "spec.yml"
    if spec is not None:
        path.write_text(spec)
    shown = CliRunner().invoke(app, ["run", "--spec", str(path), "--json"], obj=spark)
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["error"]["code"] == code


def test_wrong_definitions_say_where(broken: Shop) -> None:
    broken.define("bad.sql", "\nCREATE MATERIALIZED VIEW bad AS SELECT nothing FROM orders")
    (line,) = broken.json("dry-run", exits=1)
    assert line["error"]["code"] == "NOT_RESOLVED"
    assert "transformations/bad.sql:" in line["error"]["at"]
    assert "nothing" in line["error"]["message"]
    broken.define("bad.sql", "CREATE MATERIALIZED VIEW bad AS SELEC 1")
    assert "SYNTAX" in broken.error("run")
    broken.define("bad.sql", "CREATE MATERIALIZED VIEW bad AS SELECT rand() AS r FROM orders")
    assert broken.error("dry-run") == "NOT_DETERMINISTIC"


def test_one_view_that_fails(broken: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is told; the others are refreshed; when it is mended nothing was lost."""
    broken.define(
        "bad.sql",
        "CREATE MATERIALIZED VIEW bad AS SELECT order_id, 1 DIV (customer_id - customer_id) AS one FROM orders;"
        "CREATE MATERIALIZED VIEW bad_above AS SELECT one FROM bad;",
    )
    broken.orders(7)
    logged: list[logging.LogRecord] = []
    monkeypatch.setattr(PySparkLogger.getLogger("SQLQueryContextLogger"), "handle", logged.append)
    events = broken.json("run", exits=4)
    assert logged == []  # the error is told once, without the stack that PySpark logs
    assert {e["view"] for e in events if e["event"] == "run_failed"} == {"bad"}
    (failed,) = (e for e in events if e["event"] == "run_failed")
    assert "DIVIDE_BY_ZERO" in failed["error"]["message"]
    assert [e["view"] for e in events if e["event"] == "run_skipped"] == ["bad_above"]
    assert events[-1]["failed"] == ["bad"]
    assert "daily_revenue" in events[-1]["refreshed"]
    shown = broken.headrace("run", exits=4).stdout
    assert "DIVIDE_BY_ZERO" in shown
    assert '"bad" failed: this one stays as it was' in shown
    status = {line["view"]: line for line in broken.json("status")}
    assert "DIVIDE_BY_ZERO" in status["bad"]["failure"]["error"]
    assert "DIVIDE_BY_ZERO" in broken.headrace("status").stdout
    assert "DIVIDE_BY_ZERO" in broken.headrace("history", "bad").stdout
    assert status["daily_revenue"]["fresh"]


def test_a_folder_that_is_gone(spark: SparkSession, shop: Shop, tmp_path: Path) -> None:
    shutil.copytree(shop.root, tmp_path / "copy", ignore=shutil.ignore_patterns("storage", "data"))
    spec = tmp_path / "copy" / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace(str(shop.root), str(tmp_path / "copy")))
    shown = CliRunner().invoke(app, ["run", "--spec", str(spec), "--json"], obj=spark)
    assert shown.exit_code in (1, 4), shown.output
    told = [json.loads(line) for line in shown.stdout.splitlines()]
    assert any("data/" in json.dumps(line.get("error", "")) for line in told)
