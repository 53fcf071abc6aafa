"""The sharp edges of SQL, each by name: the view equals Spark's answer after every change.

One history serves all: NULLs and duplicates everywhere, keys on one side only, groups that die and come
back, a last match that is deleted, a table that is emptied and filled again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from ahead import Ahead, chosen
from maintained import Maintained
from oracle import same_rows
from pyspark.sql import SparkSession

L = pa.schema(
    [
        ("k", pa.int32()),
        ("x", pa.decimal128(12, 2)),
        ("s", pa.string()),
        ("d", pa.float64()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("a", pa.list_(pa.int32())),
        ("p", pa.struct([("q", pa.int32()), ("r", pa.string())])),
    ]
)
R = pa.schema([("k", pa.int32()), ("y", pa.int64()), ("s", pa.string()), ("on", pa.date32())])


def left(k: int | None, x: str | None, s: str | None, d: float | None = 0.5) -> tuple[object, ...]:
    number = k or 0
    when = datetime(2024, 3, 31, number % 24, 30, tzinfo=timezone.utc)
    array = None if k is None else [number, 7] if number % 2 else []
    return (k, None if x is None else Decimal(x), s, d, when, array, {"q": number, "r": s})


def right(k: int | None, y: int | None, s: str | None) -> tuple[object, ...]:
    return (k, y, s, date(2024, 1, 1 + (y or 0) % 28))


HISTORY = (
    {
        "l": (
            [
                left(1, "1.10", "a"),
                left(1, "1.10", "a"),
                left(2, "2.20", "b", 1.5),
                left(None, "3.30", None),
                left(4, None, "a"),
            ],
            [],
        ),
        "r": (
            [
                right(1, 10, "a"),
                right(2, 20, None),
                right(2, 20, None),
                right(None, 30, "b"),
                right(5, None, "a"),
            ],
            [],
        ),
    },
    {
        "l": ([left(3, "9.99", "c", 2.0), left(2, None, None, None)], [left(1, "1.10", "a")]),
        "r": ([right(3, 40, "c"), right(4, 50, "a")], [right(2, 20, None)]),
    },
    {
        "l": ([left(1, "7.77", "a", -0.25)], [left(3, "9.99", "c", 2.0), left(None, "3.30", None)]),
        "r": ([], [right(2, 20, None), right(1, 10, "a"), right(None, 30, "b")]),
    },
    {
        "l": ([], []),
        "r": (
            [right(2, 60, "b"), right(None, 30, "b"), right(1, 10, "a")],
            [right(5, None, "a"), right(3, 40, "c"), right(4, 50, "a")],
        ),
    },
    {
        "l": (
            [left(3, "9.99", "c", 2.0)],
            [
                left(1, "1.10", "a"),
                left(2, "2.20", "b", 1.5),
                left(4, None, "a"),
                left(2, None, None, None),
                left(1, "7.77", "a", -0.25),
            ],
        ),
        "r": ([right(3, 1, "a")], []),
    },
)

CASES = {
    "null keys in an inner join": "SELECT l.k, l.s, y FROM l JOIN r ON l.k = r.k",
    "null keys in a left join": "SELECT l.k, x, y FROM l LEFT JOIN r ON l.k = r.k",
    "null keys in a right join": "SELECT l.k AS lk, r.k AS rk, y FROM l RIGHT JOIN r ON l.k = r.k",
    "null keys in a full join": "SELECT l.k AS lk, r.k AS rk, x, y FROM l FULL JOIN r ON l.k = r.k",
    "null keys in a semi join": "SELECT k, x FROM l LEFT SEMI JOIN r ON l.k = r.k",
    "null keys in an anti join": "SELECT k, x FROM l LEFT ANTI JOIN r ON l.k = r.k",
    "null keys in group by": "SELECT s, k, count(*) AS c, sum(x) AS sx FROM l GROUP BY s, k",
    "null-safe equality in an inner join": "SELECT l.k, y FROM l JOIN r ON l.k <=> r.k",
    "null-safe equality in a left join": "SELECT l.k, x, y FROM l LEFT JOIN r ON l.k <=> r.k AND l.s <=> r.s",
    "null-safe equality in a full join": "SELECT l.k AS lk, r.k AS rk, x, y FROM l FULL JOIN r ON l.k <=> r.k",
    "not in with nulls": "SELECT k, x FROM l WHERE k NOT IN (SELECT k FROM r)",
    "not in with nulls and a correlation": "SELECT k FROM l WHERE k NOT IN (SELECT k FROM r WHERE r.s = l.s)",
    "a global aggregate over an empty table": "SELECT count(*) AS c, sum(y) AS sy, max(y) AS my FROM r WHERE y > 1000",
    "a global aggregate": "SELECT count(*) AS c, count(x) AS cx, sum(x) AS sx, avg(x) AS ax FROM l",
    "a global minimum under deletes": "SELECT min(x) AS m, max(d) AS md FROM l",
    "groups that die and come back": "SELECT k, sum(y) AS sy, count(y) AS cy FROM r GROUP BY k",
    "a self-join": "SELECT a.k, b.x FROM l a JOIN l b ON a.k = b.k AND a.s = b.s",
    "a self left join": "SELECT a.k, b.x FROM l a LEFT JOIN l b ON a.k = b.k + 1",
    "the same source twice": "SELECT k, s FROM l UNION ALL SELECT k + 1, s FROM l WHERE x > 2",
    "a full join retracted from both sides": "SELECT coalesce(l.k, r.k) AS k, x, y FROM l FULL JOIN r ON l.k = r.k AND l.s = r.s",
    "a full join with a residual": "SELECT l.k AS lk, r.k AS rk, x, y FROM l FULL JOIN r ON l.k = r.k AND x < y",
    "a full join without an equality": "SELECT l.k AS lk, r.k AS rk FROM l FULL JOIN r ON l.k < r.k",
    "a left join with a residual": "SELECT l.k, x, y FROM l LEFT JOIN r ON l.k = r.k AND l.x * 5 < r.y",
    "a left join without an equality": "SELECT l.k, x, y FROM l LEFT JOIN r ON l.k < r.k",
    "an anti join with a residual": "SELECT k FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.y > l.x * 10)",
    "an existence join": "SELECT k, x FROM l WHERE k IN (SELECT k FROM r) OR x > 3",
    "an existence join with a residual": "SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.y < 30) OR s = 'c'",
    "a semi join whose last match is deleted": "SELECT k, s FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "an uncorrelated exists": "SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r WHERE y > 35)",
    "a correlated scalar subquery": "SELECT k, (SELECT max(y) FROM r WHERE r.k = l.k) AS m FROM l",
    "a correlated count": "SELECT k, (SELECT count(*) FROM r WHERE r.k = l.k) AS m FROM l",
    "a scalar subquery in a filter": "SELECT k, x FROM l WHERE x > (SELECT avg(x) FROM l)",
    "a scalar subquery over nothing": "SELECT k, (SELECT y FROM r WHERE y = 12345) AS m FROM l",
    "two scalar subqueries": "SELECT k, (SELECT min(y) FROM r) AS a, (SELECT count(*) FROM r) AS b FROM l",
    "a scalar subquery in an aggregate": "SELECT s, sum(x - (SELECT min(x) FROM l)) AS z FROM l GROUP BY s",
    "union": "SELECT k, s FROM l UNION SELECT k, s FROM r",
    "union all": "SELECT k, s FROM l UNION ALL SELECT k, s FROM r",
    "intersect": "SELECT k FROM l INTERSECT SELECT k FROM r",
    "intersect all": "SELECT k FROM l INTERSECT ALL SELECT k FROM r",
    "except": "SELECT k FROM l EXCEPT SELECT k FROM r",
    "except all": "SELECT k FROM l EXCEPT ALL SELECT k FROM r",
    "rollup with grouping_id": "SELECT k, s, grouping_id(k, s) AS g, count(*) AS c, sum(x) AS sx FROM l GROUP BY ROLLUP (k, s)",
    "cube": "SELECT k, s, grouping(k) AS g, max(x) AS mx FROM l GROUP BY CUBE (k, s)",
    "rank with ties": "SELECT k, x, rank() OVER (PARTITION BY s ORDER BY k) AS r, dense_rank() OVER (PARTITION BY s ORDER BY k) AS dr FROM l",
    "row_number over a total order": "SELECT k, x, row_number() OVER (PARTITION BY s ORDER BY k, x, d) AS n FROM l",
    "a rows frame": "SELECT k, sum(x) OVER (PARTITION BY s ORDER BY k, x, d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS z FROM l",
    "a range frame": "SELECT k, count(*) OVER (PARTITION BY s ORDER BY k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS z FROM l",
    "an unbounded frame": "SELECT k, max(x) OVER (PARTITION BY s) AS z FROM l",
    "lag and lead": "SELECT k, lag(x) OVER (PARTITION BY s ORDER BY k, x, d) AS a, lead(x) OVER (PARTITION BY s ORDER BY k, x, d) AS b FROM l",
    "a window over everything": "SELECT k, rank() OVER (ORDER BY k) AS r FROM l",
    "top rows by key": "SELECT * FROM (SELECT k, x, row_number() OVER (PARTITION BY s ORDER BY x DESC, k, d) AS n FROM l) WHERE n <= 1",
    "order by with limit": "SELECT k, x, s FROM l ORDER BY k, x, s, d LIMIT 2",
    "order by a hidden column with limit and offset": "SELECT s, x FROM l ORDER BY x DESC NULLS LAST, s LIMIT 2 OFFSET 1",
    "one distinct aggregate": "SELECT s, count(DISTINCT k) AS c FROM l GROUP BY s",
    "a distinct aggregate beside others": "SELECT s, count(DISTINCT k) AS c, sum(x) AS sx, max(x) AS mx FROM l GROUP BY s",
    "several distinct aggregates": "SELECT s, count(DISTINCT k) AS c, sum(DISTINCT x) AS dx, avg(x) AS ax FROM l GROUP BY s",
    "global distinct aggregates": "SELECT count(DISTINCT k) AS c, count(*) AS n FROM l",
    "a distinct aggregate with a filter": "SELECT s, count(DISTINCT k) FILTER (WHERE x > 1.5) AS c FROM l GROUP BY s",
    "filter clauses": "SELECT s, sum(x) FILTER (WHERE k > 1) AS a, count(*) FILTER (WHERE x IS NULL) AS b FROM l GROUP BY s",
    "count(*) against count(x)": "SELECT s, count(*) AS a, count(x) AS b, count(k, x) AS c FROM l GROUP BY s",
    "stddev and variance": "SELECT s, stddev(d) AS a, var_pop(k) AS b, stddev_pop(x) AS c FROM l GROUP BY s",
    "collect_list and percentile": "SELECT s, sort_array(collect_list(k)) AS a, percentile(k, 0.5) AS b FROM l GROUP BY s",
    "a percentile over everything": "SELECT percentile(k, 0.25) AS b FROM l",
    "max_by and bool_and": "SELECT s, max_by(k, x) AS a, bool_and(k > 1) AS b, bit_xor(k) AS c FROM l WHERE x IS NOT NULL GROUP BY s",
    "exact decimals": "SELECT s, sum(x * x) AS a, avg(x) AS b, sum(x) / count(*) AS c FROM l GROUP BY s",
    "a scalar subquery in a maximum": "SELECT s, max(k + (SELECT min(y) FROM r)) AS m FROM l GROUP BY s",
    "a scalar subquery beside groups": "SELECT (SELECT sum(y) FROM r) AS a FROM (SELECT k FROM l GROUP BY k) AS q",
    "a scalar subquery beside a sum": "SELECT s, sum(x) + (SELECT max(y) FROM r) AS b FROM l GROUP BY s",
    "decimals to the last digit": "SELECT s, sum(CAST(x / 7 AS decimal(38, 12))) AS a FROM l GROUP BY s",
    "wide decimals": "SELECT s, sum(CAST(x AS decimal(38, 10))) AS a FROM l GROUP BY s",
    "integers and bigints": "SELECT s, sum(k) AS a, avg(k) AS b FROM l GROUP BY s",
    "an average of bigints": "SELECT s, avg(y) AS a, sum(y) AS b FROM r GROUP BY s",
    "doubles": "SELECT s, sum(d) AS a, avg(d) AS b FROM l GROUP BY s",
    "having": "SELECT k, count(*) AS c FROM l GROUP BY k HAVING count(*) > 1",
    "nested aggregates": "SELECT c, count(*) AS n FROM (SELECT k, count(*) AS c FROM l GROUP BY k) GROUP BY c",
    "a cross join": "SELECT l.k AS lk, r.k AS rk FROM l CROSS JOIN r",
    "a non-equi join": "SELECT l.k AS lk, r.k AS rk FROM l JOIN r ON l.k < r.k AND l.x < r.y",
    "explode": "SELECT k, e FROM l LATERAL VIEW explode(a) AS e",
    "explode outer": "SELECT k, e FROM l LATERAL VIEW OUTER explode(a) AS e",
    "arrays as group keys": "SELECT a, count(*) AS c FROM l GROUP BY a",
    "structs": "SELECT p.r AS r, max(p.q) AS q FROM l GROUP BY p.r",
    "structs as group keys": "SELECT p, count(*) AS c FROM l GROUP BY p",
    "timestamps": "SELECT date_trunc('day', t) AS day, count(*) AS c, max(t) AS m FROM l GROUP BY date_trunc('day', t)",
    "dates": "SELECT month(on) AS m, min(on) AS d, count(*) AS c FROM r GROUP BY month(on)",
    "a common table expression used twice": "WITH g AS (SELECT k, sum(x) AS sx FROM l GROUP BY k) SELECT a.k, b.sx FROM g a JOIN g b ON a.k = b.k + 1",
    "a join of aggregates": "SELECT a.k, a.c, b.sy FROM (SELECT k, count(*) AS c FROM l GROUP BY k) a LEFT JOIN (SELECT k, sum(y) AS sy FROM r GROUP BY k) b ON a.k = b.k",
    "distinct": "SELECT DISTINCT s FROM l",
    "values": "SELECT l.k, v.name FROM l JOIN VALUES (1, 'one'), (2, 'two') AS v(id, name) ON l.k = v.id",
    "a constant": "SELECT 1 AS one, 'a' AS a FROM l",
}


@pytest.fixture(scope="module")
def truths(spark: SparkSession) -> list[SparkSession]:
    """For each change of the history, a session with the rows that the tables then hold."""
    rows: dict[str, list[tuple[object, ...]]] = {"l": [], "r": []}
    sessions = []
    for changes in HISTORY:
        session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
        for name, schema in (("l", L), ("r", R)):
            insert, delete = changes[name]
            for row in delete:
                rows[name].remove(row)
            rows[name] += insert
            arrays = [pa.array([row[i] for row in rows[name]], f.type) for i, f in enumerate(schema)]
            session.createDataFrame(pa.table(arrays, schema=schema)).createOrReplaceTempView(name)
        sessions.append(session)
    return sessions


@pytest.fixture(scope="module")
def maintained(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    truths: list[SparkSession],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ahead[str]]:
    folder = tmp_path_factory.mktemp("edges")
    names = [item.callspec.params["name"] for item in chosen(request, "maintained")]

    def run(name: str) -> None:
        sql = CASES[name]
        case = Maintained(spark, folder / str(names.index(name)), {"l": L, "r": R})
        view = None
        for changes, truth in zip(HISTORY, truths, strict=True):
            for table, (insert, delete) in changes.items():
                case[table].change(insert=insert, delete=delete)
            view = view or case.warehouse.view("v", sql)
            report = view.refresh()
            same_rows(view.read(), truth.sql(sql))
            assert report.method in ("initial", "incremental", "unchanged")

    running = Ahead(names, run)
    yield running
    running.stop()


@pytest.mark.parametrize("name", CASES)
def test_equals_spark_after_every_change(maintained: Ahead[str], name: str) -> None:
    maintained.take(name)
