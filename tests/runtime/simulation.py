"""A random life of a random net, and a second set of books kept beside the scheduler's.

The world goes on second by second: runs end, rows come, people ask, the clock may be set; then what the scheduler calls
ready is started. What the laws speak of (rows that came and were read, who is due, who has run since) is worked out
anew here, from the events alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from headrace.runtime.by_clock import cron, deadline, every
from headrace.runtime.by_event import after_rows, downstream_of, on_change, on_demand
from headrace.runtime.moment import Moment, Run
from headrace.runtime.net import Factory, Net
from headrace.runtime.policy import Policy
from headrace.runtime.retry import Retry
from headrace.runtime.scheduler import Scheduler

from .draw import BEGIN, expected_due

SOURCES = ("s0", "s1")
RETRY = Retry(first=4.0, most=20.0)
SECONDS = 60  # how long a life lasts
LONGEST = 3  # the longest run of a busy world


@dataclass(frozen=True)
class Plan:
    """How one run goes: how long it takes, whether it fails, and how many rows it publishes (None: uncounted)."""

    seconds: int
    fails: bool
    rows: int | None


@dataclass(frozen=True)
class World:
    """Everything that the scheduler does not decide; times are seconds after the beginning."""

    net: Net
    parallel: int
    arrivals: tuple[tuple[int, str, int | None], ...]  # when, where, how many rows
    demands: tuple[tuple[int, str], ...]
    plans: Mapping[str, tuple[Plan, ...]]
    jumps: tuple[tuple[int, int], ...] = ()  # when, and how far the clock is set forward (or back, below 0)


@dataclass
class Going:
    """A run that goes on: when it began in truth and by the clock, what there was to read, and how it will go."""

    true: int
    started: float
    came: dict[str, int]
    marks: dict[str, int]
    expected: float | None
    plan: Plan


@dataclass
class Book:
    """What the events say of one view."""

    read: dict[str, int]
    read_marks: dict[str, int]
    last: Run | None = None
    due: int | None = None  # since when, in truth, it has been due without a break
    began: set[str] = field(default_factory=set)  # views that began a run since it became due
    passed: set[str] = field(default_factory=set)  # of these, those that ended it
    going: Going | None = None
    failures: int = 0
    failed: float = 0.0
    asked: bool = False
    runs: int = 0


class Life:
    """One world under a scheduler, with the books."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.net = world.net
        self.true = 0
        self.now = float(BEGIN)
        self.scheduler = Scheduler(world.net, self.now, parallel=world.parallel, retry=RETRY)
        self.came = dict.fromkeys((*SOURCES, *self.net.factories), 0)
        self.marks = dict.fromkeys(self.came, 0)  # changes that nobody counted
        self.books = {
            n: Book(dict.fromkeys(f.inputs, 0), dict.fromkeys(f.inputs, 0)) for n, f in self.net.factories.items()
        }

    # The books

    @property
    def running(self) -> set[str]:
        return {n for n, b in self.books.items() if b.going is not None}

    def expected(self, view: str) -> float | None:
        last = self.books[view].last
        return None if last is None else max(0.0, last.ended - last.started)

    def moment(self, view: str) -> Moment:
        book = self.books[view]
        unread = {n: self.came[n] - r for n, r in book.read.items()}
        changed = frozenset(n for n in unread if unread[n] > 0 or self.marks[n] > book.read_marks[n])
        views = changed & self.net.factories.keys()
        return Moment(self.now, book.last, float(BEGIN), unread, changed, views, self.expected(view), book.asked)

    def allowed(self, view: str) -> bool:
        book = self.books[view]
        if book.asked:
            return True
        pause = min(RETRY.most, RETRY.first * 2 ** (book.failures - 1)) if book.failures else 0.0
        if book.failed <= self.now < book.failed + pause:
            return False
        return expected_due(self.net.factories[view].policy, self.moment(view))

    def look(self) -> set[str]:
        """Who is due now; one that is no longer due begins to wait anew when it is again."""
        for view, book in self.books.items():
            if book.going is not None or not self.allowed(view):
                book.due = None
            elif book.due is None:
                book.due, book.began, book.passed = self.true, set(), set()
        return {n for n, b in self.books.items() if b.due is not None}

    # Events

    def begin(self, view: str) -> None:
        book = self.books[view]
        plan = self.world.plans[view][book.runs % len(self.world.plans[view])]
        came, marks = ({n: now[n] for n in book.read} for now in (self.came, self.marks))
        book.going = Going(self.true, self.now, came, marks, self.expected(view), plan)
        book.runs, book.asked, book.due = book.runs + 1, False, None
        for other in self.books.values():
            other.began.add(view)
        self.scheduler.started(view, self.now)

    def end(self, view: str, going: Going) -> None:
        book = self.books[view]
        book.going = None
        for other in self.books.values():
            other.passed |= {view} & other.began
        if going.plan.fails:
            book.failures, book.failed = book.failures + 1, self.now
            self.scheduler.failed(view, self.now)
            return
        book.failures = 0
        book.last = Run(going.started, self.now, going.expected)
        book.read, book.read_marks = going.came, going.marks
        rows = going.plan.rows
        if rows is None:
            self.marks[view] += 1
        else:
            self.came[view] += rows
        self.scheduler.finished(view, self.now, published=rows != 0, rows=rows)

    def pass_second(self) -> bool:
        """The next second, and all that happens in it by itself; returns whether anything does."""
        self.true += 1
        self.now += 1.0
        return self.happen()

    def happen(self) -> bool:
        jumps = [by for at, by in self.world.jumps if at == self.true]
        self.now += sum(jumps)
        ends = [
            (n, b.going) for n, b in self.books.items() if b.going and b.going.true + b.going.plan.seconds == self.true
        ]
        for view, going in ends:
            self.end(view, going)
        arrivals = [(place, rows) for at, place, rows in self.world.arrivals if at == self.true]
        for place, rows in arrivals:
            if rows is None:
                self.marks[place] += 1
            else:
                self.came[place] += rows
            self.scheduler.arrived(place, rows)
        demands = [view for at, view in self.world.demands if at == self.true]
        for view in demands:
            self.books[view].asked = True
            self.scheduler.asked(view)
        return bool(jumps or ends or arrivals or demands)


clocked = st.one_of(
    st.sampled_from((3, 10, 30)).map(every),
    st.just(cron("30 * * * * *")),
    st.just(deadline("00:00", margin=5)),
    st.just(deadline("00:00", margin=86_390)),
)


def _policies(inputs: tuple[str, ...], views: tuple[str, ...]) -> st.SearchStrategy[Policy]:
    kinds = [
        clocked,
        st.just(on_change()),
        st.just(on_demand()),
        st.builds(after_rows, st.integers(1, 12), st.none() | st.sampled_from(inputs)),
    ]
    if views:
        kinds.append(st.sets(st.sampled_from(views)).map(lambda names: downstream_of(*sorted(names))))
    one = st.one_of(kinds)
    return st.one_of(one, one, st.builds(lambda a, b, both: a & b if both else a | b, one, one, st.booleans()))


plans = st.builds(Plan, st.integers(1, 8), st.integers(0, 4).map(lambda n: n == 0), st.none() | st.integers(0, 8))


def _views(draw: st.DrawFn, most: int) -> dict[str, frozenset[str]]:
    """Views with their inputs, each over sources and earlier views."""
    names = tuple(f"v{i}" for i in range(draw(st.integers(1, most))))
    return {
        name: frozenset(draw(st.sets(st.sampled_from((*SOURCES, *names[:i])), min_size=1, max_size=3)))
        for i, name in enumerate(names)
    }


@st.composite
def worlds(draw: st.DrawFn, jumps: bool = False) -> World:
    """Any net of up to five views, with any policies, arrivals, demands, lengths of runs and failures."""
    views = _views(draw, 5)
    factories = {
        name: Factory(inputs, draw(_policies(tuple(sorted(inputs)), tuple(sorted(inputs & views.keys())))))
        for name, inputs in views.items()
    }
    when = st.integers(0, SECONDS - 10)
    return World(
        Net({name: factories[name] for name in draw(st.permutations(sorted(factories)))}),
        draw(st.integers(1, 3)),
        tuple(draw(st.lists(st.tuples(when, st.sampled_from(SOURCES), st.none() | st.integers(0, 10)), max_size=15))),
        tuple(draw(st.lists(st.tuples(when, st.sampled_from(sorted(views))), max_size=4))),
        {name: tuple(draw(st.lists(plans, min_size=1, max_size=3))) for name in views},
        tuple(draw(st.lists(st.tuples(when, st.integers(-100, 100)), max_size=3))) if jumps else (),
    )


@st.composite
def busy_worlds(draw: st.DrawFn) -> World:
    """Rows come every second into every source, every view wants each of them, and there is too little room."""
    views = _views(draw, 4)
    return World(
        Net({name: Factory(inputs, on_change()) for name, inputs in views.items()}),
        draw(st.integers(1, 2)),
        tuple((t, place, 1) for t in range(200) for place in SOURCES),
        (),
        {name: (Plan(draw(st.integers(1, LONGEST)), False, 1),) for name in views},
    )
