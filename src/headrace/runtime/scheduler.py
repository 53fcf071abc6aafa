"""Which views may run now: DataCell's Petri net (§2.1), driven by whatever clock its caller has.

Arrivals put rows into places; a view fires when its policy says so, takes what its inputs hold and, when it is done,
may put something into its own place. The scheduler starts nothing and asks no clock: it is told what happened
(``arrived``, ``asked``, ``started``, ``finished``, ``failed``) and answers what may happen (``due``, ``ready``,
``wake``). Its laws:

1. No view runs before its policy allows: it is due at the moment at which ``ready`` gives it out, or somebody asked.
   After a failure it is left alone for a while besides, unless somebody asks.
2. None starves. A view that is found due gets a ticket, keeps it until it starts, and older tickets go first. So a
   view that waits for nothing but a free place starts after at most one run of every other. What else it waits for,
   by law 3, are at most two runs of each view upstream, and these have tickets of their own.
3. In one wave an upstream view never runs after its downstream. From its ticket on a view waits for every upstream view
   that is running or due, also for those that become due meanwhile, until that one has made a whole run since. The
   wave ends there: an upstream view that is due again at once does not hold it up again.
4. Rows are conserved. A run consumes what was there when it started; what arrives meanwhile waits for the next. A run
   that fails consumes nothing. (One that read further, or less far, says so when it is finished.)

A view that is running is never started again, and at most ``parallel`` views run at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import ConfigError, InternalError
from headrace.runtime.basket import LIMIT, Basket
from headrace.runtime.moment import Moment, Run
from headrace.runtime.net import Net
from headrace.runtime.retry import Retry
from headrace.runtime.seat import Seat, Ticket, Work


@dataclass(frozen=True)
class Firing:
    """A view that is due: since when, why, and the upstream views it waits for before it may start."""

    view: str
    since: float
    why: str
    waits: frozenset[str] = frozenset()


class Scheduler:
    """Begins at ``now`` with empty places and views that never ran; ``resume`` tells of runs made before."""

    def __init__(self, net: Net, now: float, *, parallel: int = 4, retry: Retry | None = None) -> None:
        if parallel < 1:
            raise ConfigError("PARALLEL", f"{parallel} views cannot run side by side", hint="give at least 1")
        self.net = net
        self.since = now
        self.parallel = parallel
        self.retry = retry or Retry()
        self._baskets = {name: Basket() for name in (*net.sources, *net.factories)}
        self._seats = {n: Seat(f, dict.fromkeys(f.inputs, 0)) for n, f in net.factories.items()}
        self._views = frozenset(net.factories)
        self._count = 0

    # What happened

    def resume(self, view: str, last: Run | None, read: Mapping[str, int], expected: float | None = None) -> None:
        """A view goes on from the run it made under an earlier scheduler, having read up to these positions."""
        seat = self._seat(view)
        seat.last, seat.stated = last, expected
        seat.read |= {n: p for n, p in read.items() if n in seat.read}

    def arrived(self, place: str, rows: int | None = None, position: int | None = None) -> None:
        """Rows came into a source, or into a view that somebody else refreshed; None when nobody counted them. What no
        view reads is not kept."""
        basket = self._baskets.get(place, Basket())
        basket.add(rows, position)
        if len(basket) > LIMIT:
            self._settle(place)

    def asked(self, view: str) -> None:
        """Somebody wants a run. One that goes on does not answer: it may not see what they want to see."""
        self._seat(view).asked = True

    def expect(self, view: str, seconds: float | None) -> None:
        """What a run would take now; otherwise it is what the last one took."""
        self._seat(view).stated = seconds

    def started(self, view: str, now: float) -> None:
        """One that ``ready`` gave out is running. Whoever asked before now is answered by this run, however it ends."""
        seat = self._seat(view)
        if seat.work is not None or seat.ticket is None or self._waits(view) or self._free() < 1:
            state = "is running" if seat.work is not None else "may not start now"
            raise InternalError("NOT_READY", f'view "{view}" {state}', hint="start only what ready() gives out")
        taken = {name: self._baskets[name].position for name in seat.read}
        seat.work = Work(self._numbered(), now, taken, seat.expected)
        seat.ticket, seat.asked = None, False

    def finished(
        self,
        view: str,
        now: float,
        *,
        published: bool,
        rows: int | None = None,
        position: int | None = None,
        read: Mapping[str, int] | None = None,
    ) -> None:
        """A run did its work. ``rows`` of its result changed, at a ``position`` of its table, if it published any;
        ``read`` are the positions it reached, where they are not those of its start."""
        seat, work = self._ended(view)
        seat.last = Run(work.started, now, work.expected)
        seat.failures = 0
        seat.read |= {**work.taken, **{n: p for n, p in (read or {}).items() if n in seat.read}}
        for name in seat.read:
            self._settle(name)
        if published:
            self.arrived(view, rows, position)

    def failed(self, view: str, now: float) -> None:
        """A run failed: what it would have read stays unread, and the view is left alone for a while."""
        seat, _ = self._ended(view)
        seat.failures += 1
        seat.failed = now

    # What may happen

    def due(self, now: float) -> list[Firing]:
        """All views that are due and not running, each after those it waits for, and otherwise the oldest first."""
        self._admit(now)
        waiting = {n: s.ticket for n, s in self._seats.items() if s.ticket is not None}
        waits = {n: self._waits(n) for n in waiting}
        found: list[Firing] = []
        while waiting:
            name = min((n for n in waiting if not waits[n] & waiting.keys()), key=lambda n: waiting[n].number)
            moment = self.moment(name, now)
            why = "asked for" if moment.asked else self._seats[name].factory.policy.why(moment)
            found.append(Firing(name, waiting.pop(name).since, why, waits[name]))
        return found

    def ready(self, now: float) -> list[Firing]:
        """Those that may start now, the oldest first: they wait for no other view, and there are places for them."""
        return [f for f in self.due(now) if not f.waits][: self._free()]

    def wake(self, now: float) -> float | None:
        """When to look again if nothing happens: now where a view is ready, else the first time at which the clock can
        make one due; None when it never will."""
        if self.ready(now):
            return now
        idle = (n for n, s in self._seats.items() if s.work is None and s.ticket is None)
        return min((at for n in idle if (at := self.next(n, now)) is not None), default=None)

    @property
    def running(self) -> frozenset[str]:
        return frozenset(n for n, s in self._seats.items() if s.work is not None)

    def moment(self, view: str, now: float) -> Moment:
        """What the policy of a view is asked about."""
        return self._seats[view].moment(now, self.since, self._baskets, self._views)

    def _seat(self, view: str) -> Seat:
        if view not in self._seats:
            raise ConfigError(
                "VIEW_UNKNOWN", f'there is no view "{view}"', hint=f"there are: {', '.join(self.net.order)}"
            )
        return self._seats[view]

    def next(self, view: str, now: float) -> float | None:
        """When a view is due if nothing happens, the present or earlier where it is due now; None when it never is."""
        return self._seats[view].next(self.moment(view, now), self.retry)

    def _admit(self, now: float) -> None:
        """A ticket for each view that is due and has none, upstream first; one that is due no longer gives it back."""
        for name in self.net.order:
            seat = self._seats[name]
            if seat.work is not None:
                continue
            at = self.next(name, now)
            if at is None or at > now:
                seat.ticket = None
            elif seat.ticket is None:
                seat.ticket = Ticket(self._numbered(), now)

    def _waits(self, view: str) -> frozenset[str]:
        ticket = self._seats[view].ticket
        passed = ticket.passed if ticket is not None else set()
        held = (
            n for n in self.net.upstream[view] if self._seats[n].ticket is not None or self._seats[n].work is not None
        )
        return frozenset(n for n in held if n not in passed)

    def _ended(self, view: str) -> tuple[Seat, Work]:
        seat = self._seat(view)
        work = seat.work
        if work is None:
            raise InternalError("NOT_RUNNING", f'view "{view}" is not running')
        seat.work = None
        for name, other in self._seats.items():
            if other.ticket is not None and other.ticket.number < work.number and view in self.net.upstream[name]:
                other.ticket.passed.add(view)
        return seat, work

    def _settle(self, place: str) -> None:
        readers = [self._seats[name] for name in self.net.readers(place)]
        marks = {s.read[place] for s in readers} | {s.work.taken[place] for s in readers if s.work is not None}
        self._baskets[place].settle(marks)

    def _free(self) -> int:
        return self.parallel - len(self.running)

    def _numbered(self) -> int:
        self._count += 1
        return self._count
