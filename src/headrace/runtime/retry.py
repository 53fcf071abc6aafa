"""How long a view that failed is left alone: first, then twice as long after each further failure, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import ConfigError


@dataclass(frozen=True)
class Retry:
    """Seconds before a failed view is tried again: ``first · 2^(failures − 1)``, and never more than ``most``. A run
    that does its work sets the count back."""

    first: float = 5.0
    most: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.most:
            raise ConfigError("RETRY", f"a first pause of {self.first} s cannot grow to {self.most} s")

    def pause(self, failures: int) -> float:
        return min(self.most, self.first * 2.0 ** min(failures - 1, 64))
