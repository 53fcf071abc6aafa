"""What can go wrong, who must act, and what to do about it.

The class says who must act: the author of the query, of the configuration, the owner of a source, or
us. The code is stable; tests and programs match on it, people read the rest.
"""

from __future__ import annotations


class HeadraceError(Exception):
    """The root of every error that Headrace raises by itself."""

    def __init__(self, code: str, message: str, *, at: str | None = None, hint: str | None = None) -> None:
        self.code = code
        self.message = message
        self.at = at
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [f"error: {self.message}"]
        if self.at:
            lines.append(f"  at:     {self.at}")
        if self.hint:
            lines.append(f"  hint:   {self.hint}")
        lines.append(f"  code:   {self.code}")
        return "\n".join(lines)


class QueryError(HeadraceError):
    """The query cannot be read or cannot be maintained: its author must act."""


class ConfigError(HeadraceError):
    """A name, a path or a setting is wrong: whoever configured it must act."""


class SourceError(HeadraceError):
    """The data of a source is not as promised: its owner must act."""


class StateError(HeadraceError):
    """What is kept under the warehouse does not fit together: the operator must act."""


class InternalError(HeadraceError):
    """Headrace broke one of its own laws: we must act."""
