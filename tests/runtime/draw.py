"""Random policies and moments, and an oracle that says by itself which policy is due when."""

from __future__ import annotations

from datetime import time

from hypothesis import strategies as st

from headrace.runtime.by_clock import Cron, Deadline, Every, cron, deadline, every
from headrace.runtime.by_event import (
    AfterRows,
    DownstreamOf,
    OnChange,
    OnDemand,
    after_rows,
    downstream_of,
    on_change,
    on_demand,
)
from headrace.runtime.moment import Moment, Run
from headrace.runtime.policy import Both, Either, Policy

DAY = 86_400
BEGIN = 20_000 * DAY  # midnight UTC on a day in 2024
INPUTS = ("sales", "items", "the other view")
# Expressions whose hours in UTC are one every so many seconds, so many after midnight.
CRONS = {"*/5 * * * *": (300, 0), "0 6 * * *": (DAY, 6 * 3600), "30 * * * * *": (60, 30), "15 */2 * * *": (7200, 900)}
HOURS = {"08:00": 8 * 3600, "00:00": 0, "23:59": 23 * 3600 + 59 * 60}

single = st.one_of(
    st.just(on_demand()),
    st.just(on_change()),
    st.sampled_from((5, 60, 90, 600, 3600, DAY)).map(every),
    st.sampled_from(sorted(CRONS)).map(cron),
    st.builds(after_rows, st.integers(1, 2000), st.none() | st.sampled_from(INPUTS)),
    st.builds(lambda hour, margin: deadline(hour, margin=margin), st.sampled_from(sorted(HOURS)), st.integers(0, 7200)),
    st.lists(st.sampled_from(INPUTS), max_size=2).map(lambda names: downstream_of(*names)),
)
policies = st.recursive(
    single,
    lambda inner: st.builds(lambda a, b, both: a & b if both else a | b, inner, inner, st.booleans()),
    max_leaves=6,
)


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    now = BEGIN + draw(st.integers(0, 3 * DAY))
    ago = st.one_of(st.integers(0, 1200), st.integers(0, 2 * DAY), st.integers(-DAY, 0))
    started = now - draw(ago)
    last = Run(started, started + draw(st.integers(0, 600)), draw(st.none() | st.integers(0, 3600)))
    changed = frozenset(draw(st.sets(st.sampled_from(INPUTS))))
    return Moment(
        now=float(now),
        last=draw(st.none() | st.just(last)),
        since=draw(st.none() | ago.map(lambda a: now - a)),
        unread={name: draw(st.integers(1, 1500)) for name in sorted(changed)},
        changed=changed,
        published=changed & {"the other view", "items"},
        expected=draw(st.none() | st.integers(0, 3600)),
        asked=draw(st.booleans()),
    )


def expected_due(policy: Policy, m: Moment) -> bool:
    """What the words of each policy say, worked out in another way than the code does."""
    reference = m.since if m.last is None else m.last.started
    unknown = reference is None or reference > m.now
    match policy:
        case Either(parts):
            return any(expected_due(p, m) for p in parts)
        case Both(parts):
            return all(expected_due(p, m) for p in parts)
        case OnDemand():
            return m.asked
        case OnChange():
            return len(m.changed) > 0
        case AfterRows(rows, source):
            return sum(r for n, r in m.unread.items() if source in (None, n)) >= rows
        case DownstreamOf(names):
            return any(not names or n in names for n in m.published)
        case Every(length):
            return m.last is None or m.last.started > m.now or m.now - m.last.started >= length
        case Cron(text):
            step, offset = CRONS[text]
            return unknown or (m.now - offset) // step > (reference - offset) // step
        case Deadline(hour, _, margin):
            offset = _seconds(hour)
            lead = (m.expected or 0) + margin
            before = lead if m.last is None else max(lead, (m.last.expected or 0) + margin)
            return unknown or (m.now + lead - offset) // DAY > (reference + before - offset) // DAY
    raise AssertionError(policy)


def _seconds(hour: time) -> int:
    return hour.hour * 3600 + hour.minute * 60
