"""Work beside the views that has its place in their order."""

from __future__ import annotations

from typing import Protocol

from headrace.runtime.policy import Policy
from headrace.runtime.progress import Progress
from headrace.runtime.report import RefreshReport


class Feed(Protocol):
    """Something that brings rows into a source of the same name, or hands rows on: a streaming table, a sink. Views and
    feeds that read it come after it, and it comes after those in ``below``."""

    name: str
    below: frozenset[str]
    policy: Policy | None

    def refresh(self, *, full: bool, wait: float, progress: Progress) -> RefreshReport:
        """Do what there is to do; ``full`` forgets what was done before."""
