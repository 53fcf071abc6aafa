"""A case is one query over one history; several queries share a history, so that files are written once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
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


def trials(special: bool = False) -> st.SearchStrategy[Trial]:
    several = st.lists(queries(), min_size=1, max_size=QUERIES).map(tuple)
    return st.builds(Trial, several, histories(special), st.sampled_from((0, 0, 0, 0, 1)))


def examine(number: int, test: Callable[[Trial], None], *, special: bool = False, shrink: bool = True) -> None:
    """Hand the random trial of this number to the test; when the test raises, find a smaller one that does.

    Each trial is a run of Hypothesis of its own, with its number as the seed. In one run with many examples
    Hypothesis would try variations of those that pass, which here means the same query again and again.
    The test always gets the simplest trial first, then the random one.
    """
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]

    @seed(number)
    @settings(
        max_examples=2,
        phases=phases,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(trials(special))
    def run(trial: Trial) -> None:
        test(trial)

    run()


def drawn(start: int, *, special: bool = False) -> Iterator[Trial]:
    """The random trials of the numbers from `start` on, without end."""
    while True:
        found: list[Trial] = []
        examine(start, found.append, special=special, shrink=False)
        yield found[-1]
        start += 1
