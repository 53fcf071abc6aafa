"""What a view has in memory: used, kept up to date, bounded, and never missed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import same_rows
from pyspark.sql import SparkSession

import headrace as hr
from headrace.api.view import View
from headrace.ir.probe import Index
from headrace.spark import computing
from headrace.spark.finalizing import find_gone
from headrace.spark.memory import Held

SALES = pa.schema([("id", pa.int64()), ("item", pa.int64()), ("price", pa.int64())])
ITEMS = pa.schema([("item", pa.int64()), ("name", pa.string())])
SQL = "SELECT name, sum(price) AS total FROM sales JOIN items ON sales.item = items.item GROUP BY name"


class Shop:
    """Two tables and a view that joins them."""

    def __init__(self, spark: SparkSession, root: Path, *, apart: bool = False, **warehouse: Any) -> None:
        self.root = root
        self.batch = 0
        self.add(items=[(i, f"item {i % 7}") for i in range(40)], sales=[(i, i % 50, i) for i in range(300)])
        self.wh = hr.Warehouse(root / "wh", spark=spark, **warehouse)
        if apart:  # as if tasks were in other processes
            self.wh._budget.apart, self.wh._budget.storage = True, None
            self.wh._budget.eager = True  # or so few rows would be scanned
        for name in ("sales", "items"):
            self.wh.source(name, hr.Folder(str(root / name), changes=True))
        self.view: View = self.wh.view("totals", SQL)
        self.view.refresh()

    def add(self, **tables: list[tuple[Any, ...]]) -> None:
        self.write("insert", **tables)

    def write(self, kind: str, **tables: list[tuple[Any, ...]]) -> None:
        self.batch += 1
        for name, rows in tables.items():
            schema = {"sales": SALES, "items": ITEMS}[name]
            columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
            table = pa.Table.from_arrays([*columns, pa.array([kind] * len(rows))], [*schema.names, "_change_type"])
            (self.root / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(table, self.root / name / f"{self.batch:04}.parquet")

    def right(self) -> None:
        same_rows(self.view.read(), self.view.recompute())

    @property
    def held(self) -> set[str]:
        return {str(h.index) for h in self.view._memory.held.values()}


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Callable[..., Shop]:
    return lambda **kw: Shop(spark, tmp_path, **kw)


def left(taken: Callable[[], int]) -> int:
    """The bytes that are still taken some time after nobody has a view: on a busy machine they are not free at once."""
    until = time.monotonic() + 60
    while taken() and time.monotonic() < until:
        find_gone()
        time.sleep(0.05)
    return taken()


def test_sources_and_states_are_looked_up(shop: Callable[..., Shop]) -> None:
    s = shop()
    for step in range(2):
        s.add(sales=[(1000 + step, 3, 5)])
        report = s.view.refresh()

    assert report.method == "incremental"
    assert "items by item" in s.held
    assert any(h.startswith("partials") for h in s.held)
    assert report.rows_read == 1, "of the items nothing is scanned"
    s.right()


def test_what_is_there_is_kept_up_to_date(shop: Callable[..., Shop]) -> None:
    s = shop()
    for step in range(6):
        s.add(sales=[(2000 + step, step, 1)], items=[(40 + step, "new")])
        s.write("delete", sales=[(step, step, step)], items=[(39 - step, f"item {(39 - step) % 7}")])
        s.view.refresh()
        s.right()
    built = {name: h.java.records() for name, h in s.view._memory.held.items()}
    assert built
    assert all(h.index.name in built for h in s.view._memory.held.values())
    items = next(h for h in s.view._memory.held.values() if str(h.index) == "items by item")
    assert items.java.records() == 40


def test_no_memory_no_index(shop: Callable[..., Shop]) -> None:
    s = shop(memory=0)
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()

    assert not s.held
    s.right()


def test_one_that_is_too_large_is_not_tried_again(shop: Callable[..., Shop]) -> None:
    s = shop(memory=20_000)
    for step in range(3):
        s.add(sales=[(1000 + step, 3, 5)])
        report = s.view.refresh()
        assert report.method == "incremental"
        s.right()
    assert sum(s.view._memory.bytes().values()) <= 20_000


@pytest.mark.parametrize("budget", [0, 1, 3_000, 12_000, 60_000, 10_000_000])
def test_a_budget_is_kept(shop: Callable[..., Shop], budget: int) -> None:
    s = shop(memory=budget)
    for step in range(4):
        s.add(sales=[(1000 + 40 * step + i, i, 5) for i in range(40)], items=[(41 + step, "new")])
        s.write("delete", sales=[(step, step, step)])
        report = s.view.refresh()
        assert report.method == "incremental"
        assert sum(h.bytes for h in s.view._memory.held.values()) <= 1.1 * budget
        assert s.wh._budget.free >= 0
    s.right()
    if budget == 10_000_000:
        assert {"items by item", "sales by item"} <= s.held


def test_in_a_cluster_all_steps_look_rows_up_in_executors(
    shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computing, "SMALL", 100)
    s = shop(apart=True)
    read = []
    for step, rows in enumerate([10, 10, 200, 10]):
        s.add(sales=[(1000 + 500 * step + i, i % 50, 5) for i in range(rows)])
        s.write("delete", sales=[(step, step, step)])
        report = s.view.refresh()
        assert report.method == "incremental"
        assert "items by item" in s.held
        read.append(report.rows_read)
        s.right()
    assert read[1:] == [11, 201, 11], "the Delta alone"
    assert all(h.apart for h in s.view._memory.held.values())


def test_in_a_cluster_few_rows_are_scanned(shop: Callable[..., Shop]) -> None:
    s = shop(apart=True)
    s.wh._budget.eager = False
    for step in range(3):
        s.add(sales=[(1000 + step, 3, 5)])
        s.view.refresh()
        assert not s.held
    s.right()


def test_what_executors_have_lost_is_built_again(shop: Callable[..., Shop]) -> None:
    s = shop(apart=True)
    memory = s.view._memory
    for step in range(2):
        s.add(sales=[(1000 + step, 3, 5)])
        s.view.refresh()
    before = dict(memory.held)
    lost = next(name for name, held in before.items() if str(held.index) == "items by item")
    for rdd in before[lost].java.rdds():
        rdd.unpersist(True)
    s.add(sales=[(2000, 3, 5)])
    s.view.refresh()
    s.right()
    assert memory.held.keys() == before.keys()
    assert {name for name in before if memory.held[name] is not before[name]} == {lost}
    storage = s.wh._budget.jvm.headrace.Executors
    assert all(storage.hold(rdd, 2) for held in memory.held.values() for rdd in held.java.rdds())
    rdds = [rdd for held in memory.held.values() for rdd in held.java.rdds()]
    memory.clear()
    assert not any(storage.hold(rdd, 2) for rdd in rdds), "what is dropped is given back"


def test_a_run_that_loses_memory_is_done_again_and_the_next_has_it(
    shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    s = shop(apart=True)
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()
    memory, lost = s.view._memory, []
    assert s.held

    def losing(index: Index) -> Held | None:
        held = memory.held.get(index.name)
        if held is not None and not lost:
            lost.append(held)
            held.java.release()
        return held

    monkeypatch.setattr(memory, "get", losing)
    for step in range(2):
        s.add(sales=[(2000 + step, 3, 5)])
        report = s.view.refresh()
        assert report.method == "incremental"
        s.right()
    assert lost
    assert s.held
    s.add(sales=[(3000, 3, 5)])
    assert s.view.refresh().rows_read == 1


def test_what_outgrows_its_memory_is_tried_once_in_a_run(shop: Callable[..., Shop]) -> None:
    """Several that grow at once each have a part of what is free. When they are dropped there is room for one again,
    and it would not be enough again."""
    s, many = shop(memory=400_000), range(2000, 10_000)
    for step in range(3):
        s.add(sales=[(1000 + step, 3, 5)], items=[(41 + step, "new")])
        s.view.refresh()
    memory = s.view._memory
    before = {name: held.index for name, held in memory.held.items()}
    s.add(sales=[(i, i, 5) for i in many], items=[(i, "new") for i in many])
    assert s.view.refresh().method == "incremental"
    s.right()
    assert memory.refused
    memory.limit = s.wh._budget.limit = 1 << 30
    assert {memory.size(before[name], 10) for name in memory.refused} == {None}
    refused = set(memory.refused)
    memory.begin(memory.run)
    assert None not in {memory.size(before[name], 10) for name in refused}, "the next run may try again"


def test_a_goal_bounds_one_view(shop: Callable[..., Shop]) -> None:
    s = shop()
    small = s.wh.view("small", SQL, goal=hr.least_latency(memory=4_000))
    small.refresh()
    for step in range(3):
        s.add(sales=[(1000 + step, 3, 5)], items=[(50 + step, "new")])
        s.view.refresh()
        small.refresh()
        assert sum(small._memory.bytes().values()) <= 4_400
    assert sum(s.view._memory.bytes().values()) > 4_400
    same_rows(small.read(), s.view.recompute())


def test_what_is_held_follows_the_prediction(shop: Callable[..., Shop]) -> None:
    """While only sales come, items are held; when items come too, sales are; rows are right all the time."""
    s = shop()
    for step in range(4):
        s.add(sales=[(1000 + step, 3, 5)])
        s.view.refresh()
    assert "items by item" in s.held
    assert "sales by item" not in s.held
    s.add(items=[(45, "not foreseen")])
    s.view.refresh()
    s.right()
    for step in range(4):
        s.add(items=[(50 + step, "foreseen")])
        s.view.refresh()
    assert "sales by item" in s.held
    s.right()


@pytest.mark.parametrize("strategy", ["rebatch", "keep-all", "recycler"])
def test_any_strategy_gives_the_same_rows(shop: Callable[..., Shop], strategy: str) -> None:
    s = shop()
    s.view._recall.choosing.strategy = strategy
    for step in range(3):
        s.add(sales=[(1000 + step, step, 5)], items=[(50 + step, "new")])
        s.write("delete", sales=[(step, step, step)])
        s.view.refresh()
        s.right()
    assert bool(s.held) == (strategy != "rebatch")


def test_a_failed_run_leaves_no_trace(shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch) -> None:
    s = shop()
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()
    s.add(sales=[(1001, 3, 7)], items=[(77, "late")])
    with monkeypatch.context() as broken:
        broken.setattr(s.view._result, "commit", _fail)
        with pytest.raises(RuntimeError):
            s.view.refresh()
    s.view.refresh()
    s.right()


def _fail(*_: Any, **__: Any) -> None:
    raise RuntimeError("no commit today")


def test_another_process_went_on(shop: Callable[..., Shop]) -> None:
    s = shop()
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()
    other = hr.Warehouse(s.root / "wh", spark=s.wh.spark)
    for name in ("sales", "items"):
        other.source(name, hr.Folder(str(s.root / name), changes=True))
    twin = other.view("totals", SQL)
    s.add(sales=[(1001, 4, 6)], items=[(80, "late")])
    twin.refresh()
    s.write("delete", items=[(80, "late")])
    s.add(sales=[(1002, 5, 6)])
    s.view.refresh()
    s.right()


def test_losing_it_costs_time_and_no_rows(shop: Callable[..., Shop], caplog: pytest.LogCaptureFixture) -> None:
    s = shop()
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()
    for held in s.view._memory.held.values():
        held.java.release()
    s.add(sales=[(1001, 3, 7)])

    report = s.view.refresh()

    assert report.method == "incremental"
    assert "without what it had in memory" in caplog.text
    s.right()


def test_a_view_that_nobody_has_takes_no_memory(shop: Callable[..., Shop]) -> None:
    s = shop()
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()
    budget = s.wh._budget
    assert budget.free < budget.limit
    s.wh.views.clear()
    s.view = None  # type: ignore[assignment]
    assert left(lambda: budget.limit - budget.free) == 0


def test_a_view_that_is_dropped_takes_no_memory(shop: Callable[..., Shop]) -> None:
    s = shop()
    s.add(sales=[(1000, 3, 5)])
    s.view.refresh()
    s.view.drop()

    assert s.wh._budget.free == s.wh._budget.limit


def test_what_is_held_is_told(shop: Callable[..., Shop]) -> None:
    s = shop()
    s.add(sales=[(1000, 3, 5)])
    report = s.view.refresh()

    assert report.memory.keys() == s.view.status().memory.keys()
    assert report.memory["items by item"] > 0
    assert "items by item" in s.view.explain()
    assert "items by item" in str(report)


def test_one_that_is_not_used_is_dropped(shop: Callable[..., Shop]) -> None:
    s = shop()
    s.add(items=[(60, "new")])
    s.view.refresh()
    assert "sales by item" in s.held
    for step in range(8):
        s.add(sales=[(3000 + step, 3, 5)])
        s.view.refresh()
    assert "sales by item" not in s.held
    s.right()


def test_a_state_is_folded_by_what_reading_it_costs(shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its rows are looked up in memory its Segments cost nothing; where they are scanned they are folded soon."""
    monkeypatch.setattr("headrace.cost.folding.FOLD", 0.03)
    place = shop()
    (state,) = place.view._states.values()
    for n in range(8):
        place.add(sales=[(1_000 + n, n, n)])
        assert not any(step.startswith("fold") for step in place.view.refresh().steps)
    assert state.segments().count == 8
    place.view._memory.clear()
    monkeypatch.setattr(type(place.view._memory), "possible", property(lambda _: False))
    folded = []
    for n in range(8):
        place.add(sales=[(2_000 + n, n, n)])
        folded += [n for step in place.view.refresh().steps if step.startswith("fold")]
    assert folded
    assert state.segments().count < 8
    place.right()


def test_spark_knows_what_is_taken(shop: Callable[..., Shop]) -> None:
    """So that it spills, instead of asking the heap for what indexes have."""
    case = shop(memory="64m")
    storage = case.wh._budget.storage
    assert storage is not None
    assert storage.bytes == 0
    case.add(sales=[(1000, 3, 5)])
    case.view.refresh()
    taken = sum(h.bytes for h in case.view._memory.held.values())
    assert storage.bytes == taken > 0
    before, much = storage.java.used(), 64 << 20  # far more than what Spark itself may take or give back meanwhile
    storage.be(taken + much)
    assert storage.java.used() > before + much // 2
    case.view._memory.clear()
    assert storage.bytes == 0
    assert storage.java.used() < before + much // 2
    case.add(sales=[(1001, 3, 5)])
    case.view.refresh()
    assert storage.bytes > 0
    del case
    assert left(lambda: storage.bytes) == 0
