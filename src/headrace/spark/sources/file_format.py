"""What differs between the formats of files: which files count, what their columns are, how many rows they have and how
many of those leave. All of it is checked when a file is discovered, so that a run can rely on it.

A folder that somebody registered is read strictly: what does not fit its schema is refused. A table that a query
names is read as Spark reads it, with NULL where a file lacks a column, and lines that do not fit as its options say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from headrace.errors import ConfigError, SourceError
from headrace.spark.schema import from_arrow, nullable
from headrace.spark.sources.source import CHANGE_TYPE, IN, OUT

FEED = (CHANGE_TYPE, "_commit_version", "_commit_timestamp")
_HIDDEN = ("_", ".")
_UNFINISHED = (".crc", ".tmp", ".inprogress", "._COPYING_")


@dataclass(frozen=True)
class FoundFile:
    """A file of a folder: where it is, and its path inside the folder."""

    path: Path
    relative: str


class FileFormat(ABC):
    """One format, for one source. ``options`` are Spark's; ``local`` says that the driver reads a few rows faster
    than a job starts."""

    kind: str
    local = False

    def __init__(
        self, source: str, spark: SparkSession, changes: bool, options: Mapping[str, str], strict: bool = True
    ) -> None:
        self.source = source
        self.changes = changes
        self.options = dict(options)
        self.strict = strict
        self._spark = spark

    def stored(self, schema: StructType) -> StructType:
        """The columns in the files of a source: those of its schema, and the change type last if there is one."""
        return StructType([*schema.fields, StructField(CHANGE_TYPE, StringType())]) if self.changes else schema

    def frame(self, files: Sequence[Path], schema: StructType, **options: str) -> DataFrame:
        """All columns of the files."""
        reader = self._reader().format(self.kind).options(**{**self.options, **options})
        return reader.schema(self.stored(schema)).load([str(f) for f in files])

    def _reader(self) -> DataFrameReader:
        """A reader that takes paths as they are, not as patterns."""
        return self._spark.read.option("__globPaths__", "false")

    def visible(self, folder: Path) -> list[FoundFile]:
        """The finished files of a folder and those below it. Names that start with ``_`` or ``.`` are hidden."""
        found = []
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            hidden = any(part.startswith(_HIDDEN) for part in parts) or path.name.endswith(_UNFINISHED)
            if not hidden and self.holds(path.name) and path.is_file():
                found.append(FoundFile(path, str(path.relative_to(folder))))
        return sorted(found, key=lambda f: f.relative)

    def holds(self, name: str) -> bool:
        """Whether a file of that name has the format."""
        return True

    def schema_of(self, file: FoundFile) -> StructType:
        """The columns that a file has by itself."""
        raise NotImplementedError

    @abstractmethod
    def inspect(self, files: Sequence[FoundFile], schema: StructType) -> list[tuple[int, int]]:
        """Check that files are readable and have the columns; for each, how many rows it has and how many leave."""

    def _leaving(self, relative: str, kinds: Mapping[str | None, int]) -> int:
        odd = [k for k in kinds if k not in (*IN, *OUT)]
        if odd:
            raise SourceError(
                "CHANGE_TYPE_UNKNOWN",
                f'source "{self.source}": {relative} has the change type {odd[0]!r}',
                hint=f"use one of {', '.join((*IN, *OUT))}",
            )
        return sum(kinds.get(k, 0) for k in OUT)

    def _corrupt(self, relative: str, problem: object) -> SourceError:
        return SourceError(
            "FILE_CORRUPT",
            f'source "{self.source}": {relative} is not a readable {self.kind.upper()} file ({problem})',
            hint="write it again or remove it; the view still reads as before",
        )


class ParquetFormat(FileFormat):
    """Parquet: columns, types and counts are in the footer. Files end in ``.parquet``."""

    kind = "parquet"
    local = True

    def holds(self, name: str) -> bool:
        return name.endswith(".parquet")

    def schema_of(self, file: FoundFile) -> StructType:
        try:
            types = self._reader().parquet(str(file.path)).schema
        except Exception as problem:
            raise self._corrupt(file.relative, "no footer") from problem
        kept = [f for f in types if not (self.changes and f.name in FEED)]
        return StructType([StructField(f.name, f.dataType, True) for f in kept])

    def inspect(self, files: Sequence[FoundFile], schema: StructType) -> list[tuple[int, int]]:
        return [self._inspect(f, schema) for f in files]

    def _inspect(self, file: FoundFile, schema: StructType) -> tuple[int, int]:
        try:
            found = pq.read_schema(file.path)
            rows = pq.read_metadata(file.path).num_rows
            kinds = self._kinds(file.path) if self.changes and CHANGE_TYPE in found.names else {}
        except (pa.ArrowInvalid, OSError) as problem:
            raise self._corrupt(file.relative, problem) from problem
        if self.strict:
            self._check_schema(file.relative, from_arrow(found), schema)
        return rows, self._leaving(file.relative, kinds)

    def _kinds(self, path: Path) -> dict[str | None, int]:
        kinds = pq.ParquetFile(path).read(columns=[CHANGE_TYPE])[CHANGE_TYPE].cast(pa.string())
        return {c["values"]: c["counts"] for c in pc.value_counts(kinds).to_pylist()}

    def _check_schema(self, relative: str, found: dict[str, DataType], schema: StructType) -> None:
        if self.changes and CHANGE_TYPE not in found:
            raise SourceError(
                "CHANGE_TYPE_MISSING",
                f'source "{self.source}": {relative} has no column {CHANGE_TYPE}',
                hint="add it, or declare the source without changes=True",
            )
        expected = {f.name: nullable(f.dataType) for f in schema}
        found = {k: v for k, v in found.items() if not (self.changes and k in FEED)}
        wrong = [
            f"{k} is {_name(found.get(k))}, not {_name(expected.get(k))}"
            for k in {**expected, **found}
            if found.get(k) != expected.get(k)
        ]
        if wrong:
            raise SourceError(
                "FILE_SCHEMA",
                f'source "{self.source}": {relative} has another schema: {"; ".join(wrong)}',
                hint="write the file with the columns and types of the source, or remove it",
            )


class OrcFormat(FileFormat):
    """ORC: counts are in the footer."""

    kind = "orc"

    def inspect(self, files: Sequence[FoundFile], schema: StructType) -> list[tuple[int, int]]:
        return [(self._rows(f), 0) for f in files]

    def _rows(self, file: FoundFile) -> int:
        try:
            return int(orc.ORCFile(str(file.path)).nrows)
        except (pa.ArrowException, OSError) as problem:
            raise self._corrupt(file.relative, problem) from problem


class TextFormat(FileFormat):
    """CSV, JSON or lines of text: nothing is known of a file before it is read, so discovery reads each new file once,
    in one Spark job for all of them. Read strictly, a line that does not fit the schema is an error, never a guess."""

    def __init__(
        self,
        kind: str,
        source: str,
        spark: SparkSession,
        changes: bool,
        options: Mapping[str, str],
        strict: bool = True,
    ) -> None:
        self.kind = kind
        if not strict:
            super().__init__(source, spark, changes, options, strict)
            return
        mode = next((v for k, v in options.items() if k.lower() == "mode"), "FAILFAST")
        if mode.upper() != "FAILFAST":
            raise ConfigError(
                "OPTION",
                f'source "{source}": mode={mode!r} would lose or change lines that cannot be read',
                hint="leave the option out: such a line is an error that names its file",
            )
        super().__init__(source, spark, changes, {**options, "mode": "FAILFAST"})

    def inspect(self, files: Sequence[FoundFile], schema: StructType) -> list[tuple[int, int]]:
        if not files:
            return []
        try:
            counts = self._count(files, schema)
        except (PySparkException, Py4JJavaError) as problem:
            self._find_bad(files, schema)
            raise self._corrupt(files[0].relative, first_line(problem)) from problem
        return [(sum(kinds.values()), self._leaves(f, kinds)) for f, kinds in zip(files, counts, strict=True)]

    def _leaves(self, file: FoundFile, kinds: Mapping[str | None, int]) -> int:
        return self._leaving(file.relative, kinds) if self.changes else 0

    def _find_bad(self, files: Sequence[FoundFile], schema: StructType) -> None:
        """Name the file that cannot be read: each by itself."""
        for file in files:
            try:
                self._count([file], schema)
            except (PySparkException, Py4JJavaError) as problem:
                if "header" in str(problem):
                    raise SourceError(
                        "FILE_SCHEMA",
                        f'source "{self.source}": {file.relative} has another header: {first_line(problem)}',
                        hint=f"its columns must be, in this order: {', '.join(self.stored(schema).names)}",
                    ) from problem
                raise self._corrupt(file.relative, first_line(problem)) from problem

    def _count(self, files: Sequence[FoundFile], schema: StructType) -> list[Counter[str | None]]:
        """For each file how many rows it has of each kind of change. Every value of every line is read: Spark would
        skip columns that are not asked for, and what is wrong in them."""
        header = {"enforceSchema": "false"} if self.strict and self._has_header() else {}
        frame = self.frame([f.path.absolute() for f in files], schema, **header)
        width = len(frame.columns)
        frame = frame.select("*", F.col("_metadata.file_path")).toDF(*(f"c{i}" for i in range(width)), "at")
        everything = F.length(F.struct(*(F.col(f"c{i}") for i in range(width))).cast("string"))
        kind = F.col(f"c{width - 1}") if self.changes else F.lit("insert")
        counted = frame.groupBy("at", kind.alias("kind")).agg(F.count("*").alias("n"), F.sum(everything).alias("l"))
        found: dict[Path, Counter[str | None]] = {f.path.absolute(): Counter() for f in files}
        for row in counted.collect():
            found[_path(row["at"])][row["kind"]] += row["n"]
        return list(found.values())

    def _has_header(self) -> bool:
        return self.kind == "csv" and any(k.lower() == "header" and v == "true" for k, v in self.options.items())


def file_format(
    kind: str,
    source: str,
    spark: SparkSession,
    changes: bool,
    options: Mapping[str, str] | None,
    strict: bool = True,
) -> FileFormat:
    """The format by its name."""
    given = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in (options or {}).items()}
    match kind:
        case "parquet":
            return ParquetFormat(source, spark, changes, given, strict)
        case "csv" | "json":
            return TextFormat(kind, source, spark, changes, given, strict)
        case "text" if not strict:
            return TextFormat(kind, source, spark, changes, given, strict)
        case "orc" if not strict:
            return OrcFormat(source, spark, changes, given, strict)
    raise ConfigError(
        "FORMAT_UNKNOWN", f'source "{source}": there is no format {kind!r}', hint="use one of parquet, csv, json"
    )


def _path(text: str) -> Path:
    """A file's path from the URL that Spark gives."""
    return Path("/" + unquote(text.split(":", 1)[1]).lstrip("/"))


def first_line(problem: Exception) -> str:
    """What an error of Spark's says, in short."""
    text = str(getattr(problem, "java_exception", None) or problem).strip()
    return text.splitlines()[0][:300] if text else type(problem).__name__


def _name(kind: DataType | None) -> str:
    return "absent" if kind is None else kind.simpleString()
