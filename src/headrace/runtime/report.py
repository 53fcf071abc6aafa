"""What a refresh did, in data and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headrace.errors import HeadraceError


@dataclass(frozen=True)
class OperatorReport:
    """One operator of the query: how it was maintained, the rows of its delta, and why it was recomputed if it was.

    ``operator`` is its kind (Join, Aggregate, Limit, …), ``text`` the operator with its parameters.
    ``rows_in`` and ``rows_out`` are None where no delta was computed for it by itself. ``seconds`` is the
    time of the step it was part of, named by ``step``; operators that share a step share its time.
    """

    operator: str
    text: str
    method: str
    rows_in: int | None
    rows_out: int | None
    seconds: float | None
    step: str | None
    reason: str | None
    depth: int = 0


@dataclass(frozen=True)
class RefreshReport:
    """What one refresh did. ``method``: initial, incremental, full, unchanged or failed. A view that was computed from
    scratch says why in ``reason``, and for programs in ``code`` (``runtime.reason.CODES``). ``started`` is in seconds
    since 1970; ``estimated`` are the seconds that prices and earlier runs of its kind let expect; ``since`` and
    ``until`` are the positions of the sources; ``states`` are bytes on disk by state, ``memory`` bytes in memory by
    index; ``files_skipped`` counts the files of sources and states that were not read because no key of the changes is
    in their range."""

    view: str
    run: int
    started: float
    method: str
    code: str | None
    reason: str | None
    estimated: float | None
    seconds: float
    since: Mapping[str, int]
    until: Mapping[str, int]
    rows_in: Mapping[str, int]
    rows_read: int
    bytes_read: int
    rows_out: int
    published: str
    bytes_written: int
    operators: tuple[OperatorReport, ...]
    states: Mapping[str, int]
    steps: Mapping[str, float]
    memory: Mapping[str, int] = field(default_factory=dict)
    files_skipped: int = 0

    @property
    def state_bytes(self) -> int:
        """What all states take on disk."""
        return sum(self.states.values())

    def record(self) -> dict[str, Any]:
        """The run as a row of the history, in plain data."""
        left_out = ("view", "operators", "memory", "files_skipped")  # memory ends with the process
        row = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        return {**row, "error": None}

    @property
    def recomputed(self) -> tuple[OperatorReport, ...]:
        """The operators that were recomputed, each with its reason."""
        return tuple(o for o in self.operators if o.method == "recompute")

    def __str__(self) -> str:
        head = f'view "{self.view}": {self.method} in {self.seconds:.2f} s'
        if self.estimated is not None:
            head += f", {self.estimated:.2f} expected"
        if self.reason:
            head += f" ({self.reason}) [{self.code}]"
        came = ", ".join(f"{n} {r:,}" for n, r in self.rows_in.items() if r) or "nothing"
        lines = [
            head,
            f"  in:     {came}",
            f"  out:    {self.rows_out:,} rows, {self.published}, {self.bytes_written:,} bytes",
        ]
        lines.append(f"  state:  {self.state_bytes:,} bytes")
        if self.memory:
            lines.append(f"  memory: {sum(self.memory.values()):,} bytes, {', '.join(self.memory)}")
        if self.files_skipped:
            lines.append(f"  skipped: {self.files_skipped:,} files that no change can meet")
        for o in self.operators:
            rows = "" if o.rows_out is None else f"{o.rows_out:,} rows"
            time = "" if o.seconds is None else f"{o.seconds:.2f} s in {o.step}"
            text = "  " * (o.depth + 1) + o.text
            lines.append(f"{text:<72.72}  {o.method:<18}{rows:>14}  {time}".rstrip())
            if o.reason:
                lines.append("  " * (o.depth + 2) + f"recomputed: {o.reason}")
        return "\n".join(lines)


@dataclass(frozen=True)
class PipelineReport:
    """What a refresh of all views did: a report for each that was refreshed, in that order; the problem of each that
    failed; and for each that was left out, the view below it that is to blame."""

    refreshed: Mapping[str, RefreshReport]
    failed: Mapping[str, Exception]
    skipped: Mapping[str, str]

    def __str__(self) -> str:
        lines = [str(report).splitlines()[0] for report in self.refreshed.values()]
        lines += [f'view "{name}": failed: {str(problem).splitlines()[0]}' for name, problem in self.failed.items()]
        lines += [f'view "{name}": left as it was, for view "{below}" failed' for name, below in self.skipped.items()]
        return "\n".join(lines)


class PipelineError(HeadraceError):
    """Some views could not be refreshed; ``report`` tells of all."""

    def __init__(self, code: str, message: str, *, report: PipelineReport, hint: str) -> None:
        super().__init__(code, message, hint=hint)
        self.report = report
