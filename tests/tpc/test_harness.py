"""The harness itself: its changes add up to its tables, and its queries have something to say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tpc.queries import COUNTS, LONG, queries, query
from tpc.schedule import LOADS, Ledger, histories, sizes

if TYPE_CHECKING:
    from tpc.answers import Answers

# How many queries must have an answer with any value other than NULL and 0 after each load. When a table has
# lost all of its rows, inner joins with it are empty.
TELLING = {"h": (20, 21, 19, 18, 1, 19), "ds": (92, 96, 95, 95, 15, 92)}


@pytest.mark.parametrize("benchmark", sorted(COUNTS))
def test_changes_add_up_to_the_truth(benchmark: str, ledgers: dict[str, Ledger]) -> None:
    ledger = ledgers[benchmark]
    taken = {
        (table, history)
        for number in range(1, COUNTS[benchmark] + 1)
        for table, history in histories(query(benchmark, number), sizes(ledger)).items()
    }
    for table, history in sorted(taken):
        weighted = []
        for end in range(1, len(history) + 1):
            load = ledger.load(table, history[:end])
            for file in load.files:
                changes = pq.read_table(file)
                arrives = pc.is_in(changes["_change_type"], pa.array(["insert", "update_postimage"]))
                weighted.append(_weighted(changes.drop_columns("_change_type"), pc.if_else(arrives, 1, -1)))
            truth = pq.read_table(load.truth)
            total = pa.concat_tables([*weighted, _weighted(truth, pa.array([-1] * len(truth), pa.int64()))])
            sums = total.group_by(truth.column_names).aggregate([("weight", "sum")])
            assert not pc.any(pc.not_equal(sums["weight_sum"], 0)).as_py(), (table, history[:end])


def _weighted(rows: pa.Table, weights: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.append_column("weight", weights.cast(pa.int64()))


@pytest.mark.parametrize("benchmark", sorted(COUNTS))
def test_every_load_has_its_kind_of_changes(benchmark: str, ledgers: dict[str, Ledger]) -> None:
    everything = {"insert", "delete", "update_preimage", "update_postimage"}
    ledger = ledgers[benchmark]
    for table, size in sizes(ledger).items():
        wanted = {"initial": {"insert"}, "inserts": {"insert"}, "mixed": everything}
        wanted |= {"idle": set(), "emptied": {"delete"}, "refilled": {"insert"}}
        for history in (
            ("initial", "inserts", "mixed", "idle", "mixed"),
            ("initial", "inserts", "mixed", "mixed", "emptied", "refilled"),
        ):
            for end, step in enumerate(history, 1):
                files = ledger.load(table, history[:end]).files
                kinds = {kind for file in files for kind in pq.read_table(file)["_change_type"].to_pylist()}
                assert kinds == wanted[step], (table, size, history[:end])


def test_ties_are_decided_by_all_output_columns() -> None:
    assert query("h", 3).ordered(4).endswith("o_orderdate, 1, 2, 3, 4\nLIMIT 10")
    assert query("h", 1).ordered(10) == query("h", 1).sql  # no LIMIT
    assert query("ds", 97).ordered(3) == query("ds", 97).sql  # no ORDER BY: one row
    for benchmark in COUNTS:
        for q in queries(benchmark):
            assert len(re.findall(r"\bLIMIT\b", q.sql, re.IGNORECASE)) <= 1, q.name


@pytest.mark.parametrize(
    ("benchmark", "load"),
    [
        pytest.param(b, i, marks=() if LONG else pytest.mark.long, id=f"{b}-{name}")
        for b in sorted(COUNTS)
        for i, name in enumerate(LOADS)
    ],
)
def test_spark_answers_every_query(benchmark: str, load: int, ledgers: dict[str, Ledger], answers: Answers) -> None:
    ledger = ledgers[benchmark]
    telling = 0
    for q in queries(benchmark):
        taken = histories(q, sizes(ledger))
        rows = answers.batch(q, {t: ledger.load(t, history[: load + 1]).truth for t, history in taken.items()})
        telling += any(value for column in rows.columns for value in column.to_pylist())
    print(f"{benchmark} {LOADS[load]}: {telling} of {COUNTS[benchmark]} answers tell something")
    assert telling >= TELLING[benchmark][load]
