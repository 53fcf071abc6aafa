"""The order in which the files of a folder were found, which is what its positions count.

Two processes may share a warehouse. Whoever extends the order holds a lock, and first reads what the other added:
so all agree on every position, for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from headrace.spark.sources.lock import locked


@dataclass(frozen=True)
class KnownFile:
    """A file that was found: its path in the folder, what told it apart, its rows, and those that leave."""

    path: str
    size: int
    modified: int
    rows: int
    leaving: int


class Manifest:
    """The file that holds the order."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def locked(self) -> AbstractContextManager[None]:
        """Nobody else extends the order meanwhile, in this process or another."""
        return locked(self.path)

    def load(self) -> list[KnownFile]:
        if not self.path.exists():
            return []
        return [KnownFile(**f) for f in json.loads(self.path.read_text())["files"]]

    def save(self, files: list[KnownFile]) -> None:
        """Put the order in place in one step; call it under the lock."""
        scratch = self.path.with_suffix(".new")
        scratch.write_text(json.dumps({"files": [asdict(f) for f in files]}))
        scratch.replace(self.path)


def marked(files: Iterable[tuple[str, int, int]]) -> str:
    """A digest of files in their order, each told by its path, size and time."""
    digest = sha256()
    for file in files:
        digest.update(repr(file).encode())
    return digest.hexdigest()[:16]
