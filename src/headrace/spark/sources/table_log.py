"""What the log of a Delta table says: the files of each version, and what each commit did.

Version v = the newest checkpoint at or before v, and then every commit after it, up to and including v. The log
is read here and not through a library, for three things that must be exact: a path is decoded once, a
commit is seen as it was written, and an old version is either all there or refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructField, StructType

from headrace.spark.delta_log import told_changes
from headrace.spark.schema import nullable

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(parquet|json)")
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_A = TypeVar("_A")
_B = TypeVar("_B")
_HELD = 4  # versions: the newest, the one a view is at, and those of another view
_HELD_COMMITS = 1000


class LogGap(Exception):
    """A version cannot be put together from the log that is left."""


class LogBroken(Exception):
    """A part of the log cannot be read."""


@dataclass(frozen=True)
class DataFile:
    """A file of the table. ``rows`` is None where the log does not tell how many it has."""

    path: Path
    partition: tuple[tuple[str, str | None], ...] = ()
    rows: int | None = None
    vector: str | None = None
    """The deletion vector that hides some of its rows."""
    size: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Commit:
    """What one commit did. Adds and removes that change no data only move rows between files."""

    adds: tuple[tuple[DataFile, bool], ...]
    removes: tuple[tuple[DataFile, bool], ...]
    changes: tuple[DataFile, ...]


@dataclass(frozen=True)
class TableVersion:
    """The table at one version."""

    number: int
    files: Mapping[tuple[Path, str | None], DataFile] = field(default_factory=dict)
    id: str = ""
    schema_json: str = ""
    partitioned_by: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    reader_version: int = 1
    features: frozenset[str] = frozenset()

    @property
    def schema(self) -> StructType:
        """The columns with their types alone, all nullable."""
        found = StructType.fromJson(json.loads(self.schema_json))
        return StructType([StructField(f.name, nullable(f.dataType), True) for f in found])

    def is_on(self, setting: str) -> bool:
        return self.settings.get(setting, "false").lower() == "true"


class TableLog:
    """The log in one table's folder. Not for two threads at a time."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.folder = table / "_delta_log"
        self._versions: dict[int, TableVersion] = {}
        self._commits: dict[int, Commit] = {}
        self._marks: dict[int, tuple[int, ...] | None] = {}

    def newest(self) -> int | None:
        """The number of the newest version; None where there is no table."""
        if any(self._mark(n) != mark for n, mark in self._marks.items()):
            self._forget()
        numbers = [*self._numbers(_COMMIT), *self._numbers(_CHECKPOINT)]
        return max(numbers, default=None)

    def at(self, number: int) -> TableVersion:
        """The table at a version."""
        found = self._versions.pop(number, None) or _understood(self._replay, number)
        while len(self._versions) >= _HELD:
            self._marks.pop(next(iter(self._versions)))
            del self._versions[next(iter(self._versions))]
        self._versions[number] = found
        self._marks[number] = self._mark(number)
        return found

    def commit(self, number: int) -> Commit:
        """What the commit that made a version did."""
        if number not in self._commits:
            while len(self._commits) >= _HELD_COMMITS:
                del self._commits[next(iter(self._commits))]
            self._commits[number] = _understood(self._read_commit, self._actions(number))
        return self._commits[number]

    def _mark(self, number: int) -> tuple[int, ...] | None:
        """What tells a commit's file from another that was put in its place: a table can be dropped and made anew."""
        try:
            stat = (self.folder / f"{number:020}.json").stat()
        except OSError:
            return None
        return (stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def _forget(self) -> None:
        self._versions.clear()
        self._commits.clear()
        self._marks.clear()

    # --- versions

    def _replay(self, number: int) -> TableVersion:
        start = max((v for v in self._versions if v < number), default=-1)
        saved = max((v for v in self._numbers(_CHECKPOINT) if v <= number), default=-1)
        if start >= 0 and start >= saved:
            version = self._versions[start]
        elif saved >= 0:
            version = self._apply(TableVersion(saved), saved, self._saved_actions(saved))
        else:
            version = TableVersion(-1)
        for n in range(version.number + 1, number + 1):
            version = self._apply(version, n, self._actions(n))
        if not version.schema_json:
            raise LogBroken(f"version {number} has no schema")
        return version

    def _apply(self, version: TableVersion, number: int, actions: Iterable[dict[str, Any]]) -> TableVersion:
        files = dict(version.files)
        for action in actions:
            if add := action.get("add"):
                made = self._file(add)
                files[made.path, made.vector] = made
            elif remove := action.get("remove"):
                gone = self._file(remove)
                files.pop((gone.path, gone.vector), None)
            elif meta := action.get("metaData"):
                version = replace(
                    version,
                    id=str(meta["id"]),
                    schema_json=str(meta["schemaString"]),
                    partitioned_by=tuple(meta.get("partitionColumns") or ()),
                    settings=dict(meta.get("configuration") or {}),
                )
            elif protocol := action.get("protocol"):
                features = frozenset(protocol.get("readerFeatures") or ())
                version = replace(version, reader_version=int(protocol["minReaderVersion"]), features=features)
        return replace(version, number=number, files=files)

    def _read_commit(self, actions: Iterable[dict[str, Any]]) -> Commit:
        adds, removes, changes = [], [], []
        for action in actions:
            if add := action.get("add"):
                adds.append((self._file(add), bool(add.get("dataChange", True))))
            elif remove := action.get("remove"):
                removes.append((self._file(remove), bool(remove.get("dataChange", True))))
            elif change := action.get("cdc"):
                changes.append(self._file(change))
            elif info := action.get("commitInfo"):
                changes += [DataFile(self._path(path)) for path in told_changes(info)]
        return Commit(tuple(adds), tuple(removes), tuple(changes))

    def _file(self, action: dict[str, Any]) -> DataFile:
        values = dict(action.get("partitionValues") or {})
        # An empty value stands for NULL, whatever the type.
        partition = tuple(sorted((str(k), v or None) for k, v in values.items()))
        vector = action.get("deletionVector")
        mark = None if not vector else f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"
        size = int(action.get("size") or 0)
        return DataFile(self._path(str(action["path"])), partition, _rows(action), mark, size)

    def _path(self, text: str) -> Path:
        """Where a file is. The log has paths as in a URL, so they are decoded, once."""
        scheme = _ABSOLUTE.match(text)
        if scheme is None:
            return self.table / unquote(text)
        if scheme[1].lower() != "file":
            raise LogBroken(f"{text} is not a file of this machine")
        return Path("/" + unquote(text[scheme.end() :]).lstrip("/"))

    # --- parts of the log

    def _numbers(self, kind: re.Pattern[str]) -> set[int]:
        if not self.folder.is_dir():
            return set()
        found: dict[int, list[re.Match[str]]] = {}
        for entry in self.folder.iterdir():
            if match := kind.fullmatch(entry.name):
                found.setdefault(int(match[1]), []).append(match)
        if kind is _COMMIT:
            return set(found)
        return {n for n, parts in found.items() if _complete(parts)}

    def _actions(self, number: int) -> list[dict[str, Any]]:
        file = self.folder / f"{number:020}.json"
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
            return [_object(json.loads(line)) for line in lines if line.strip()]
        except FileNotFoundError as problem:
            raise LogGap(f"the commit of version {number} is no longer in the log") from problem
        except (ValueError, OSError) as problem:
            raise LogBroken(f"{file.name}: {problem}") from problem

    def _saved_actions(self, number: int) -> Iterator[dict[str, Any]]:
        """The actions of a checkpoint: one file, several parts, or one that points to others."""
        entries = sorted(e for e in self.folder.iterdir() if e.name.startswith(f"{number:020}.checkpoint"))
        kinds = {e: m for e in entries if (m := _CHECKPOINT.fullmatch(e.name))}
        parts = [e for e, m in kinds.items() if m[2]]
        chosen = next(([e] for e, m in kinds.items() if not m[2]), parts)
        for file in chosen:
            for action in _saved(file):
                if pointer := action.get("sidecar"):
                    yield from _saved(self.folder / "_sidecars" / unquote(str(pointer["path"])))
                else:
                    yield action


def _complete(parts: list[re.Match[str]]) -> bool:
    """Whether a checkpoint is all there: a single file, or as many parts as each of them tells."""
    return any(not m[2] for m in parts) or len(parts) >= int(parts[0][3])


def _saved(file: Path) -> Iterator[dict[str, Any]]:
    try:
        if file.suffix == ".json":
            for line in file.read_text(encoding="utf-8").splitlines():
                if line.strip():
                    yield _object(json.loads(line))
            return
        parquet = pq.ParquetFile(file)
        wanted = {"add", "metaData", "protocol", "sidecar"} & set(parquet.schema_arrow.names)
        for batch in parquet.iter_batches(columns=sorted(wanted)):
            yield from batch.to_pylist()
    except (ValueError, OSError, pa.ArrowException) as problem:
        raise LogBroken(f"{file.name}: {problem}") from problem


def _understood(read: Callable[[_A], _B], argument: _A) -> _B:
    """What a part of the log says; one that lacks what every writer must put there is broken."""
    try:
        return read(argument)
    except (KeyError, ValueError, TypeError, AttributeError) as problem:
        raise LogBroken(f"an action is not as it should be: {problem!r}") from problem


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not an action")
    return value


def _rows(action: dict[str, Any]) -> int | None:
    """How many rows a file has, by its statistics."""
    stats = action.get("stats")
    parsed = json.loads(stats) if stats else action.get("stats_parsed")
    found = parsed.get("numRecords") if parsed else None
    return None if found is None else int(found)
