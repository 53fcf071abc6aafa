"""What a project may hold, and how it is refused when it may not: with Spark's code, in the file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr

from .making import SPEC, opened, project

ONE = "CREATE MATERIALIZED VIEW one AS SELECT 1 AS x"
PYTHON = "from pyspark import pipelines as dp\n\n"


def test_names_mean_the_same_everywhere(spark: SparkSession, tmp_path: Path) -> None:
    files = {
        "a.sql": f"""
            {ONE};
            CREATE MATERIALIZED VIEW two AS SELECT one.x + o.x AS x FROM default.one JOIN spark_catalog.default.ONE o;
            CREATE MATERIALIZED VIEW three AS WITH one AS (SELECT 10 AS x) SELECT x FROM one;
        """,
        "b.py": PYTHON
        + """
@dp.materialized_view(name="default.four")
def f():
    return spark.table("two").union(spark.read.table("default.three")).union(spark.sql("SELECT x FROM default.two"))

@dp.temporary_view
def half():
    return spark.table("four").where("x > 2")

@dp.materialized_view
def five():
    return spark.table("Half")
""",
    }
    made = opened(spark, tmp_path, files)
    made.run()
    read = {n: sorted(r[0] for r in v.read().collect()) for n, v in made.warehouse.views.items()}
    assert read == {"one": [1], "two": [2], "three": [10], "four": [2, 2, 10], "five": [10]}


def test_columns_with_the_long_name_of_their_table(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"""
        {ONE};
        CREATE MATERIALIZED VIEW two AS SELECT default.one.x + 1 AS x, named_struct('x', 7) AS one FROM one;
        CREATE MATERIALIZED VIEW three AS
            SELECT spark_catalog.default.one.x AS a, `default`.`two` . x AS b, two.one.x AS c, default.two.one.x AS d
            FROM spark_catalog.default.one JOIN default.two ON default.ONE.x < default.two.x WHERE default.two.x > 0;
        CREATE MATERIALIZED VIEW four AS SELECT default.one.*, t.x AS y FROM default.one JOIN default.two AS t;
    """
    made = opened(spark, tmp_path, {"a.sql": sql})
    made.run()
    read = {n: [tuple(r) for r in v.read().collect()] for n, v in made.warehouse.views.items() if n != "two"}
    assert read == {"one": [(1,)], "three": [(1, 2, 7, 7)], "four": [(1, 2)]}
    with pytest.raises(hr.QueryError) as caught:
        opened(
            spark,
            tmp_path / "not",
            {"a.sql": f"{ONE}; CREATE MATERIALIZED VIEW v AS SELECT default.one.x FROM one AS o"},
        )
    assert caught.value.code == "NOT_RESOLVED"


def test_other_databases(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"""
        {ONE};
        USE DATABASE other;
        CREATE MATERIALIZED VIEW one AS SELECT 2 AS x;
        CREATE MATERIALIZED VIEW here AS SELECT one.x FROM one;
        CREATE MATERIALIZED VIEW there AS SELECT x FROM default.one;
    """
    made = opened(spark, tmp_path, {"a.sql": sql})
    made.run()
    read = {n: v.read().collect()[0][0] for n, v in made.warehouse.views.items()}
    assert read == {"one": 1, "other.one": 2, "other.here": 2, "other.there": 1}


def test_settings_hold_for_what_follows(spark: SparkSession, tmp_path: Path) -> None:
    sql = """
        CREATE MATERIALIZED VIEW a AS SELECT date_format(timestamp_seconds(0), 'H') AS h;
        SET spark.sql.session.timeZone = Asia/Tokyo;
        CREATE MATERIALIZED VIEW b AS SELECT date_format(timestamp_seconds(0), 'H') AS h;
    """
    made = opened(spark, tmp_path, {"a.sql": sql})
    made.run()
    assert [made.warehouse.views[n].read().collect()[0][0] for n in "ab"] == ["0", "9"]


def test_settings_of_a_temporary_view_go_with_it(spark: SparkSession, tmp_path: Path) -> None:
    sql = """
        SET spark.sql.session.timeZone = Asia/Tokyo;
        SET spark.sql.ansi.enabled = false;
        CREATE TEMPORARY VIEW inner AS SELECT date_format(timestamp_seconds(0), 'H') AS h, CAST('x' AS INT) AS n;
    """
    files = {"a.sql": sql, "b.sql": "CREATE MATERIALIZED VIEW outer AS SELECT h, n FROM inner"}
    made = opened(spark, tmp_path / "one", files)
    made.run()
    assert [tuple(r) for r in made.warehouse.views["outer"].read().collect()] == [("9", None)]
    other = "SET spark.sql.session.timeZone = UTC; CREATE TEMPORARY VIEW more AS SELECT 1 AS x"
    both = "CREATE MATERIALIZED VIEW both AS SELECT * FROM inner CROSS JOIN more"
    with pytest.raises(hr.QueryError) as caught:
        opened(spark, tmp_path / "two", {**files, "c.sql": other, "d.sql": both})
    assert caught.value.code == "SETTINGS_CONFLICT"
    assert '"inner" and "more"' in caught.value.message
    own = {**files, "c.sql": other, "d.sql": "SET spark.sql.session.timeZone = Asia/Kolkata; " + both}
    made = opened(spark, tmp_path / "three", own)
    made.run()
    assert made.warehouse.views["both"].read().collect()[0]["h"] == "9", "what was resolved with its own stays so"


def test_what_is_not_followed_is_told(spark: SparkSession, tmp_path: Path) -> None:
    files = {
        "a.sql": "CREATE MATERIALIZED VIEW a USING parquet PARTITIONED BY (x) COMMENT 'what it is' AS SELECT 1 AS x",
        "b.py": PYTHON
        + """
@dp.materialized_view(cluster_by=["x"], comment="of b")
def b():
    return spark.table("a")

@dp.materialized_view(format="delta")
def c():
    return spark.table("a")
""",
    }
    made = opened(spark, tmp_path, files)
    told = {name: " ".join(notes) for name, notes in made.notes.items()}
    assert told.keys() == {"a", "b"}
    assert "parquet" in told["a"]
    assert "by x" in told["a"]
    assert "by x" in told["b"]
    made.run()
    described = {n: v._result.table.metadata().description for n, v in made.warehouse.views.items()}
    assert described == {"a": "what it is", "b": "of b", "c": None}


def test_settings_of_headrace(spark: SparkSession, tmp_path: Path) -> None:
    spec = SPEC.replace("configuration:", 'configuration:\n  headrace.memory: "64m"\n  headrace.retain: "3"')
    text = "CREATE MATERIALIZED VIEW {} TBLPROPERTIES ('headrace.goal' = '{}') AS SELECT 1 AS x"
    made = opened(spark, tmp_path, {"a.sql": text.format("a", "least_latency(memory=1m)")}, spec)
    assert made.warehouse.retain == 3
    assert made.warehouse._budget.limit == 64 << 20
    assert made.warehouse.views["a"].goal == hr.least_latency(memory="1m")
    assert made.warehouse.views["a"]._memory.room == 1 << 20
    short = opened(spark, tmp_path, {"a.sql": text.format("a", "2k").replace(".goal", ".memory")})
    assert short.warehouse.views["a"].goal == hr.least_latency(memory="2k")
    more = "'headrace.memory' = '1k', 'headrace.goal'"
    with pytest.raises(hr.ConfigError) as both:
        opened(spark, tmp_path, {"a.sql": text.format("a", "least_latency").replace("'headrace.goal'", more)})
    assert both.value.code == "GOAL"
    with pytest.raises(hr.ConfigError) as caught:
        opened(spark, tmp_path, {"a.sql": text.format("a", "fastest")})
    assert caught.value.code == "GOAL"
    assert "a.sql:1" in (caught.value.at or "")


def test_a_timeline_works_ahead(spark: SparkSession, tmp_path: Path) -> None:
    text = "CREATE MATERIALIZED VIEW a TBLPROPERTIES ('headrace.timeline' = '{}') AS SELECT count(*) AS n FROM range(3)"
    made = opened(spark, tmp_path, {"a.sql": text.format("14:00 x0.25, 24:00")})
    view = made.warehouse.views["a"]
    assert view.timeline == hr.runs(["14:00", "24:00"], weights=[0.25, 1])
    assert view.policy == hr.cron("0 14 * * *") | hr.cron("0 0 * * *")
    made.run()
    with pytest.raises(hr.StateError):
        view.read()
    made.run()
    assert [row["n"] for row in view.read().collect()] == [3]
    with pytest.raises(hr.ConfigError) as caught:
        opened(spark, tmp_path, {"a.sql": text.format("14:00, 13:00")})
    assert caught.value.code == "TIMELINE"
    assert "a.sql:1" in (caught.value.at or "")


def test_declared_columns(spark: SparkSession, tmp_path: Path) -> None:
    fits = "CREATE MATERIALIZED VIEW v (x INT, y STRING) AS SELECT 1 AS x, 'a' AS y"
    opened(spark, tmp_path / "fits", {"a.sql": fits}).run()
    with pytest.raises(hr.QueryError) as caught:
        opened(spark, tmp_path / "not", {"a.sql": fits.replace("x INT", "x STRING")})
    assert caught.value.code == "UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA"


CDC = """
dp.create_streaming_table("t")
dp.create_auto_cdc_flow(target="t", source="s", keys=["k"], sequence_by="n", name="the flow")
"""
REFUSED: dict[str, tuple[dict[str, str], str, str, str]] = {
    "two of a name": (
        {"a.sql": ONE, "b.py": PYTHON + "@dp.materialized_view\ndef one():\n    return spark.range(1)\n"},
        "PIPELINE_DUPLICATE_IDENTIFIERS.OUTPUT",
        "b.py:3",
        "a.sql:1",
    ),
    "a cycle": (
        {"a.sql": "CREATE MATERIALIZED VIEW a AS SELECT * FROM b;\nCREATE MATERIALIZED VIEW b AS SELECT * FROM a"},
        "PIPELINE_GRAPH_NOT_TOPOLOGICALLY_SORTED",
        "a.sql:1",
        "a reads b reads a",
    ),
    "itself": (
        {"a.sql": "CREATE MATERIALIZED VIEW a AS SELECT * FROM default.a"},
        "PIPELINE_GRAPH_NOT_TOPOLOGICALLY_SORTED",
        "a.sql:1",
        "a reads a",
    ),
    "a missing input": (
        {"a.sql": f"{ONE};\n\nCREATE MATERIALIZED VIEW two AS SELECT * FROM nowhere"},
        "NOT_RESOLVED",
        "a.sql:3",
        "nowhere",
    ),
    "a missing input of a function": (
        {"a.py": PYTHON + "@dp.materialized_view\ndef two():\n    return spark.table('nowhere')\n"},
        "NOT_RESOLVED",
        "a.py:3",
        "nowhere",
    ),
    "a missing column": (
        {"a.sql": f"{ONE};\nCREATE MATERIALIZED VIEW two AS SELECT y FROM one"},
        "NOT_RESOLVED",
        "a.sql:2",
        "y",
    ),
    "a function that fails": (
        {"a.py": PYTHON + "@dp.materialized_view\ndef two():\n    return 1 / 0\n"},
        "FLOW_FAILED",
        "a.py:3",
        "ZeroDivisionError",
    ),
    "no DataFrame": (
        {"a.py": PYTHON + "@dp.materialized_view\ndef two():\n    return 7\n"},
        "NOT_A_QUERY",
        "a.py:3",
        "int",
    ),
    "a file that fails": (
        {"a.py": PYTHON + "import nothing_by_that_name\n"},
        "DEFINITIONS_FILE",
        "a.py:3",
        "nothing_by",
    ),
    "a file that is not Python": ({"a.py": "def (:\n"}, "DEFINITIONS_FILE", "a.py:1", "SyntaxError"),
    "a session that is changed": (
        {"a.py": PYTHON + "spark.conf.set('a', 'b')\n"},
        "SESSION_MUTATION_IN_DECLARATIVE_PIPELINE.SET_RUNTIME_CONF",
        "a.py:3",
        "RuntimeConfig",
    ),
    "a session that is changed in a function": (
        {"a.py": PYTHON + "@dp.materialized_view\ndef v():\n    spark.conf.set('a', 'b')\n    return spark.range(1)\n"},
        "NOT_RESOLVED",
        "a.py:3",
        "SESSION_MUTATION",
    ),
    "a command in a function": (
        {"a.py": PYTHON + "@dp.materialized_view\ndef v():\n    return spark.sql('CREATE TABLE x (a INT)')\n"},
        "UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND",
        "a.py:3",
        "CREATE TABLE x",
    ),
    "not SQL": ({"a.sql": "CREATE MATERIALIZED VIEW a AS SELEC 1"}, "SYNTAX", "a.sql", "SELEC"),
    "a command": (
        {"a.sql": f"{ONE};\nDROP TABLE one"},
        "PIPELINE_SQL_GRAPH_ELEMENT_REGISTRATION_ERROR",
        "a.sql:2",
        "Drop",
    ),
    "a batch for a stream": (
        {"a.sql": f"{ONE};\nCREATE STREAMING TABLE s AS SELECT * FROM one"},
        "INVALID_FLOW_QUERY_TYPE.BATCH_RELATION_FOR_STREAMING_TABLE",
        "a.sql:2",
        '"s"',
    ),
    "a stream for a batch": (
        {"a.py": PYTHON + "@dp.materialized_view\ndef v():\n    return spark.readStream.format('rate').load()\n"},
        "STREAMING",
        "a.py:3",
        '"v"',
    ),
    "a stream of a view": (
        {"a.sql": f"{ONE};\nCREATE STREAMING TABLE s AS SELECT * FROM STREAM one"},
        "STREAM_OF_VIEW",
        "a.sql:2",
        '"one"',
    ),
    "no query": ({"a.sql": f"{ONE};\nCREATE STREAMING TABLE s"}, "PIPELINE_DATASET_WITHOUT_FLOW", "a.sql:2", '"s"'),
    "no target": (
        {"a.sql": f"{ONE};\nCREATE FLOW f AS INSERT INTO s BY NAME SELECT * FROM STREAM one"},
        "TABLE_OR_VIEW_NOT_FOUND",
        "a.sql:2",
        '"f"',
    ),
    "AUTO CDC": ({"a.py": PYTHON + CDC}, "AUTO_CDC", "a.py:5", '"the flow"'),
    "AUTO CDC in SQL": (
        {"a.sql": "CREATE STREAMING TABLE t;\nCREATE FLOW g AS AUTO CDC INTO t FROM STREAM s KEYS (k) SEQUENCE BY n"},
        "AUTO_CDC",
        "a.sql:2",
        '"g"',
    ),
    "a setting that is not there": (
        {"a.sql": "CREATE MATERIALIZED VIEW a TBLPROPERTIES ('headrace.polcy' = 'x') AS SELECT 1 AS x"},
        "SETTING_UNKNOWN",
        "a.sql:1",
        "headrace.polcy",
    ),
    "not deterministic": (
        {"a.sql": "CREATE MATERIALIZED VIEW a AS SELECT rand() AS x"},
        "NOT_DETERMINISTIC",
        "a.sql:1",
        '"a"',
    ),
    "nothing": (
        {"a.sql": "CREATE TEMPORARY VIEW a AS SELECT 1 AS x"},
        "RUN_EMPTY_PIPELINE",
        "",
        "no materialized view",
    ),
    "a file of another kind": ({"a.txt": "x"}, "PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION", "", "a.txt"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(spark: SparkSession, tmp_path: Path, case: str) -> None:
    files, code, at, told = REFUSED[case]
    with pytest.raises(hr.HeadraceError) as caught:
        opened(spark, tmp_path, files)
    assert caught.value.code == code
    assert at in (caught.value.at or "")
    assert told in caught.value.message


SPECS = {
    "a field that is not there": (SPEC + "retries: 3\n", "PIPELINE_SPEC_UNEXPECTED_FIELD"),
    "no name": (SPEC.replace("name: shop\n", ""), "PIPELINE_SPEC_MISSING_REQUIRED_FIELD"),
    "a number in the configuration": (SPEC.replace('"2"', "2"), "PIPELINE_SPEC_DICT_VALUE_NOT_STRING"),
    "a glob that Spark refuses": (SPEC.replace("/**", "/**/*.sql"), "PIPELINE_SPEC_INVALID_GLOB_PATTERN"),
    "storage without a scheme": (SPEC.replace("file://", ""), "PIPELINE_STORAGE_ROOT_INVALID"),
    "a setting of ours that is none": (SPEC.replace("spark.sql.sh", "headrace.sh"), "SETTING_UNKNOWN"),
    "no number of versions": (SPEC.replace('spark.sql.shuffle.partitions: "2', 'headrace.retain: "0'), "RETAIN"),
    "no memory": (SPEC.replace("spark.sql.shuffle.partitions", "headrace.memory").replace("2", "lots"), "MEMORY_SIZE"),
    "not YAML": ("name: [", "PIPELINE_SPEC_INVALID"),
    "nothing": ("", "PIPELINE_SPEC_INVALID"),
}


@pytest.mark.parametrize("case", SPECS)
def test_specs_refused(spark: SparkSession, tmp_path: Path, case: str) -> None:
    spec, code = SPECS[case]
    with pytest.raises(hr.ConfigError) as caught:
        opened(spark, tmp_path, {"a.sql": ONE}, spec)
    assert caught.value.code == code


def test_no_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.pipelines import Project

    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.ConfigError) as none:
        Project.open()
    assert none.value.code == "PIPELINE_SPEC_FILE_NOT_FOUND"
    with pytest.raises(hr.ConfigError) as wrong:
        Project.open(tmp_path / "other.yml")
    assert wrong.value.code == "PIPELINE_SPEC_FILE_DOES_NOT_EXIST"
    project(tmp_path, {})
    (tmp_path / "spark-pipeline.yaml").write_text("")
    with pytest.raises(hr.ConfigError) as two:
        Project.open()
    assert two.value.code == "MULTIPLE_PIPELINE_SPEC_FILES_FOUND"


def test_names_to_refresh(spark: SparkSession, tmp_path: Path) -> None:
    made = opened(spark, tmp_path, {"a.sql": f"{ONE};\nCREATE MATERIALIZED VIEW two AS SELECT x FROM one"})
    made.run()
    assert list(made.run(refresh=["Two"]).refreshed) == ["two"]
    report = made.run(refresh=["two"], full_refresh=["default.one"])
    assert {n: r.method for n, r in report.refreshed.items()} == {"one": "full", "two": "incremental"}
    assert {r.method for r in made.run(full_refresh_all=True).refreshed.values()} == {"full"}
    with pytest.raises(hr.ConfigError) as unknown:
        made.run(refresh=["three"])
    assert unknown.value.code == "VIEW_UNKNOWN"
    with pytest.raises(hr.ConfigError) as conflict:
        made.run(full_refresh_all=True, refresh=["one"])
    assert conflict.value.code == "CONFLICTING_PIPELINE_REFRESH_OPTIONS"
