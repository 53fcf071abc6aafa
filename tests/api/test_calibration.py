"""Calibrating for real, on tables so small that only fixed prices can be told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import headrace.api.calibration as calibration
from headrace.api.calibration import Scene, calibrate
from headrace.cli import app
from headrace.cost.prices import DEFAULT, Prices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEWS = ("filter", "join and group")


def test_steps_are_explained_no_worse_than_before(spark: SparkSession) -> None:
    told: list[tuple[int, int, str]] = []
    scenes = (Scene(2_000, (50,), 0), Scene(2_000, (50,), 2**26))
    found = calibrate(spark, scenes, tell=lambda *what: told.append(what), views=VIEWS)
    assert len(told) == told[0][1] == 16
    assert found.steps >= 12
    assert found.error <= found.error_before
    assert found.better == (found.prices.record() != replace(DEFAULT, cores=found.prices.cores).record())
    assert all(value > 0 for value in found.prices.record().values())


def test_the_command_writes_what_later_runs_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "QUICK", (Scene(2_000, (50,), 0),))
    monkeypatch.setattr(calibration, "VIEWS", {"filter": calibration.VIEWS["filter"]})
    into = ["calibrate", "--quick", "--json", "--into", str(tmp_path)]
    done = CliRunner().invoke(app, into, obj=spark, catch_exceptions=False)
    told = json.loads(done.stdout)
    assert told["file"] == str(tmp_path / "prices.json")
    stored = Prices.of(json.loads((tmp_path / "prices.json").read_text())["prices"])
    assert stored.record() == told["prices"]
