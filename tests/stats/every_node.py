"""One node of every kind at least, over columns k, x of s and j, y of t, and expectations for its inputs."""

from __future__ import annotations

from hypothesis import strategies as st
from rules.examples import (
    CHAIN,
    DISTINCT,
    FIRST,
    LOOSE,
    OVERALL,
    PAIR,
    POSITIVE,
    RANKED,
    SELF,
    SHIFTED,
    SPREAD,
    STACKED,
    TWICE,
    J,
    K,
    N,
    S,
    T,
    X,
    call,
    compared,
    grouped,
    pair_join,
)

from headrace.ir.expr import Attr, ref
from headrace.ir.near import Near, Range
from headrace.ir.probe import AccumulateFound, Index, Lookup, Missing, Probe
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Consolidate,
    Constant,
    Delta,
    EvalPython,
    Fallback,
    Finish,
    Head,
    Keys,
    Load,
    Measured,
    Meeting,
    Negate,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Provided,
    Restrict,
    Shortfall,
    Snapshot,
)
from headrace.ir.time import NEW, OLD
from headrace.stats.estimate import Change, Estimate, Span
from headrace.stats.known import Statistics
from headrace.stats.table import ColumnFacts, Moving, TableFacts

CALLS = (call("count"), call("sum"))
KEYED = Keys((S, T), ((K,), (J,)))
STATE = Partials(S, (K,), CALLS)
CHANGED = Partials(S, (K,), CALLS, change=True)
OLD_STATE = Load("state", STATE.attrs, OLD, unique=True)
INDEX = Index(Snapshot(T, OLD), (J,))

NODES: dict[str, Node] = {
    "source": S,
    "range": Constant((K,), "Range (0, 10, step=2)"),
    "values": Constant((K, X), "LocalRelation [k#1, x#2], [[1,2],[3,4],[5,6]]"),
    "project": SHIFTED,
    "filter": POSITIVE,
    "union": STACKED,
    "expand": TWICE,
    "generate": SPREAD,
    "python": EvalPython(S, (K, X, N), "f(x)"),
    "join": PAIR,
    "join of three": CHAIN,
    "join without a key": LOOSE,
    "self-join": SELF,
    **{f"{kind} join": pair_join(kind) for kind in PairJoin.KINDS},
    **{f"{kind} join without a key": pair_join(kind, equi=False, keyed=False) for kind in PairJoin.KINDS},
    **{f"{kind} join with a residual": pair_join(kind, equi=False) for kind in PairJoin.KINDS},
    "aggregate": grouped(*CALLS),
    "distinct": DISTINCT,
    "by two columns": Aggregate(S, (K, X), ()),
    "of all rows": grouped(*CALLS, keys=()),
    "window": RANKED,
    "window over all": OVERALL,
    "limit": FIRST,
    "head": Head(S, Negate(S), FIRST.order, FIRST.ties, 2),
    "shortfall": Shortfall(S),
    "fallback": Fallback(S, Shortfall(S)),
    "opaque": Opaque((S, T), (K, X), "?"),
    "old": Snapshot(S, OLD),
    "new": Snapshot(S, NEW),
    "delta": Delta(S, OLD, NEW),
    "load": OLD_STATE,
    "negate": Negate(S),
    "consolidate": Consolidate(S),
    "measured": Measured(S, 1),
    "provided": Provided(S, T),
    "keys": KEYED,
    "restrict": Restrict(S, (K,), KEYED),
    "meeting": Meeting(S, T, compared("x", ">", "y")),
    "partials": STATE,
    "change of partials": CHANGED,
    "accumulate": Accumulate(STATE, CHANGED, (K,), CALLS, False),
    "finish": Finish(STATE, (K,), CALLS),
    "near": Near(Snapshot(S, OLD), ((K, Range(2, 5, False)),)),
    "probe": Probe(S, INDEX, (ref(K),), OLD),
    "lookup": Lookup(KEYED, INDEX, NEW),
    "missing": Missing(T, INDEX),
    "accumulate found": AccumulateFound(CHANGED, Index(OLD_STATE, (K,)), (K,), CALLS),
}

COLUMNS = {"j": ColumnFacts(200.0, 1.0, 500.0), "y": ColumnFacts(30.0), "k": ColumnFacts(9.0)}
FACTS = TableFacts(1_000.0, 16_000.0, COLUMNS)
KNOWN = Statistics({"t": Moving(FACTS), "s": Moving(FACTS)}, {"state": Estimate(100.0, Change(1.0, 5.0))})

ROWS = st.one_of(st.just(0.0), st.floats(1e-3, 1e9))
SHARE = st.floats(0.0, 1.0)


@st.composite
def estimates(draw: st.DrawFn, attrs: tuple[Attr, ...], delta: bool = False) -> Estimate:
    """Anything that can be expected of a relation."""
    rows = draw(ROWS)
    inserts = draw(SHARE) * rows
    updates = draw(SHARE) * (rows - inserts)
    change = Change(inserts, updates, draw(ROWS)) if draw(st.booleans()) else Change()
    if delta:
        rows = change.rows
    known = [a.id for a in attrs if draw(st.booleans())]
    distinct = {a: max(draw(SHARE) * rows, min(rows, 1.0)) for a in known}
    domains = {a: d * draw(st.floats(1.0, 100.0)) for a, d in distinct.items()}
    spans = {a: Span(-1.0, draw(st.floats(-1.0, 100.0)), draw(SHARE)) for a in known if draw(st.booleans())}
    return Estimate(rows, change, distinct, draw(st.floats(1.0, 100.0)), delta, spans, {}, domains)


_DELTAS = ("join", "filter", "project", "union", "restrict", "negate", "consolidate", "change of partials", "probe")


@st.composite
def cases(draw: st.DrawFn, delta: bool | None = None) -> tuple[Node, tuple[Estimate, ...]]:
    """A node and what is expected of its inputs; of one that is put on deltas, its first input may be one."""
    name = draw(st.sampled_from(sorted(_DELTAS if delta else NODES)))
    node = NODES[name]
    first = name in _DELTAS and (draw(st.booleans()) if delta is None else delta)
    inputs = [draw(estimates(i.attrs, first and place == 0)) for place, i in enumerate(node.inputs)]
    return node, tuple(inputs)
