"""Taking away what is on disk: a view with all that it keeps, and what no view needs any more."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.runtime.lease import lease
from headrace.runtime.vacuum import Vacuum

if TYPE_CHECKING:
    from headrace.api.view import View

_DROPPED = ".dropped-"


def remove_folder(folder: Path, what: str, wait: float) -> int:
    """Remove the folder of a view while nobody works in it; returns its bytes. It leaves its name in one step, so that
    no half of a view is ever found; what a crash leaves behind then goes with the next vacuum."""
    size = size_of([folder])
    with lease(folder / "lease", what, wait):
        gone = folder.with_name(f"{_DROPPED}{uuid.uuid4().hex[:12]}")
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    return size


def vacuum(root: Path, views: Sequence[View], *, forgotten: bool, wait: float) -> Vacuum:
    freed = {view.name: _vacuum(view, wait) for view in views}
    known = {view._folder for view in views}
    half = list(root.glob(f"{_DROPPED}*"))
    dropped = size_of(half)
    for folder in half:
        shutil.rmtree(folder, ignore_errors=True)
    others = sorted(f for f in root.glob("[!.]*") if f.is_dir() and f not in known)
    sizes = {f.name: size_of([f]) for f in others}
    if forgotten:
        for folder in others:
            dropped += remove_folder(folder, f'folder "{folder.name}"', wait)
    return Vacuum(freed, sizes, dropped)


def _vacuum(view: View, wait: float) -> int:
    """Remove what no kept version of a view's tables needs, and say how many bytes that was."""
    if not view._folder.exists():
        return 0
    with view._lease(wait):
        view._reload()
        leftovers = _leftovers(view)
        size = size_of(leftovers)
        for path in leftovers:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        return size


def _leftovers(view: View) -> list[Path]:
    """What no version needs that people can read or that the next run begins from. A state may be ahead of that, after
    a run that never came to its commit."""
    found: list[Path] = []
    last = view._result.last_run()
    if last is not None:
        found += view._result.leftovers(view.warehouse.retain)
    for name, state in view._states.items():
        if state.table.exists and state.sound():
            begin = last["states"].get(name) if last else None
            found += state.table.leftovers(1 if begin is None else state.table.version - begin + 1)
    if view._history.table.exists:
        found += view._history.table.leftovers(1)
    return found + [f for f in (view._folder / "states").glob("*") if f.name not in view._states]


def size_of(paths: Iterable[Path]) -> int:
    """The bytes of files and folders."""
    return sum(f.stat().st_size for p in paths for f in (p.rglob("*") if p.is_dir() else (p,)) if f.is_file())
