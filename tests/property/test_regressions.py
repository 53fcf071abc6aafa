"""Cases that once failed, or that a naive rule gets wrong. `test_random_queries` prints new ones to paste."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from math import nan as NAN
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .cases import Trial
from .check import Oracle, run_trial
from .histories import History, batch, delete, insert, update

Check = Callable[..., None]
D = Decimal
DAY = date(2024, 1, 1)


@pytest.fixture
def check(spark: SparkSession, tmp_path: Path) -> Check:
    """`check(sql, history)`: the view is what Spark says after every batch of the history."""

    def run(sql: str, history: History, first: int = 0, **how: str) -> None:
        outcome = run_trial(spark, Oracle(spark), Trial((sql,), history, first, **how), tmp_path)
        assert not outcome.discarded, f"Spark cannot run this: {outcome.discarded}"
        if outcome.failures:
            pytest.fail(str(outcome.failures[0]), pytrace=False)

    return run


def test_null_enters_and_leaves_a_not_in(check: Check) -> None:
    """One NULL in the subquery hides every row; when it leaves, they all come back."""
    check(
        "SELECT q1.a AS c1, q1.s AS c2 FROM t1 AS q1 WHERE q1.a NOT IN (SELECT q2.a FROM t2 AS q2)",
        History(
            (
                batch(
                    t1=insert((1, 1, "a", None), (1, 1, "a", None), (2, 1, "b", None), (None, 1, "c", None)),
                    t2=insert((2, 1, 1.0, True)),
                ),
                batch(t2=insert((None, 1, 1.0, True))),
                batch(t2=delete((None, 1, 1.0, True)) + delete((2, 1, 1.0, True))),
            )
        ),
    )


def test_a_group_keeps_only_nulls(check: Check) -> None:
    """The sum of a group that lost its last value is NULL, not 0; the group goes with its last row."""
    check(
        "SELECT q1.s AS c1, sum(q1.d) AS c2, count(q1.d) AS c3, avg(q1.d) AS c4, max(q1.d) AS c5,"
        " count(*) AS c6 FROM t1 AS q1 GROUP BY q1.s",
        History(
            (
                batch(
                    t1=insert((1, 1, "a", D("1.00")), (1, 1, "a", D("-1.00")), (1, 1, "a", None))
                    + insert((1, 1, "b", D("1.00")), (1, 1, None, D("2.00")))
                ),
                batch(t1=delete((1, 1, "a", D("1.00")), (1, 1, "a", D("-1.00")), (1, 1, "b", D("1.00")))),
                batch(t1=delete((1, 1, "a", None)) + update((1, 1, None, D("2.00")), (1, 1, None, None))),
            )
        ),
    )


def test_a_global_aggregate_of_nothing_has_one_row(check: Check) -> None:
    check(
        "SELECT count(*) AS c1, sum(q1.x) AS c2, count(DISTINCT q1.a) AS c3, max(q2.s) AS c4"
        " FROM t2 AS q1 LEFT JOIN t1 AS q2 ON q1.a = q2.a",
        History(
            (
                batch(),
                batch(t2=insert((1, 1, 1.0, True), (1, 1, 1.0, True)), t1=insert((1, 1, "a", None))),
                batch(t2=delete((1, 1, 1.0, True), (1, 1, 1.0, True))),
            )
        ),
    )


def test_both_sides_of_a_full_join_change_at_once(check: Check) -> None:
    """Matches come and go on both sides in one batch; a condition on one side keeps that side's rows."""
    check(
        "SELECT q1.a AS c1, q1.s AS c2, q2.k AS c3, q2.p AS c4"
        " FROM t1 AS q1 FULL JOIN t2 AS q2 ON q1.a = q2.a AND q1.b > 0 AND q2.p",
        History(
            (
                batch(
                    t1=insert((1, 1, "a", None), (1, 1, "a", None), (2, 0, "b", None)),
                    t2=insert((2, 1, 1.0, True), (3, 2, 1.0, True), (None, 3, 1.0, True)),
                ),
                batch(
                    t1=delete((1, 1, "a", None)) + update((2, 0, "b", None), (2, 1, "b", None)),
                    t2=insert((1, 4, 1.0, True), (1, 4, 1.0, False)) + delete((3, 2, 1.0, True)),
                ),
                batch(t1=delete((1, 1, "a", None)), t2=update((2, 1, 1.0, True), (2, 1, 1.0, None))),
            )
        ),
    )


def test_copies_count_in_except_all_and_intersect_all(check: Check) -> None:
    row, other = (1, 1, "a", None), (1, DAY, 1.0, "a")
    check(
        "(SELECT q1.s AS c1 FROM t1 AS q1) EXCEPT ALL ((SELECT q2.s AS c1 FROM t3 AS q2)"
        " INTERSECT ALL (SELECT q3.s AS c1 FROM t1 AS q3))",
        History(
            (
                batch(t1=insert(row, row, row), t3=insert(other, other)),
                batch(t1=delete(row)),
                batch(t1=delete(row), t3=insert(other)),
            )
        ),
    )


def test_a_shared_relation_meets_its_own_change(check: Check) -> None:
    """Both sides of the join change by the same rows: old × Δ + Δ × old + Δ × Δ."""
    check(
        "WITH w AS (SELECT q1.a AS c1, count(*) AS c2 FROM t1 AS q1 GROUP BY q1.a)"
        " SELECT q2.c1 AS c1, q3.c1 AS c2 FROM w AS q2 JOIN w AS q3 ON q2.c2 = q3.c2",
        History(
            (
                batch(t1=insert((1, 1, "a", None), (2, 1, "a", None), (2, 1, "b", None))),
                batch(t1=insert((1, 1, "c", None), (3, 1, "c", None))),
                batch(t1=delete((2, 1, "b", None)) + update((3, 1, "c", None), (2, 1, "c", None))),
            )
        ),
    )


def test_a_count_of_no_match_is_zero(check: Check) -> None:
    """The correlated count over no rows is 0, so that it can be compared; any other aggregate is NULL."""
    check(
        "SELECT q1.a AS c1, (SELECT max(q3.x) FROM t2 AS q3 WHERE q3.a = q1.a) AS c2 FROM t1 AS q1"
        " WHERE (SELECT count(*) FROM t2 AS q2 WHERE q2.a = q1.a) = 0 OR q1.b = 1",
        History(
            (
                batch(t1=insert((1, 0, "a", None), (2, 1, "a", None), (None, 0, "a", None))),
                batch(t2=insert((1, 1, 1.0, True), (2, 1, 2.0, True), (2, 1, 0.25, None))),
                batch(t2=delete((1, 1, 1.0, True), (2, 1, 2.0, True))),
            )
        ),
    )


def test_a_row_leaves_and_comes_back_in_one_batch(check: Check) -> None:
    """Two files of one batch cancel; a view made only now must see the net."""
    row = (1, 1, "a", D("1.00"))
    history = History(
        (
            batch(t1=insert(row, row)),
            {"t1": (delete(row, row), insert(row))},
            {"t1": (insert((2, 2, "b", None)), update((2, 2, "b", None), row) + delete(row))},
        )
    )
    sql = "SELECT q1.a AS c1, row_number() OVER (PARTITION BY q1.a ORDER BY q1.a, q1.b, q1.s, q1.d) AS c2 FROM t1 AS q1"
    check(sql, history)


def test_a_view_made_late_sees_the_net(check: Check) -> None:
    row = (1, 1, "a", D("1.00"))
    check(
        "SELECT DISTINCT q1.a AS c1, q1.s AS c2 FROM t1 AS q1",
        History(
            (
                batch(t1=insert(row, row, (2, 2, "b", None))),
                batch(t1=delete(row, (2, 2, "b", None))),
                batch(t1=delete(row)),
            )
        ),
        first=1,
    )


def test_nan_enters_and_leaves_a_sum(check: Check) -> None:
    """Subtracting NaN from a kept sum gives NaN for ever."""
    check(
        "SELECT q1.a AS c1, sum(q1.x) AS c2, max(q1.x) AS c3, count(DISTINCT q1.x) AS c4 FROM t2 AS q1 GROUP BY q1.a",
        History(
            (
                batch(t2=insert((1, 1, 1.0, True))),
                batch(t2=insert((1, 1, NAN, True), (1, 1, NAN, True))),
                batch(t2=delete((1, 1, NAN, True), (1, 1, NAN, True))),
            )
        ),
    )


def test_arrays_with_and_without_nulls_in_a_union(check: Check) -> None:
    """collect_list promises that no element is NULL; above a union that is no promise any more."""
    check(
        "SELECT sort_array(collect_list(q1.a)) AS c1 FROM t2 AS q1 UNION SELECT q3.arr AS c1 FROM t4 AS q3",
        History(
            (
                batch(t2=insert((0, 0, -1.0, True)), t4=insert((1, (1, 2), None, DAY))),
                batch(t2=delete((0, 0, -1.0, True)), t4=insert((1, (2, None, 2), D("2.00"), DAY))),
                batch(t4=insert((0, None, D("2.00"), DAY))),
            )
        ),
    )
