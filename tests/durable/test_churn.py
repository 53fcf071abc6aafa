"""Many refreshes in a row, fifty with HEADRACE_LONG=1: no drift, states as large as the live rows need, and none slower
than the first ones."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median

from fault.scene import Scene
from pyspark.sql import SparkSession

REFRESHES = 50 if os.environ.get("HEADRACE_LONG") == "1" else 14


def test_many_refreshes(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path)
    view = scene.view()
    view.refresh()
    seconds = []
    for number in range(REFRESHES):
        scene.churn(3)
        report = view.refresh()
        assert report.method == "incremental"
        seconds.append(report.seconds)
        if number % 10 == 9:
            scene.judge(view)
    for state in view._states.values():
        live = view._engine.catalyst.collect(state.read(view._engine.catalyst, "all").consolidate().plan)
        assert state.table.rows() <= max(3 * len(live), 1_000), "rows that cancelled are gone"
        assert not state.segments().too_many, "Segments are folded"
    assert min(seconds[-10:]) < 2 * median(seconds[:10]), [round(s, 2) for s in seconds]
    assert len(list(view._result.path.glob("segment-*"))) <= view.warehouse.retain + 1
