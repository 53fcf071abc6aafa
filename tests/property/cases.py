"""A case is one query over one history; several queries share a history, so that files are written once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .histories import History, histories
from .queries import queries

QUERIES = 6
"""At most so many queries over one history."""


@dataclass(frozen=True)
class Trial:
    """Some queries over one history: one warehouse with several views."""

    queries: tuple[str, ...]
    history: History
    first: int = 0
    """The batch after which the views are made."""
    memory: str = "on"
    """Rows are looked up in memory wherever they can be (on) or never (off), or it is often lost on the way (lost). It
    may be that of executors (apart)."""
    goal: str = "least_latency"
    """What the views are refreshed for."""
    steps: str = "small"
    """How few rows are worked on: in the driver, as they are (small), or in tasks, as many would be (large)."""


def trials(special: bool = False) -> st.SearchStrategy[Trial]:
    several = st.lists(queries(), min_size=1, max_size=QUERIES).map(tuple)
    memory = st.sampled_from(("on", "off", "lost"))
    goal = st.sampled_from(("least_latency", "least_latency", "least_cost"))
    return st.builds(Trial, several, histories(special), st.sampled_from((0, 0, 0, 0, 1)), memory, goal)


def drawn(start: int, *, special: bool = False) -> Iterator[Trial]:
    """The random trials of the numbers from `start` on, without end."""
    while True:
        yield trial_of(start, special=special)
        start += 1


def trial_of(number: int, *, special: bool = False) -> Trial:
    """The random trial of this number.

    Each trial is a run of Hypothesis of its own, with its number as the seed. In one run with many examples
    Hypothesis would try variations of those that pass, which here means the same query again and again. Of
    the two examples the first is the simplest one that there is, the second is random.
    """
    found: list[Trial] = []

    @seed(number)
    @settings(
        max_examples=2,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(trials(special))
    def draw(trial: Trial) -> None:
        found.append(trial)

    draw()
    return found[-1]
