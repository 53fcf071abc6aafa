"""From trees of relations to Spark's logical plans.

Linear operators and joins carry the weight column along; the rest runs on plain rows. Operators that
Spark has are run as the Catalyst nodes they came from, over other children. Nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.errors import InternalError
from headrace.ir.aggregate import Call, Merging
from headrace.ir.expr import Attr, Equal, Expr
from headrace.ir.near import Near
from headrace.ir.probe import AccumulateFound, Index, Lookup, Missing, Probe
from headrace.ir.rel import (
    COUNTED,
    LACKING,
    Accumulate,
    Consolidate,
    Constant,
    Delta,
    EvalPython,
    Expand,
    Fallback,
    Filter,
    Finish,
    Generate,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Measured,
    Meeting,
    Negate,
    Opaque,
    PairJoin,
    Partials,
    Project,
    Ref,
    Rel,
    Restrict,
    Shortfall,
    Snapshot,
    Source,
    Union,
    Window,
)
from headrace.ir.time import OLD, Version
from headrace.spark import aggregates
from headrace.spark.catalyst import Catalyst, name_of
from headrace.spark.frames import Frame
from headrace.spark.memory import Held

_COPIES = ("part", "whole", "had", "now", "copies", "before", "after", "every")


class Compiler:
    """Compiles relations over leaves that others provide: sources, states, and earlier steps."""

    def __init__(
        self,
        catalyst: Catalyst,
        snapshot: Callable[[Source, Version], Frame],
        delta: Callable[[Source], Frame],
        load: Callable[[Load], Frame],
        near: Callable[[Near], Frame],
        step: Callable[[Ref], Frame],
        held: Callable[[Index], Held],
    ) -> None:
        self.c = catalyst
        self._snapshot = snapshot
        self._delta = delta
        self._load = load
        self._near = near
        self._step = step
        self._held = held
        self._compiled: dict[tuple[int, bool], tuple[Rel, Frame]] = {}

    def compile(self, rel: Rel) -> Frame:
        """The frame of a relation; one that occurs several times is compiled once for each way to work."""
        key = (id(rel), self.c.single)
        known = self._compiled.get(key)
        if known is None:
            known = self._compiled[key] = (rel, self._compile(rel))
        return known[1]

    def _compile(self, rel: Rel) -> Frame:
        match rel:
            case Ref():
                return self._step(rel)
            case Snapshot(of=Source() as source, at=at):
                return self._snapshot(source, at)
            case Delta(of=Source() as source):
                return self._delta(source)
            case Load():
                return self._load(rel)
            case Near():
                return self._near(rel)
            case Constant(columns=columns, handle=handle):
                return self._named(Frame(self.c, self.c.gathered(handle), columns))
            case Project():
                return self._project(rel)
            case Filter(input=below, conjuncts=conjuncts):
                frame = self.compile(below)
                return frame.over(self.c.filter(self.c.all_of([self.expr(e) for e in conjuncts]), frame.plan))
            case Union():
                return self._union(rel)
            case Negate(input=below):
                return self.compile(below).negated()
            case Consolidate(input=below):
                return self.compile(below).consolidate()
            case Measured(input=below, tvr=tvr):
                frame = self.compile(below)
                return frame.over(self.c.measure(f"tvr{tvr}", frame.plan))
            case Expand():
                return self._expand(rel)
            case Generate() | EvalPython():
                return self._by_row(rel)
            case Join():
                return self._join(rel)
            case PairJoin():
                return self._pair_join(rel)
            case Probe():
                return self._probe(rel)
            case Lookup(keys=keys, index=index, at=at):
                frame = self.compile(keys)
                return self._found(frame, [self.c.attr(a) for a in frame.attrs], index, at, null_safe=True)
            case Missing():
                return self._missing(rel)
            case Keys():
                return self._keys(rel)
            case Restrict():
                return self._restrict(rel)
            case Meeting():
                return self._meeting(rel)
            case Partials():
                return self._partials(rel)
            case Accumulate() | AccumulateFound():
                return self._accumulate(rel)
            case Finish():
                return self._finish(rel)
            case Window():
                return self._window(rel)
            case Limit():
                return self._limit(rel)
            case Head():
                return self._head(rel)
            case Shortfall():
                return self._shortfall(rel)
            case Fallback(input=below, needed=needed):
                frame = self.compile(below)
                return frame.over(self.c.join(frame.plan, self.compile(needed).plan, "left semi", None))
            case Opaque(members=members, columns=columns, handle=handle):
                plans = [self.compile(m).rows().select(m.attrs).plan for m in members]
                return self._named(Frame(self.c, self.c.over(handle, plans), columns))
        raise InternalError("BAD_PLAN", f"Spark cannot run {type(rel).__name__}")

    # --- expressions

    def expr(self, e: Expr) -> Any:
        match e.kind:
            case "ref":
                (i,) = e.refs
                return self.c.attr(Attr(i, "", e.type))
            case "null":
                return self.c.null(e.type)
            case "boolean" | "sql":
                return self.c.sql(e.text)
        return e.handle

    def _equal(self, e: Equal) -> Any:
        return self.c.equal(self.expr(e.left), self.expr(e.right), e.null_safe)

    def _named(self, frame: Frame) -> Frame:
        """The columns under their unique names, after an operator that has its own."""
        return replace(frame, plan=self.c.project(frame.columns, frame.plan), exact=True)

    # --- linear operators

    def _project(self, p: Project) -> Frame:
        frame = self.compile(p.input)
        columns = []
        for c in p.columns:
            same = c.expr.kind == "ref" and c.expr.refs == {c.attr.id}
            columns.append(self.c.attr(c.attr) if same else self.c.named(c.attr, self.expr(c.expr)))
        plan = self.c.project([*columns, *self._weight(frame)], frame.plan)
        return replace(frame, plan=plan, attrs=p.attrs, consolidated=False, exact=True)

    def _weight(self, frame: Frame) -> list[Any]:
        return [] if frame.weight is None else [self.c.attr(frame.weight)]

    def _union(self, u: Union) -> Frame:
        frames = [self.compile(branch).select(order) for branch, order in zip(u.branches, u.orders, strict=True)]
        frames[0] = self._renamed(frames[0], u.columns)
        if len(frames) == 1:
            return frames[0]
        if any(f.weight is not None for f in frames):
            frames = [f.with_weight() for f in frames]
        plan = self.c.union([f.plan for f in frames])
        return Frame(self.c, plan, u.columns, frames[0].weight, all(f.unit for f in frames), exact=True)

    def _renamed(self, frame: Frame, attrs: tuple[Attr, ...]) -> Frame:
        """The columns, by position, under other ids; by way of a third where an id would change its meaning."""
        if frame.attrs == attrs:
            return frame
        if set(attrs) & set(frame.attrs):
            frame = self._relabelled(frame, tuple(self.c.twin(a, "via") for a in frame.attrs))
        return self._relabelled(frame, attrs)

    def _relabelled(self, frame: Frame, attrs: tuple[Attr, ...]) -> Frame:
        columns = [self.c.named(new, self.c.attr(old)) for new, old in zip(attrs, frame.attrs, strict=True)]
        plan = self.c.project([*columns, *self._weight(frame)], frame.plan)
        return replace(frame, plan=plan, attrs=attrs, exact=True)

    def _expand(self, e: Expand) -> Frame:
        frame = self.compile(e.input)
        weight = self._weight(frame)
        rows = [[*(self.expr(x) for x in row), *weight] for row in e.rows]
        made = tuple(self.c.twin(a, "expanded") for a in e.columns)
        plan = self.c.expand(rows, [*(self.c.attr(a) for a in made), *weight], frame.plan)
        return self._relabelled(replace(frame, plan=plan, attrs=made, consolidated=False), e.columns)

    def _by_row(self, node: Generate | EvalPython) -> Frame:
        """An operator of Catalyst's that treats rows one by one: the weight rides along behind its columns."""
        frame = self.compile(node.input).select(node.input.attrs)
        plan = self.c.over(node.handle, [frame.plan])
        return self._named(replace(frame, plan=plan, attrs=node.columns, consolidated=False))

    # --- joins

    def _join(self, j: Join) -> Frame:
        frames = [self.compile(m) for m in j.members]
        waiting: list[tuple[frozenset[str], Any]] = [(e.refs, self._equal(e)) for e in j.equals]
        waiting += [(e.refs, self.expr(e)) for e in j.residual]
        weights: list[Attr] = []
        plan: Any = None
        have: set[str] = set()
        for frame in frames:
            if frame.weight is not None:
                weight = self.c.weight()
                frame = frame.weighed(self.c.attr(frame.weight), weight)
                weights.append(weight)
            have |= {a.id for a in frame.attrs}
            ready = [p for refs, p in waiting if refs <= have]
            waiting = [(refs, p) for refs, p in waiting if not refs <= have]
            condition = self.c.all_of(ready)
            if plan is not None:
                plan = self.c.join(plan, frame.plan, "inner", condition)
            else:
                plan = frame.plan if condition is None else self.c.filter(condition, frame.plan)
        joined = Frame(self.c, plan, j.attrs, unit=all(f.unit for f in frames))
        return joined.weighed(self.c.product(weights)) if weights else joined.select(j.attrs)

    def _pair_join(self, j: PairJoin) -> Frame:
        left, right = self.compile(j.left), self.compile(j.right).rows()
        if j.kind == "full outer":
            left = left.rows()
        condition = self.expr(j.condition) if j.condition is not None else None
        kind = j.kind if j.exists is None else self.c.existence_join(j.exists)
        plan = self.c.join(left.plan, right.plan, kind, condition)
        return self._named(replace(left, plan=plan, attrs=j.attrs, consolidated=False))

    def _probe(self, p: Probe) -> Frame:
        frame = self.compile(p.input)
        found = self._found(frame, [self.expr(e) for e in p.on], p.index, p.at, null_safe=p.null_safe)
        weights = [f.weight for f in (frame, found) if f.weight is not None]
        joined = replace(found, attrs=p.attrs, unit=frame.unit and found.unit, weight=None, exact=False)
        return joined.weighed(self.c.product(weights)) if weights else joined.select(p.attrs)

    def _found(self, frame: Frame, on: list[Any], index: Index, at: Version, *, null_safe: bool) -> Frame:
        """Each row with what an index has under its key. The key's columns are the values it was looked up by."""
        held, new = self._held(index), at != OLD
        weight = self.c.weight() if new and held.weighted else None
        how = {"null_safe": null_safe, "new": new, "apart": held.apart}
        plan = self.c.probe(held.java, on, index.rest, weight, frame.plan, **how)
        keys = [self.c.named(k, value) for k, value in zip(index.keys, on, strict=True)]
        rest = [self.c.attr(a) for a in (index.rest if weight is None else (*index.rest, weight))]
        plan = self.c.project([*frame.columns, *keys, *rest], plan)
        return Frame(self.c, plan, index.rel.attrs, weight, unit=weight is None)

    def _or_nothing(self, held: Held, on: list[Any], columns: tuple[Attr, ...], weight: Attr | None, plan: Any) -> Any:
        """Each row with what an index had under its key before the run, or with NULLs."""
        how = {"null_safe": True, "new": False, "outer": True, "apart": held.apart}
        return self.c.probe(held.java, on, columns, weight, plan, **how)

    def _missing(self, m: Missing) -> Frame:
        """Where an index has a key, the weight of a row of it is found."""
        frame, weight = self.compile(m.input), self.c.weight()
        on = [self.c.attr(a) for a in m.index.keys]
        plan = self._or_nothing(self._held(m.index), on, (), weight, frame.plan)
        none = self.c.filter(f"isnull({name_of(weight)})", plan)
        return frame.over(self.c.project(frame.columns, none))

    def _keys(self, k: Keys) -> Frame:
        """Distinct keys, in columns that belong to nobody else."""
        made = tuple(self._key(a, i) for i, a in enumerate(k.on[0]))
        frames = [self.compile(member) for member in k.members]
        plans = []
        for frame, on in zip(frames, k.on, strict=True):
            columns = [self.c.named(key, self.c.attr(a)) for key, a in zip(made, on, strict=True)]
            plans.append(self.c.project(columns, frame.plan))
        plan = plans[0] if len(plans) == 1 else self.c.union(plans)
        names = [self.c.attr(a) for a in made]
        return Frame(self.c, self.c.aggregate(names, names, plan), made, exact=True)

    def _key(self, like: Attr, place: int) -> Attr:
        return self.c.twin(like, f"key{place}")

    def _restrict(self, r: Restrict) -> Frame:
        frame, keys = self.compile(r.input), self.compile(r.keys)
        pairs = zip(r.on, keys.attrs, strict=True)
        on = [self.c.equal(self.c.attr(a), self.c.attr(k), null_safe=True) for a, k in pairs]
        return frame.over(self.c.join(frame.plan, keys.plan, "left semi", self.c.all_of(on)))

    def _meeting(self, m: Meeting) -> Frame:
        frame, other = self.compile(m.input), self.compile(m.other)
        columns = self.c.project([self.c.attr(a) for a in other.attrs], other.plan)
        condition = self.expr(m.condition) if m.condition is not None else None
        return frame.over(self.c.join(frame.plan, columns, "left semi", condition))

    # --- aggregates

    def _partials(self, p: Partials) -> Frame:
        frame = self.compile(p.input)
        if any(call.merging is not Merging.ALWAYS for call in p.calls):
            frame = frame.rows()
        elif any(call.function != "count" for call in p.calls):
            frame = frame.units()
        weight = None if frame.weight is None else frame.w
        columns, names = aggregates.arguments(p.calls)
        arguments = [self._argument(*column) for column in columns]
        plan = self.c.project([*frame.columns, *arguments], frame.plan) if arguments else frame.plan
        results = [self.c.attr(k) for k in p.keys]
        results.append(self.c.named(COUNTED, self.c.total(frame.weight)))
        for call in p.calls:
            results += self._buffers(call, names[call.attr.id], weight)
        plan = self.c.aggregate([self.c.attr(k) for k in p.keys], results, plan)
        if weight is not None and p.keys and not p.change:
            plan = self.c.filter(f"{name_of(COUNTED)} > 0L", plan)
        return Frame(self.c, plan, p.attrs, consolidated=True, exact=True)

    def _argument(self, attr: Attr, e: Expr, chosen: Expr | None) -> Any:
        value = self.expr(e)
        return self.c.named(attr, value if chosen is None else self.c.only_if(self.expr(chosen), value, e.type))

    def _buffers(self, call: Call, arguments: list[str], weight: str | None) -> list[Any]:
        attrs = [b.attr for b in call.buffers]
        if call.merging is Merging.NEVER:
            return [self.c.named(attrs[0], self._whole(call))]
        texts = aggregates.computed(call, arguments, weight)
        return [self.c.named(a, text) for a, text in zip(attrs, texts, strict=True)]

    def _whole(self, call: Call) -> Any:
        """The call as Spark has it; one that Headrace wrote itself is SQL over unique names."""
        if call.handle is not None:
            return call.handle
        names = ", ".join(name_of(Attr(i, "", "")) for e in call.args for i in e.refs)
        return self.c.sql(f"{call.function}({names})")

    def _accumulate(self, a: Accumulate | AccumulateFound) -> Frame:
        """Old and new rows of each touched group."""
        c = self.c
        keys = [c.attr(k) for k in a.keys]
        values = [COUNTED, *(b.attr for call in a.calls for b in call.buffers)]
        before, after, sums, out = ({v: c.twin(v, t) for v in values} for t in ("old", "new", "sum", "out"))
        plan = self._gathered(a, before, after) if isinstance(a, Accumulate) else self._found_old(a, before, after)
        merged = [self._group_size(after[COUNTED])]
        for call in a.calls:
            names = [[name_of(attrs[b.attr]) for b in call.buffers] for attrs in (before, after)]
            merged += aggregates.merged(call, *names)
        news = [c.named(sums[v], m) for v, m in zip(values, merged, strict=True)]
        olds = [c.attr(before[v]) for v in values]
        plan = c.project([*keys, *olds, *news], plan)
        weight, shown = c.weight(), Attr("shown", "shown", "boolean")
        had = f"isnotnull({name_of(before[COUNTED])})"
        has = f"{name_of(sums[COUNTED])} > 0" if a.keys else "true"
        rows = [
            [*keys, *olds, c.sql("-1L"), c.sql(had)],
            [*keys, *(c.attr(sums[v]) for v in values), c.sql("1L"), c.sql(has)],
        ]
        attrs = [*(c.attr(out[v]) for v in values), c.attr(weight), c.attr(shown)]
        made = [c.twin(k, "out") for k in a.keys]
        plan = c.expand(rows, [*(c.attr(k) for k in made), *attrs], plan)
        plan = c.filter(name_of(shown), plan)
        columns = [c.named(k, c.attr(m)) for k, m in zip(a.keys, made, strict=True)]
        columns += [c.named(v, c.attr(out[v])) for v in values]
        plan = c.project([*columns, c.attr(weight)], plan)
        return Frame(c, plan, (*a.keys, *values), weight, exact=True)

    def _gathered(self, a: Accumulate, before: dict[Attr, Attr], after: dict[Attr, Attr]) -> Any:
        """Buffers of the state and of the change for each group: one pass over both. Of those that add, the new ones
        are the sum already."""
        c = self.c
        old, change = self.compile(a.state).rows(), self.compile(a.change)
        keys, side = [c.attr(k) for k in a.keys], Attr("side", "side", "int")
        both = [
            c.project([*keys, *(c.attr(v) for v in before), c.named(side, str(number))], frame.plan)
            for number, frame in enumerate((old, change))
        ]
        picked = [c.named(before[v], _of_side(side, 0, v)) for v in before]
        for v in before:
            # A sum of decimals keeps their scale, where + would give up a digit of it for one before the point.
            new = f"cast(sum({name_of(v)}) as {v.type})" if v in _added(a.calls) else _of_side(side, 1, v)
            picked.append(c.named(after[v], new))
        return c.aggregate(keys, [*keys, *picked], c.union(both))

    def _found_old(self, a: AccumulateFound, before: dict[Attr, Attr], after: dict[Attr, Attr]) -> Any:
        """The same, the state's row looked up for each row of the change."""
        c = self.c
        change, held = self.compile(a.change), self._held(a.index)
        keys = [c.attr(k) for k in a.keys]
        came = {v: c.twin(v, "came") for v in before}
        plan = c.project([*keys, *(c.named(came[v], c.attr(v)) for v in before)], change.plan)
        on = [c.attr(k) for k in a.index.keys]
        plan = self._or_nothing(held, on, a.index.rest, None, plan)
        plan = c.project(
            [*keys, *(c.attr(x) for x in came.values()), *(c.named(before[v], c.attr(v)) for v in before)], plan
        )
        added = _added(a.calls)
        news = [_plus(before[v], came[v]) if v in added else name_of(came[v]) for v in before]
        made = [c.named(after[v], new) for v, new in zip(before, news, strict=True)]
        return c.project([*keys, *(c.attr(x) for x in before.values()), *made], plan)

    def _group_size(self, counted: Attr) -> str:
        size = f"coalesce({name_of(counted)}, 0L)"
        return f"if({size} < 0L, raise_error('Headrace: a group has fewer than no rows'), {size})"

    def _finish(self, f: Finish) -> Frame:
        frame = self.compile(f.input)
        bound, values = [], []
        for call in f.calls:
            slots, value = aggregates.finished(self.c, call)
            bound += slots
            values.append(self.c.named(call.attr, value))
        plan = self.c.project([*frame.columns, *bound], frame.plan) if bound else frame.plan
        plan = self.c.project([*(self.c.attr(k) for k in f.keys), *values, *self._weight(frame)], plan)
        return replace(frame, plan=plan, attrs=f.attrs, consolidated=False, exact=True)

    # --- operators on plain rows

    def _window(self, w: Window) -> Frame:
        """Spark's window over rows sorted by all columns behind its own order, so that ties are settled."""
        frame = self.compile(w.input).rows().select(w.input.attrs)
        partition = [self.c.attr(a) for a in w.partition]
        keys = self.c.seq([self.c.sort_key(p) for p in partition]).appendedAll(self.c.window_order(w.handle))
        plan = self.c.repartition(partition, frame.plan)
        plan = self.c.sort(keys.appendedAll(self.c.seq(self._ties(frame.attrs))), plan, everywhere=False)
        plan = self.c.over(w.handle, [plan])
        return self._named(Frame(self.c, plan, w.attrs))

    def _limit(self, limit: Limit) -> Frame:
        frame = self.compile(limit.input).rows()
        plan = self.c.sort(self.c.seq(self._order(limit)), frame.plan, everywhere=True)
        return frame.over(self.c.limit(limit.count, limit.skip, plan))

    def _head(self, h: Head) -> Frame:
        """Of the rows of both sides, each once with its copies in ``kept`` (had) and in both (now), those that can be
        first: those that are kept, and as many others. In their order the copies before each tell how many of it are
        among the first."""
        c, keys = self.c, [self.c.attr(a) for a in h.attrs]
        part, whole, had, now, copies, before, after, every = (Attr(n, n, "bigint") for n in _COPIES)
        both: list[Any] = []
        for frame in (self.compile(i).with_weight() for i in h.inputs):
            weight = c.attr(frame.weight)  # type: ignore[arg-type]
            own = c.zero if both else weight
            both.append(c.project([*keys, c.named(part, own), c.named(whole, weight)], frame.plan))
        sums = [c.named(had, c.total(part)), c.named(now, c.total(whole))]
        plan = c.aggregate(keys, [*keys, *sums], c.union(both))
        order = self._order(h)
        kept = c.sort_key(c.sql(f"{name_of(had)} > 0L"), descending=True)
        plan = c.filter(f"{name_of(had)} > 0L OR {name_of(now)} > 0L", plan)
        plan = c.limit(2 * h.count, 0, c.sort(c.seq([kept, *order]), plan, everywhere=True))
        # A column in which all rows are equal: of a window without one Spark warns each time.
        new = [c.named(copies, f"greatest({name_of(now)}, 0L)"), c.named(every, f"{name_of(had)} * 0L")]
        plan = c.project([*keys, c.attr(had), *new], plan)
        plan = c.running({before: had, after: copies}, every, c.seq(order), plan)
        weight = c.weight()
        made = c.named(weight, _moved(h.count, *(name_of(a) for a in (had, copies, before, after))))
        plan = c.filter(c.not_zero(weight), c.project([*keys, made], plan))
        return Frame(c, plan, h.attrs, weight, unit=False, consolidated=True, exact=True)

    def _shortfall(self, s: Shortfall) -> Frame:
        frame, net = self.compile(s.input), Attr("net", "net", "bigint")
        plan = self.c.aggregate([], [self.c.named(net, self.c.total(frame.weight))], frame.plan)
        plan = self.c.filter(f"{name_of(net)} < 0L", plan)
        return Frame(self.c, self.c.project([self.c.named(LACKING, f"-{name_of(net)}")], plan), s.attrs, exact=True)

    def _order(self, first: Limit | Head) -> list[Any]:
        """The sort keys by which first rows are taken: those that are given, and then all columns."""
        keys = [self.c.sort_key(self.expr(k.expr), k.descending, k.nulls_first) for k in first.order]
        return [*keys, *self._ties(first.ties)]

    def _ties(self, attrs: tuple[Attr, ...]) -> list[Any]:
        """Columns in order, ascending, NULLs first; what cannot be ordered, by its text."""
        keys = []
        for a in attrs:
            orderable = not any(t in a.type for t in ("map", "variant", "interval"))
            e = self.c.attr(a) if orderable else self.c.sql(f"cast({name_of(a)} as string)")
            keys.append(self.c.sort_key(e))
        return keys


def _moved(count: int, had: str, copies: str, before: str, after: str) -> str:
    """How many copies of a row come among the first, less those that were. ``before`` and ``after`` are the copies that
    there were, and that there are, up to this row and with it."""
    first = f"greatest(least({copies}, {count}L - ({after} - {copies})), 0L)"
    return f"if({before} - {had} < {count}L, {first}, 0L) - {had}"


def _of_side(side: Attr, number: int, value: Attr) -> str:
    """The value in the one row of a side, NULL without one."""
    return f"first(if({name_of(side)} = {number}, {name_of(value)}, null), true)"


def _added(calls: tuple[Call, ...]) -> list[Attr]:
    """The values that merge by adding."""
    return [COUNTED, *(b.attr for call in calls for b in call.buffers if b.merge == "add")]


def _plus(old: Attr, new: Attr) -> str:
    """The sum of two values, of which NULL is nothing."""
    a, b = name_of(old), name_of(new)
    return f"if(isnull({a}), {b}, if(isnull({b}), {a}, cast({a} + {b} as {old.type})))"
