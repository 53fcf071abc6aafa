"""Tables that a query names and nobody registered: what each is as a source, or why it cannot be one.

Files that Spark knows how to list are a source by themselves, under the name of their table in the catalog or under
their path. The same files read in the same way have the same name, in every process.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql.types import StructType

from headrace.spark.catalyst import items
from headrace.spark.leaves import kind
from headrace.spark.sources.delta_table import DeltaTable
from headrace.spark.sources.file_table import FileTable
from headrace.spark.sources.listing import relation_options, without_paths
from headrace.spark.sources.source import SourceDescription

FORMATS = ("parquet", "csv", "json", "orc", "text")
_PATTERN = re.compile(r"[{}\[\]*?\\]")
_PLAIN = re.compile(r"\w+")
_WRITE = "write it to files or to a Delta table, and read those"
_ROWS = "write the rows to files, or give them to the warehouse as a source: hr.Rows(schema, rows)"


class NotASource(Exception):
    """Why a leaf cannot be a source, and what to do about it."""

    def __init__(self, reason: str, hint: str = _WRITE) -> None:
        self.reason = reason
        self.hint = hint
        super().__init__(reason)


def file_table(leaf: Any) -> FileTable | None:
    """The table of files that a leaf of an analysed plan is. None for one that has no rows of its own, or constant
    ones; NotASource for all others."""
    match kind(leaf):
        case "LogicalRelation":
            relation = leaf.relation()
            if kind(relation) != "HadoopFsRelation":
                raise NotASource(_other_relation(relation))
            return _of_relation(leaf, relation)
        case "DataSourceV2Relation":
            return _of_connector(leaf)
        case "LogicalRDD" if leaf.output().size() == 0:
            return None
        case "LogicalRDD" | "ExternalRDD":
            raise NotASource("its rows are in this session, and nobody can tell when they change", _ROWS)
        case "HiveTableRelation":
            raise NotASource("it is stored in a format of Hive's")
    return None


def source_name(table: FileTable) -> str:
    """The catalog's name, or the paths and the options with which they are read."""
    if table.table:
        return ".".join(p if _PLAIN.fullmatch(p) else f"`{p.replace('`', '``')}`" for p in table.table)
    paths = ", ".join(map(local_path, table.paths))
    return f"{paths} ({', '.join(f'{k}={v}' for k, v in table.options)})" if table.options else paths


def source_paths(source: SourceDescription) -> list[str]:
    """The paths of a table that a query names, as this machine writes them."""
    match source:
        case FileTable(paths=paths):
            return [local_path(p) for p in paths]
        case DeltaTable(path=path):
            return [os.path.abspath(path)]
    return []


def source_names(tables: Iterable[FileTable]) -> list[str]:
    """A name for each of the tables of one query: where one is read with different columns, these are part of it."""
    given = list(tables)
    plain = [source_name(t) for t in given]
    ways: dict[str, set[str]] = {}
    for name, table in zip(plain, given, strict=True):
        ways.setdefault(name, set()).add(_way(table))
    return [
        name if len(ways[name]) == 1 else f"{name} as {_way(table)}" for name, table in zip(plain, given, strict=True)
    ]


def _way(table: FileTable) -> str:
    return " ".join([table.format, table.schema.simpleString(), *(f"{k}={v}" for k, v in table.options)])


def path_in_sql(leaf: Any) -> tuple[str, str] | None:
    """The format and the path of a leaf that was parsed from SQL as ``format.`path` ``."""
    if kind(leaf) != "UnresolvedRelation":
        return None
    parts = [str(p) for p in items(leaf.multipartIdentifier())]
    return (parts[0].lower(), parts[1]) if len(parts) == 2 and "/" in parts[1] else None


def is_pattern(path: str) -> bool:
    """Whether Spark looks for the paths that a text matches."""
    return _PATTERN.search(path) is not None


def local_path(text: str) -> str:
    """A path, or the URL of a file, as a path of this machine."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", text)
    if scheme is None:
        return os.path.abspath(text)
    if scheme[1].lower() != "file":
        raise NotASource(f"its files are on {scheme[1]}, not on this machine")
    return "/" + text[scheme.end() :].lstrip("/")


def delta_path(text: str) -> Path:
    """The folder of a Delta table that SQL names; a URL is written as URLs are."""
    path = local_path(text)
    return Path(unquote(path) if ":" in text.split("/", 1)[0] else path)


def _of_relation(leaf: Any, relation: Any) -> FileTable:
    table = leaf.catalogTable().get() if leaf.catalogTable().isDefined() else None
    made = str(relation.fileFormat().getClass().getName())
    short = str(relation.fileFormat().toString()).lower()  # a format of others may have no short name
    if not made.startswith("org.apache.spark.sql.execution.datasources.") or short not in FORMATS:
        raise _other_format(made, short)
    if table is not None and table.provider().isDefined() and table.provider().get().lower() not in FORMATS:
        raise NotASource(f"it is a {table.provider().get()} table of the catalog")
    return _table(leaf, short, relation.location(), relation.dataSchema(), relation_options(relation), _parts(table))


def _of_connector(leaf: Any) -> FileTable:
    table = leaf.table()
    made = str(table.getClass().getName())
    if table.getClass().getSuperclass().getSimpleName() != "FileTable":
        raise _other_format(made, made.rsplit(".", 1)[-1])
    short = str(table.formatName()).lower()
    if short not in FORMATS:
        raise _other_format(made, short)
    stored = table.dataSchema()
    options = {str(k).lower(): str(v) for k, v in dict(table.options().asCaseSensitiveMap()).items()}
    found = _table(leaf, short, table.fileIndex(), stored, options, ())
    if set(found.stored.names) & set(found.partitioned_by.names):
        raise NotASource("a partition column is in its files too", "leave parquet, csv and json in useV1SourceList")
    return found


def _table(
    leaf: Any, short: str, location: Any, stored: Any, options: dict[str, str], table: tuple[str, ...]
) -> FileTable:
    for option in ("modifiedbefore", "modifiedafter"):
        if option in options:
            raise NotASource(
                f"by {option} its files come and go with time", "read the whole table, and filter its rows"
            )
    if options.get("ignorecorruptfiles", "false").lower() == "true":
        raise NotASource("ignoreCorruptFiles would lose rows without a word", "leave the option out")
    if options.get("mode", "").upper() == "DROPMALFORMED":
        raise NotASource("which lines DROPMALFORMED drops depends on the columns in use", "use another mode")
    columns = StructType.fromJson(json.loads(leaf.schema().json()))
    paths = tuple(str(p.toString()) for p in items(location.rootPaths()))
    if len(set(paths)) < len(paths):
        raise NotASource("it names a path twice, and so its rows count twice", "use UNION ALL to have them twice")
    partitioned_by = StructType.fromJson(json.loads(location.partitionSchema().json()))
    data = StructType.fromJson(json.loads(stored.json()))
    if len(columns) > len({*data.names, *partitioned_by.names}):
        raise NotASource("_metadata tells where a row is stored, which is not part of a table", "leave _metadata out")
    given, pattern = options.get("path", ""), False
    if not table and is_pattern(given) and options.get("__globpaths__", "true") == "true":
        paths, pattern = (local_path(given),), True
    for path in paths:
        local_path(path)
    kept = tuple(sorted(without_paths(options).items()))
    return FileTable(short, paths, columns, data, partitioned_by, kept, table, pattern)


def _parts(table: Any) -> tuple[str, ...]:
    if table is None:
        return ()
    found = table.identifier()
    parts = (found.catalog(), found.database())
    return (*(str(p.get()) for p in parts if p.isDefined()), str(found.table()))


def _other_format(made: str, short: str) -> NotASource:
    if ".delta." in made:
        return NotASource("a plug-in reads it", "write delta.`path` in SQL, or register it: hr.DeltaTable(path)")
    return NotASource(f"what {short} holds cannot be followed", f"use one of {', '.join(FORMATS)}, or Delta")


def _other_relation(relation: Any) -> str:
    name = kind(relation)
    if "JDBC" in name:
        return "it is a table of another database, and nobody can tell when it changes"
    return f"Spark reads it as {name}, and nobody can tell when it changes"
