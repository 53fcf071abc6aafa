"""The Spark session as the functions of a project see it.

Spark itself reads a project through Spark Connect, where a DataFrame is not resolved until all are known. Ours is a
classic session, which resolves at once; so what a function reads is made ready at the moment it asks.

Methods of Spark's classes are replaced while such a function runs. Views are refreshed in other threads meanwhile, so a
replacement acts in the thread that asked for it alone; everywhere else the method is as Spark made it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.udf import UDFRegistration

_MUTATIONS: tuple[tuple[type, str, str], ...] = (
    (RuntimeConfig, "set", "SET_RUNTIME_CONF"),
    (Catalog, "setCurrentCatalog", "SET_CURRENT_CATALOG"),
    (Catalog, "setCurrentDatabase", "SET_CURRENT_DATABASE"),
    (Catalog, "dropTempView", "DROP_TEMP_VIEW"),
    (Catalog, "dropGlobalTempView", "DROP_GLOBAL_TEMP_VIEW"),
    (ClassicDataFrame, "createTempView", "CREATE_TEMP_VIEW"),
    (ClassicDataFrame, "createOrReplaceTempView", "CREATE_OR_REPLACE_TEMP_VIEW"),
    (ClassicDataFrame, "createGlobalTempView", "CREATE_GLOBAL_TEMP_VIEW"),
    (ClassicDataFrame, "createOrReplaceGlobalTempView", "CREATE_OR_REPLACE_GLOBAL_TEMP_VIEW"),
    (UDFRegistration, "register", "REGISTER_UDF"),
    (UDFRegistration, "registerJavaFunction", "REGISTER_JAVA_UDF"),
    (UDFRegistration, "registerJavaUDAF", "REGISTER_JAVA_UDAF"),
)
_Method = Callable[..., Any]
_Place = tuple[type, str]
_READS: tuple[_Place, ...] = (
    (SparkSession, "table"),
    (SparkSession, "sql"),
    (DataFrameReader, "table"),
    (DataStreamReader, "table"),
)


_acting: ContextVar[Mapping[_Place, _Method]] = ContextVar("_acting", default=MappingProxyType({}))
_plain: dict[_Place, _Method] = {}  # what stood at each place before it was replaced
_users = 0
_installing = threading.Lock()


class Resolver(Protocol):
    """Who makes elements ready: gives the name under which the session has one, and a query that reads such names."""

    def table(self, name: str, *, stream: bool) -> str: ...

    def text(self, query: str) -> str: ...


@contextmanager
def no_mutations() -> Iterator[None]:
    """Refuse what changes the session, as Spark does in files that only define."""

    def blocked(owner: type, method: str, kind: str) -> _Method:
        def refuse(*args: object, **kwargs: object) -> Any:
            raise PySparkException(
                errorClass=f"SESSION_MUTATION_IN_DECLARATIVE_PIPELINE.{kind}",
                messageParameters={"method": f"'{owner.__name__}.{method}'"},
            )

        return refuse

    with _replaced({(owner, method): blocked(owner, method, kind) for owner, method, kind in _MUTATIONS}):
        yield


@contextmanager
def reading(resolver: Resolver) -> Iterator[None]:
    """Let a function that reads tables by name find the elements of a project. It may not change the session."""

    def session_table(self: SparkSession, tableName: str) -> DataFrame:
        with _as_spark_made_it():
            return self.table(resolver.table(tableName, stream=False))

    def session_sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        with _as_spark_made_it():
            return self.sql(resolver.text(sqlQuery), args, **kwargs)

    def reader_table(self: DataFrameReader, tableName: str) -> DataFrame:
        with _as_spark_made_it():
            return self.table(resolver.table(tableName, stream=False))

    def stream_table(self: DataStreamReader, tableName: str) -> DataFrame:
        with _as_spark_made_it():
            return self.table(resolver.table(tableName, stream=True))

    made: tuple[_Method, ...] = (session_table, session_sql, reader_table, stream_table)
    with no_mutations(), _replaced(dict(zip(_READS, made, strict=True))):
        yield


@contextmanager
def _as_spark_made_it() -> Iterator[None]:
    """Making an element ready goes by other functions, or by our own code: nothing is replaced meanwhile."""
    before = _acting.set({})
    try:
        yield
    finally:
        _acting.reset(before)


@contextmanager
def _replaced(methods: Mapping[_Place, _Method]) -> Iterator[None]:
    _install(methods)
    before = _acting.set({**_acting.get(), **methods})
    try:
        yield
    finally:
        _acting.reset(before)
        _uninstall()


def _install(places: Mapping[_Place, _Method]) -> None:
    global _users
    with _installing:
        _users += 1
        for place in places:
            if place not in _plain:
                _plain[place] = getattr(*place)
                setattr(*place, _switch(place, _plain[place]))


def _uninstall() -> None:
    global _users
    with _installing:
        _users -= 1
        if not _users:
            for (owner, name), method in _plain.items():
                setattr(owner, name, method)
            _plain.clear()


def _switch(place: _Place, plain: _Method) -> _Method:
    def call(*args: Any, **kwargs: Any) -> Any:
        return _acting.get().get(place, plain)(*args, **kwargs)

    return call
