"""Which files belong to a table: exactly those that Spark would read now.

Spark itself is asked, every time anew: it knows hidden files, patterns, partitions by directory or by catalog, and
whatever else an option says. The columns are told to it, so that nothing is inferred again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.errors import SourceError
from headrace.spark.catalyst import items
from headrace.spark.jvm import java_class
from headrace.spark.schema import nullable
from headrace.spark.sources.file_format import first_line
from headrace.spark.sources.file_order import TableFile

if TYPE_CHECKING:
    from headrace.spark.sources.file_table import FileTable

_PATHS = ("path", "paths", "__globpaths__")


class Listing:
    """The files of one table. ``session`` is one that nobody else reads in."""

    def __init__(self, name: str, table: FileTable, session: SparkSession) -> None:
        self.name = name
        self.table = table
        self._session = session
        self._held: Any = None

    def files(self) -> dict[str, TableFile]:
        """Each file by its path, with the values of its partition. Its rows are not counted yet."""
        try:
            relation = self._relation()
            listed = json.loads(java_class(self._session._jvm, "Listing").newInstance().of(relation))
        except (PySparkException, Py4JJavaError) as problem:
            raise self._unreadable(problem) from problem
        if listed:
            self._check(relation)
        found: dict[str, TableFile] = {}
        for path, values in listed:
            if path in found:
                raise SourceError(
                    "FILE_TWICE",
                    f'source "{self.name}": {path} belongs to it twice',
                    hint="name every path once, and none inside another",
                )
            try:
                stat = Path(path).stat()
            except FileNotFoundError:
                continue  # gone since it was listed: so it is as if it had gone before
            found[path] = TableFile(path, stat.st_size, stat.st_mtime_ns, tuple(values))
        return found

    def _relation(self) -> Any:
        """Spark's relation over the files as they are now."""
        if self._held is not None:
            self._held.location().refresh()
            return self._held
        session = self._session
        if self.table.table:
            session._jsparkSession.sessionState().catalog().invalidateAllCachedTables()
            frame = session.read.table(".".join(f"`{p.replace('`', '``')}`" for p in self.table.table))
        else:
            glob = {"__globPaths__": "true" if self.table.pattern else "false"}
            reader = session.read.format(self.table.format).options(**{**dict(self.table.options), **glob})
            frame = reader.schema(self.table.schema).load(list(self.table.paths))
        leaf = frame._jdf.queryExecution().analyzed().collectLeaves().apply(0)
        if _class(leaf) != "LogicalRelation":
            raise self._other("it is no longer a table of files")
        relation = leaf.relation()
        if not self.table.table and not self.table.pattern and _class(relation.location()) == "InMemoryFileIndex":
            self._held = relation  # it lists its paths anew when it is told to
        return relation

    def _check(self, relation: Any) -> None:
        """The columns must be those with which the view was defined. Others that were added are passed over."""
        now = _types(StructType.fromJson(json.loads(relation.schema().json())))
        parts = _types(StructType.fromJson(json.loads(relation.partitionSchema().json())))
        wrong = [
            f"{name} is {now.get(name, 'absent')}, not {kind}"
            for name, kind in _types(self.table.schema).items()
            if now.get(name) != kind
        ]
        if parts != _types(self.table.partitioned_by):
            wrong.append(
                f"it is partitioned by ({', '.join(parts)}), not ({', '.join(self.table.partitioned_by.names)})"
            )
        kind = str(relation.fileFormat().shortName())
        if kind != self.table.format:
            wrong.append(f"its files are {kind}, not {self.table.format}")
        if self.table.table and without_paths(relation_options(relation)) != dict(self.table.options):
            wrong.append("its options are others")
        if wrong:
            raise self._other("; ".join(wrong))

    def _other(self, what: str) -> SourceError:
        return SourceError(
            "SOURCE_SCHEMA",
            f'source "{self.name}" has changed since the view was defined: {what}',
            hint="define the view anew; it still reads as before",
        )

    def _unreadable(self, problem: Exception) -> SourceError:
        what = first_line(problem)
        if not isinstance(problem, AnalysisException):
            return self._other(what)  # a directory whose value is of another type, or at another depth
        return SourceError(
            "TABLE_MISSING",
            f'source "{self.name}" cannot be found: {what}',
            hint="bring it back, or define the view anew; it still reads as before",
        )


def relation_options(relation: Any) -> dict[str, str]:
    """The options of a relation of Spark's, which knows no difference between upper and lower case in them."""
    return {str(pair._1()).lower(): str(pair._2()) for pair in items(relation.options().toSeq())}


def without_paths(options: Mapping[str, str]) -> dict[str, str]:
    """The options that do not name files."""
    return {k: v for k, v in options.items() if k not in _PATHS}


def _types(schema: StructType) -> Mapping[str, str]:
    return {f.name: nullable(f.dataType).simpleString() for f in schema}


def _class(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())
