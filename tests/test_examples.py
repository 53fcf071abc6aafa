"""The examples run, and say what they should."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {
    "quickstart": ("incremental", "|    toys|   30|", "as Spark answers from scratch"),
    "own_rule": ("Union    by push_filter_below_union", "fired 1 time"),
    "own_source": ("incremental", "|nail|   120|", "keeps its law"),
    "service": ("dear is due: totals published", "count is due: 3 rows wait", "| pen|"),
}


def test_every_example_is_tried() -> None:
    assert {f.stem for f in EXAMPLES.glob("*.py")} == SAYS.keys()


@pytest.mark.parametrize("name", SAYS)
def test_example(spark: SparkSession, capsys: pytest.CaptureFixture[str], name: str) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert all(words in said for words in SAYS[name]), said
