"""What the scheduler remembers of one view: what it has read, its last run, whether it waits, whether it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.runtime.basket import Basket
from headrace.runtime.moment import Moment, Run
from headrace.runtime.net import Factory
from headrace.runtime.retry import Retry


@dataclass
class Ticket:
    """A view was found due. ``number`` counts tickets and starts together, so that it tells which was first;
    ``passed`` are the upstream views that have made a whole run since."""

    number: int
    since: float
    passed: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Work:
    """A run that goes on: the positions it takes its inputs up to, and the seconds it is thought to take."""

    number: int
    started: float
    taken: Mapping[str, int]
    expected: float | None


@dataclass
class Seat:
    """``read`` is the position of each input up to which the view has read; ``failures`` are those since its last run
    that did its work, the latest at ``failed``. It never has a ticket and work at the same time."""

    factory: Factory
    read: dict[str, int]
    last: Run | None = None
    stated: float | None = None
    asked: bool = False
    failures: int = 0
    failed: float = 0.0
    ticket: Ticket | None = None
    work: Work | None = None

    @property
    def expected(self) -> float | None:
        if self.stated is not None or self.last is None:
            return self.stated
        return max(0.0, self.last.ended - self.last.started)

    def moment(self, now: float, since: float, baskets: Mapping[str, Basket], views: frozenset[str]) -> Moment:
        changed = frozenset(name for name, position in self.read.items() if baskets[name].changed(position))
        return Moment(
            now=now,
            last=self.last,
            since=since,
            unread={name: baskets[name].unread(position) for name, position in self.read.items()},
            changed=changed,
            published=changed & views,
            expected=self.expected,
            asked=self.asked,
        )

    def next(self, moment: Moment, retry: Retry) -> float | None:
        """When the view is due: by its policy, but not while it is left alone after a failure; or because somebody
        asked. A failure that seems to lie in the future is not waited for: the clock was set back."""
        if moment.asked:
            return moment.now
        at = self.factory.policy.next(moment)
        if at is None or not self.failures or self.failed > moment.now:
            return at
        return max(at, self.failed + retry.pause(self.failures))
