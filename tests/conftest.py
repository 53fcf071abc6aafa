"""One Spark session serves every test that asks for it; a test that does not ask starts none.

With ``-n 2`` two processes run the tests of different files. They share the Spark of the process that started them:
most of a small refresh is spent in one thread of the driver, so that two at a time keep two cores busy.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How long a case takes says something of the machine, and nothing of the law. A test that passed here passes with the
# same cases elsewhere; other cases are looked for in long runs.
settings.register_profile(
    "headrace",
    deadline=None,
    derandomize=os.environ.get("HEADRACE_LONG") != "1",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("headrace")

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

SETTINGS = {
    "spark.driver.memory": "6g",
    # A heap and a code cache that need not grow on the way.
    "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC -Xms3g -Xmn1500m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Every small sort, hash table and aggregation takes a page: by default one of up to 64 MB, cleared first.
    "spark.buffer.pageSize": "1m",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    # Tests run on tiny data: compiling and re-planning cost more than they gain.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


# Files whose tests take longest begin first. Those that stream stay in one process, for Spark calls back only one, and
# so do those of TPC, to make their data once.
LONGEST = ("property/test_random_queries", "edges/test_sharp_edges", "fault/test_kill", "tpc/")
TOGETHER = {"cli/": "streams", "pipelines/": "streams", "tpc/": "tpc"}

_started: list[SparkSession] = []  # by the process that starts the others


def start() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("headrace tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="headrace-tests-")).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    from attach import attach

    shared = getattr(request.config, "workerinput", {}).get("gateway")
    if shared is not None:
        yield attach(shared)
        return
    session = start()
    yield session
    session.stop()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process that will run tests of the Spark they share."""
    from attach import gateway_of

    if not _started:
        _started.append(start())
    node.workerinput["gateway"] = gateway_of(_started[0])


def pytest_unconfigure() -> None:
    while _started:
        _started.pop().stop()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0].removeprefix("tests/")
            return next((name for start, name in TOGETHER.items() if file.startswith(start)), file)

    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(LONGEST))
