"""The files of a table that others write, in the order in which they were found, and where that order broke off.

    position = 2⁴⁰ · order + files

Positions count files. When a file that was found is gone or has changed, a new order begins: with the files before
it, and then with all the others that are there. So a position in an older order still holds where no order since
then broke off before it, and it stands for the same files as ever.

Two processes may share a warehouse. Whoever extends the order holds a lock, and first reads what the other added.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace.spark.sources.lock import locked

_SPAN = 2**40
Values = tuple[str | None, ...]


@dataclass(frozen=True)
class TableFile:
    """A file: what tells it apart, the values of its partition as text, and its rows."""

    path: str
    size: int
    modified: int
    partition: Values
    rows: int = 0

    def same(self, other: TableFile | None) -> bool:
        """Whether it is the same file still."""
        return other is not None and (self.path, self.size, self.modified, self.partition) == (
            other.path,
            other.size,
            other.modified,
            other.partition,
        )


@dataclass(frozen=True)
class FileOrder:
    """The newest order, and for each one before it the number of files that it has in common with its successor."""

    files: tuple[TableFile, ...] = ()
    kept: tuple[int, ...] = ()
    lost: str = ""
    """The file at which the last order broke off."""

    @property
    def position(self) -> int:
        return _SPAN * len(self.kept) + len(self.files)

    def place(self, position: int) -> int | None:
        """How many files a position stands for; None where some of them are no longer there."""
        order, count = divmod(position, _SPAN)
        if order > len(self.kept) or count > min((len(self.files), *self.kept[order:])):
            return None
        return count

    def extended(
        self, found: Mapping[str, TableFile], count: Callable[[Sequence[TableFile]], Sequence[TableFile]]
    ) -> FileOrder:
        """The order with all files that are there now, the new ones after ``count`` gave them their rows."""
        first = next((i for i, f in enumerate(self.files) if not f.same(found.get(f.path))), None)
        before = self.files if first is None else self.files[:first]
        after = [f for f in self.files[len(before) :] if f.same(found.get(f.path))]
        known = {f.path for f in (*before, *after)}
        new = count([f for path, f in sorted(found.items()) if path not in known])
        if first is None:
            return FileOrder((*self.files, *new), self.kept, self.lost)
        return FileOrder((*before, *after, *new), (*self.kept, first), self.files[first].path)


class OrderFile:
    """The file under the warehouse that holds the order."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def locked(self) -> AbstractContextManager[None]:
        """Nobody else extends the order meanwhile, in this process or another."""
        return locked(self.path)

    def load(self) -> FileOrder:
        if not self.path.exists():
            return FileOrder()
        saved = json.loads(self.path.read_text(encoding="utf-8"))
        files = (TableFile(**{**f, "partition": tuple(f["partition"])}) for f in saved["files"])
        return FileOrder(tuple(files), tuple(saved["kept"]), saved["lost"])

    def save(self, order: FileOrder) -> None:
        """Put the order in place in one step; call it under the lock."""
        scratch = self.path.with_suffix(".new")
        scratch.write_text(json.dumps(asdict(order)), encoding="utf-8")
        scratch.replace(self.path)
