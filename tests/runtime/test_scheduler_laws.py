"""The laws of the scheduler, on random nets, policies, arrivals, lengths of runs, failures and clocks.

Each law was broken by hand in the scheduler once, and the tests named after it failed.
"""

from __future__ import annotations

from hypothesis import given, settings

from headrace.runtime.net import Net
from headrace.runtime.scheduler import Firing

from .simulation import LONGEST, SECONDS, Life, World, busy_worlds, worlds


def check_due(life: Life, firings: list[Firing]) -> None:
    """All that are due and no other, each after those it waits for."""
    assert {f.view for f in firings} == life.look()
    for i, firing in enumerate(firings):
        assert firing.why
        assert firing.waits <= life.net.upstream[firing.view]
        assert not firing.waits & {f.view for f in firings[i:]}


def check_start(life: Life, firing: Firing) -> None:
    """Laws 1 and 3, the limit, and that a running view is not started again."""
    book = life.books[firing.view]
    assert life.allowed(firing.view), "law 1: it may not run yet"
    assert book.going is None
    assert len(life.running) < life.world.parallel
    for upstream in life.net.upstream[firing.view]:
        above = life.books[upstream]
        if above.going is not None or above.due is not None:
            assert upstream in book.passed, f"law 3: {upstream} has not run in this wave"


def check_moments(life: Life) -> None:
    """Law 4: what is unread is what came less what runs consumed, for every view and input."""
    for view in life.books:
        assert life.scheduler.moment(view, life.now) == life.moment(view)


def start_all(life: Life) -> None:
    check_moments(life)
    check_due(life, life.scheduler.due(life.now))
    for firing in life.scheduler.ready(life.now):
        check_start(life, firing)
        life.begin(firing.view)
    assert life.scheduler.running == life.running
    assert not life.scheduler.ready(life.now)
    if len(life.running) < life.world.parallel:  # nobody is left out for nothing
        waiting = {n for n, b in life.books.items() if b.due is not None}
        assert all(f.waits for f in life.scheduler.due(life.now) if f.view in waiting)


@given(worlds(jumps=True))
@settings(max_examples=150)
def test_the_laws_hold_in_any_life(world: World) -> None:
    life = Life(world)
    life.happen()
    start_all(life)
    while life.true < SECONDS:
        life.pass_second()
        start_all(life)


@given(worlds())
@settings(max_examples=100)
def test_between_events_nothing_becomes_due_before_the_scheduler_wakes(world: World) -> None:
    life = Life(world)
    life.happen()
    while life.true < SECONDS:
        start_all(life)
        before = life.look()
        wake = life.scheduler.wake(life.now)
        if life.pass_second():
            continue
        assert life.look() - before == set() or (wake is not None and wake <= life.now)
        assert life.look() - before != set() or wake is None or wake > life.now


def longest_wait(net: Net, view: str) -> int:
    """Law 2 in seconds. While a view waits only for a free place, one is freed every LONGEST seconds at least, and goes
    to an older ticket, of which there is one for each other view at most. Each view upstream interrupts it at most
    twice, for as long as that one waits and runs."""
    upstream = net.upstream[view]
    interrupted = sum(2 * (longest_wait(net, u) + LONGEST) for u in upstream)
    return (len(net.factories) + 2 * len(upstream)) * LONGEST + interrupted


@given(busy_worlds())
@settings(max_examples=60)
def test_none_starves_in_a_busy_net(world: World) -> None:
    life = Life(world)
    life.happen()
    bounds = {view: longest_wait(life.net, view) for view in life.net.factories}
    while life.true < 150:
        start_all(life)
        for view, book in life.books.items():
            assert book.due is None or life.true - book.due <= bounds[view], f"{view} starves"
        life.pass_second()
