"""What the commands share in talking to a terminal: figures, and where Spark's own messages go."""

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from rich.table import Table
from rich.text import Text


@contextmanager
def stderr_to(log: Path) -> Iterator[None]:
    """Send the process's stderr to a file; a JVM started meanwhile keeps writing there after it ends."""
    sys.stderr.flush()
    saved = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(target, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
        os.close(target)


def last_lines(log: Path, count: int = 15) -> str:
    """The end of a log, or nothing where there is none."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:]) if log.exists() else ""


def seconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def ratio(value: float) -> str:
    return f"{value:.2f}×" if value < 10 else f"{value:.1f}×"


def count(value: int) -> str:
    return f"{value:,}"


def size(value: float) -> str:
    """Bytes in a unit that leaves at most four digits."""
    unit = "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def ago(seconds: float) -> str:
    """A span of time in one unit."""
    for unit, length in (("days", 172_800), ("h", 7200), ("min", 120)):
        if seconds >= length:
            return f"{seconds / {'days': 86_400, 'h': 3600, 'min': 60}[unit]:.0f} {unit}"
    return f"{seconds:.0f} s"


def clock(moment: float) -> str:
    """A moment in the zone of this machine."""
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M:%S")


def table(*columns: str, right: Collection[str] = (), cut: str | None = None) -> Table:
    """A table without lines; the columns in ``right`` hold numbers. Where it is too wide for the screen, the column
    ``cut`` gives way; its cells are made by ``line``."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=name != cut, overflow="ellipsis")
    return made


def line(text: str, style: str = "") -> Text:
    """A cell that is cut short rather than broken into lines."""
    return Text(text, style, no_wrap=True, overflow="ellipsis")
