"""The tables that a query names, and their places in its text, by Spark's own parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from headrace.spark.jvm import java_class


@dataclass(frozen=True)
class Named:
    """A table that a query names: the parts of its name, where it stands (from, up to), whether as a stream, and
    whether the query gives it another name there."""

    parts: tuple[str, ...]
    start: int
    end: int
    streaming: bool
    aliased: bool


@dataclass(frozen=True)
class Qualified:
    """A column that a query writes with at least two names before its own: the parts of its name, of all columns a
    star, and where it stands (from, up to)."""

    parts: tuple[str, ...]
    start: int
    end: int


def named_tables(spark: SparkSession, query: str) -> tuple[list[Named], list[Qualified]]:
    """The tables that a query names, in the order of its text, and the columns that it writes with a table's long name.
    Names that the query itself defines are none."""
    found = java_object(spark, "Names", parsed(spark, query))
    local = {str(name).lower() for name in found.local()}
    tables = [_named(text) for text in found.relations()]
    outside = [t for t in tables if len(t.parts) > 1 or t.parts[0].lower() not in local]
    columns = [_qualified(text) for text in found.columns()]
    return sorted(outside, key=lambda t: t.start), [c for c in columns if len(c.parts) > 2 and c.start >= 0]


def parsed(spark: SparkSession, query: str) -> Any:
    """A statement as Spark's parser reads it; nothing is looked up or carried out."""
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(query)


def is_command(spark: SparkSession, statement: Any) -> bool:
    """Whether a parsed statement does something, and is not a query."""
    while str(statement.getClass().getSimpleName()) in (
        "UnresolvedWith",
        "Union",
    ):  # WITH … INSERT, FROM … INSERT … INSERT
        statement = statement.children().head()
    jvm: Any = spark._jvm
    package = "org.apache.spark.sql.catalyst.plans.logical"
    return any(
        jvm.java.lang.Class.forName(f"{package}.{name}").isInstance(statement)
        for name in ("Command", "ParsedStatement")
    )


def name_parts(spark: SparkSession, name: str) -> tuple[str, ...]:
    """The parts of a name as a query would write it."""
    parts = spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    return tuple(str(parts.apply(i)) for i in range(parts.size()))


def renamed(
    query: str,
    tables: list[Named],
    name: Callable[[Named], tuple[str, ...] | None],
    shorter: Mapping[Qualified, tuple[int, str]] | None = None,
) -> str:
    """A query with other names for some of its tables; ``name`` gives its parts, or None to leave it. Columns may be
    written with the table's name before them, so it stays as an alias. ``shorter`` says of columns how many names
    before their own, which are a table's, become one."""
    places: list[Named | Qualified] = [*tables, *(shorter or {})]
    for table in sorted(places, key=lambda t: -t.start):
        if isinstance(table, Qualified):
            assert shorter is not None
            count, short = shorter[table]
            place = query[table.start : table.end]
            old = re.compile(r"\s*\.\s*".join(map(_spelt, table.parts[:count])), re.IGNORECASE).match(place)
            if old is not None:
                query = query[: table.start] + quoted(short) + place[old.end() :] + query[table.end :]
            continue
        new = name(table)
        if new is None:
            continue
        place = query[table.start : table.end]
        # The place of a stream has the word STREAM in it, and may have an alias.
        word = re.match(r"STREAM\b[\s(]*", place, re.IGNORECASE) if table.streaming else None
        start = word.end() if word else 0
        old = re.compile(r"\s*\.\s*".join(map(_spelt, table.parts)), re.IGNORECASE).match(place, start)
        assert old is not None, f"{table} is not at its place in {query!r}"
        rest = place[old.end() :]
        if not table.aliased:
            rest += f" AS {quoted(table.parts[-1])}"
        query = query[: table.start] + place[:start] + ".".join(map(quoted, new)) + rest + query[table.end :]
    return query


def quoted(name: str) -> str:
    """A name as one identifier of SQL, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _spelt(part: str) -> str:
    quoted = re.escape("`" + part.replace("`", "``") + "`")
    return f"(?:{quoted}|{re.escape(part)})"


def _qualified(text: Any) -> Qualified:
    start, stop, *parts = str(text).split("\x01")
    return Qualified(tuple(parts), int(start), int(stop) + 1)


def _named(text: Any) -> Named:
    start, stop, streaming, aliased, *parts = str(text).split("\x01")
    return Named(tuple(parts), int(start), int(stop) + 1, streaming == "true", aliased == "true")


def java_object(spark: SparkSession, name: str, *arguments: Any) -> Any:
    """One of Headrace's Java objects, made of these arguments."""
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    values = gateway.new_array(jvm.java.lang.Object, len(arguments))
    for i, argument in enumerate(arguments):
        values[i] = argument
    return java_class(jvm, name).getConstructors()[0].newInstance(values)
