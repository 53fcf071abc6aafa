"""One run of a view at a time, over all processes of a machine.

A lease is a lock on a file that the system gives back when its holder ends, however it ends. It keeps runs
from working for nothing; that none counts twice is what the commit on the view's table sees to.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import StateError

_PAUSE = 0.05


@contextmanager
def lease(path: Path, what: str, wait: float) -> Iterator[None]:
    """Hold the lease at ``path``, or raise when another still holds it after ``wait`` seconds."""
    deadline = time.monotonic() + wait
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            while not _taken(file.fileno()):
                if time.monotonic() >= deadline:
                    raise StateError(
                        "BUSY",
                        f"{what} is being refreshed by {_holder(path)}",
                        hint="wait until it is done, or give more time: refresh(wait=seconds)",
                    )
                time.sleep(_PAUSE)
            if not _same(file.fileno(), path):  # its folder was dropped meanwhile
                continue
            file.truncate(0)
            json.dump({"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}, file)
            file.flush()
            yield
            return


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same(file: int, path: Path) -> bool:
    """Whether an open file is still the one at its path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    try:
        found = json.loads(path.read_text())
        return f"process {found['process']} on {found['host']}, for {time.time() - found['since']:.0f} s"
    except (ValueError, KeyError):
        return "another process"
