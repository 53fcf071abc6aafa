"""A real project, made by `headrace init`, and the command line over it in the session of the tests."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headrace.cli import app


class Shop:
    """A project in a folder. Commands run in this process, in the Spark of the tests."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        made = CliRunner().invoke(app, ["init", str(root)])
        assert made.exit_code == 0, made.output

    def headrace(self, command: str, *arguments: str, exits: int = 0) -> Result:
        spec = ["--spec", str(self.root / "spark-pipeline.yml")]
        done = CliRunner().invoke(app, [command, *spec, *arguments], obj=self.spark, env={"COLUMNS": "100"})
        assert done.exit_code == exits, f"{done.output}\n{done.exception!r}"
        return done

    def json(self, command: str, *arguments: str, exits: int = 0) -> list[dict[str, Any]]:
        """What a command says as JSON: every line is one object."""
        shown = self.headrace(command, *arguments, "--json", exits=exits)
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def error(self, command: str, *arguments: str) -> str:
        """The code of the error that ends a command, the same for people and for programs."""
        (line,) = self.json(command, *arguments, exits=1)
        told = self.headrace(command, *arguments, exits=1).stderr
        assert f"code:   {line['error']['code']}" in told
        assert "Traceback" not in told
        return str(line["error"]["code"])

    def orders(self, count: int = 50) -> None:
        """Orders arrive."""
        runpy.run_path(str(self.root / "new_orders.py"))["write_orders"](count)

    def define(self, name: str, text: str) -> Path:
        path = self.root / "transformations" / name
        path.write_text(text)
        return path


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One project for the tests of a file, run once."""
    made = Shop(spark, tmp_path_factory.mktemp("projects") / "shop")
    made.headrace("run")
    return made


@pytest.fixture
def broken(shop: Shop) -> Iterator[Shop]:
    """The project, to be spoilt by a definition that goes away again."""
    yield shop
    for path in (shop.root / "transformations").glob("bad*"):
        path.unlink()
