"""The outcome of comparing a view with what Spark answers from scratch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """Rows that the result lacks (``missing``) and rows that it has too many (``surplus``), each counted as often as it
    occurs, and a few of either. ``run`` is the run whose result it is; ``rows`` are all that it has."""

    view: str
    run: int
    rows: int
    missing: int
    surplus: int
    missing_rows: tuple[Mapping[str, Any], ...]
    surplus_rows: tuple[Mapping[str, Any], ...]
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether the result is what Spark answers, row for row."""
        return not self.missing and not self.surplus

    def __str__(self) -> str:
        if self.agrees:
            return f'view "{self.view}": {self.rows:,} rows, as Spark answers from scratch'
        lines = [f'view "{self.view}" differs from Spark\'s answer: {self.missing:,} missing, {self.surplus:,} surplus']
        for word, rows in (("missing", self.missing_rows), ("surplus", self.surplus_rows)):
            lines += [f"  {word}:  " + ", ".join(f"{k}={v!r}" for k, v in row.items()) for row in rows]
        return "\n".join(lines)
