"""The Spark session as the functions of a project see it.

Spark itself reads a project through Spark Connect, where a DataFrame is not resolved until all are known. Ours is a
classic session, which resolves at once; so what a function reads is made ready at the moment it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
_READS: tuple[tuple[type, str], ...] = (
    (SparkSession, "table"),
    (SparkSession, "sql"),
    (DataFrameReader, "table"),
    (DataStreamReader, "table"),
)


class Resolver(Protocol):
    """Who makes elements ready: gives the name under which the session has one, and a query that reads such names."""

    def table(self, name: str, *, stream: bool) -> str: ...

    def text(self, query: str) -> str: ...


@contextmanager
def no_mutations() -> Iterator[None]:
    """Refuse what changes the session, as Spark does in files that only define."""

    def blocked(owner: type, method: str, kind: str) -> Callable[..., Any]:
        def refuse(*args: object, **kwargs: object) -> Any:
            raise PySparkException(
                errorClass=f"SESSION_MUTATION_IN_DECLARATIVE_PIPELINE.{kind}",
                messageParameters={"method": f"'{owner.__name__}.{method}'"},
            )

        return refuse

    with _replaced([(owner, method, blocked(owner, method, kind)) for owner, method, kind in _MUTATIONS]):
        yield


@contextmanager
def reading(resolver: Resolver) -> Iterator[None]:
    """Let a function that reads tables by name find the elements of a project. It may not change the session."""
    places = (*_READS, *((owner, method) for owner, method, _ in _MUTATIONS))
    plain = [(owner, method, getattr(owner, method)) for owner, method in places]

    table, sql = SparkSession.table, SparkSession.sql
    read, follow = DataFrameReader.table, DataStreamReader.table

    def ready(name: str, *, stream: bool) -> str:
        with _replaced(plain):  # making an element ready goes by other functions, or by our own code
            return resolver.table(name, stream=stream)

    def session_table(self: SparkSession, tableName: str) -> DataFrame:
        return table(self, ready(tableName, stream=False))

    def session_sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        with _replaced(plain):
            query = resolver.text(sqlQuery)
        return sql(self, query, args, **kwargs)

    def reader_table(self: DataFrameReader, tableName: str) -> DataFrame:
        return read(self, ready(tableName, stream=False))

    def stream_table(self: DataStreamReader, tableName: str) -> DataFrame:
        return follow(self, ready(tableName, stream=True))

    made: tuple[Callable[..., Any], ...] = (session_table, session_sql, reader_table, stream_table)
    with no_mutations(), _replaced([(*place, new) for place, new in zip(_READS, made, strict=True)]):
        yield


@contextmanager
def _replaced(methods: list[tuple[type, str, Callable[..., Any]]]) -> Iterator[None]:
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in methods]
    for owner, name, made in methods:
        setattr(owner, name, made)
    try:
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)
