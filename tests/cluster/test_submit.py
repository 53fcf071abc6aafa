"""A program that is given to spark-submit works in the session that spark-submit describes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

root = Path(sys.argv[1])
for number, keys in enumerate([[1, 2, 3], [1, 4]]):
    (root / "t").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"k": keys}), root / "t" / f"{number}.parquet")
    warehouse = hr.Warehouse(root / "warehouse")
    warehouse.source("t", hr.Folder(root / "t"))
    view = warehouse.view("v", "SELECT k % 2 AS odd, sum(k) AS s FROM t GROUP BY k % 2")
    print(view.refresh().method, sorted(map(tuple, view.read().collect())))
print(warehouse.spark.sparkContext.master, warehouse.spark.sparkContext.appName)
"""


@pytest.mark.long
def test_a_program_given_to_spark_submit(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    submit = Path(sys.executable).with_name("spark-submit")
    options = ["--master", "local[1]", "--name", "mine", "--conf", "spark.driver.memory=1g"]
    done = subprocess.run(
        [str(submit), *options, str(program), str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith(("initial", "incremental", "local"))]
    assert said == ["initial [(0, 2), (1, 4)]", "incremental [(0, 6), (1, 5)]", "local[1] mine"]
