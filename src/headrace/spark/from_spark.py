"""From Spark's optimised logical plan to our operators.

Spark parses, resolves and optimises; here its plan is walked once and turned into ``ir``. Two subplans that
are the same up to the names of their attributes become one, under a projection that renames. What is not
known becomes one opaque operator, never a guess.
"""

from __future__ import annotations

from typing import Any

from headrace.errors import QueryError
from headrace.ir.expr import Attr, Column, Equal, Expr, ref
from headrace.ir.narrow import narrow
from headrace.ir.reduce import reduce_groups
from headrace.ir.rel import (
    Aggregate,
    Constant,
    EvalPython,
    Expand,
    Filter,
    Generate,
    Join,
    Node,
    Opaque,
    PairJoin,
    Project,
    Source,
    Union,
    Window,
    prune,
)
from headrace.ir.unify import unify_aggregates
from headrace.spark.catalyst import Catalyst, items
from headrace.spark.exact import exact_plan
from headrace.spark.expressions import Expressions, cut
from headrace.spark.limits import read_limit
from headrace.spark.stand_in import FIELD_KEY, SOURCE_KEY, tag
from headrace.spark.subqueries import Subqueries, through_pruning

_TRANSPARENT = {
    "Sort": "order is not part of a bag of rows",
    "WindowGroupLimit": "Spark infers it again from the filter above",
    "LocalLimit": "only bounds work below a global limit",
    "ReturnAnswer": "",
    "Repartition": "",
    "RepartitionByExpression": "",
    "RebalancePartitions": "",
    "ResolvedHint": "",
    "SubqueryAlias": "",
}
_PYTHON = ("ArrowEvalPython", "BatchEvalPython")
_CONSTANTS = ("LocalRelation", "OneRowRelation", "Range", "OneRowRelation$")
_KINDS = {
    "LeftOuter": "left outer",
    "RightOuter": "right outer",
    "FullOuter": "full outer",
    "LeftSemi": "left semi",
    "LeftAnti": "left anti",
    "LeftSingle": "left single",
}


class Reader:
    """Reads one plan."""

    def __init__(self, catalyst: Catalyst) -> None:
        self.catalyst = catalyst
        self._planning = catalyst.jvm.org.apache.spark.sql.catalyst.planning
        self._exprs = Expressions(catalyst)
        self._subqueries = Subqueries(self._exprs, self.node)
        self._sources: dict[str, Source] = {}
        self._seen: dict[int, list[tuple[Any, Node, list[Attr]]]] = {}

    def read(self, plan: Any) -> Node:
        """The query with exactly the columns of the plan, in its order, over sources with only what it uses, with
        aggregates of only what it asks for, and with what is grouped twice grouped once."""
        return unify_aggregates(reduce_groups(narrow(self._whole(plan))))

    def _whole(self, plan: Any) -> Node:
        node = self.node(plan)
        wanted = self._exprs.output(plan)
        if list(node.attrs) == wanted:
            return node
        columns: dict[Attr, Column] = {}
        for attribute, attr in zip(items(plan.output()), wanted, strict=True):
            shown = attr if attr not in columns else self._exprs.new_attr(attr.name, attribute)
            columns[shown] = Column(shown, ref(attr))
        return Project(node, tuple(columns.values()))

    # --- operators

    def node(self, plan: Any) -> Node:
        """An operator and all below it; one that was read before is shared."""
        if plan.children().size() == 0:
            return self._leaf(plan)
        digest = plan.semanticHash()
        for known, node, known_output in self._seen.get(digest, []):
            if known.sameResult(plan):
                output = self._exprs.output(plan)
                if [a.id for a in output] == [a.id for a in known_output]:
                    return node
                return Project(node, tuple(Column(a, ref(b)) for a, b in zip(output, known_output, strict=True)))
        node = self._operator(plan)
        self._seen.setdefault(digest, []).append((plan, node, self._exprs.output(plan)))
        return node

    def _leaf(self, plan: Any) -> Node:
        kind = plan.getClass().getSimpleName()
        output = items(plan.output())
        # A relation that Spark found to be empty has the columns, and their tags, of what it was.
        name = tag(output[0], SOURCE_KEY) if output and kind == "LogicalRDD" else None
        if name is not None:
            attrs = tuple(self._exprs.attr(a) for a in output)
            first = self._sources.get(name)
            if first is None:
                first = self._sources[name] = Source(name, attrs, tuple(str(tag(a, FIELD_KEY)) for a in output))
            if first.attrs == attrs:
                return first
            return Project(first, tuple(Column(a, ref(b)) for a, b in zip(attrs, first.attrs, strict=True)))
        if kind in _CONSTANTS or (kind == "LogicalRDD" and not output):
            return Constant(tuple(map(self._exprs.attr, output)), self._exprs.text(plan), plan, exact_plan(plan))
        raise QueryError(
            "NOT_A_SOURCE",
            f"the query reads {cut(plan.toString())}, which is not a registered source",
            at=cut(plan.toString()),
            hint="register it with Warehouse.source(name, …) and use that name in the query",
        )

    def _operator(self, plan: Any) -> Node:
        kind = plan.getClass().getSimpleName()
        if kind in _TRANSPARENT:
            return self.node(plan.child())
        if kind in ("GlobalLimit", "Offset"):
            return read_limit(plan, self._exprs, self.node)
        if kind == "Project":
            return self._project(plan)
        if kind == "Filter":
            return self._filter(plan)
        if kind == "Join":
            return self._join(plan)
        if kind == "Aggregate":
            return self._aggregate(plan)
        if plan.subqueries().size() > 0:
            raise QueryError(
                "SUBQUERY_PLACE",
                f"a subquery inside {kind} cannot be maintained",
                at=cut(plan.toString()),
                hint="join with the subquery instead, or set REFRESH POLICY FULL",
            )
        if kind == "Union":
            return self._union(plan)
        if kind == "Expand":
            return self._expand(plan)
        if kind == "Generate":
            return Generate(self._aligned(plan.child()), *self._as_it_is(plan))
        if kind in _PYTHON:
            return EvalPython(self._aligned(plan.child()), *self._as_it_is(plan))
        if kind == "Window":
            return self._window(plan)
        children = tuple(self._aligned(c) for c in items(plan.children()))
        return Opaque(children, *self._as_it_is(plan))

    def _columns(self, plan: Any) -> tuple[Attr, ...]:
        """A plan's columns; one that occurs twice is one."""
        return tuple(dict.fromkeys(self._exprs.output(plan)))

    def _aligned(self, plan: Any) -> Node:
        """A child with its columns in Catalyst's order, for operators that are run as Catalyst has them."""
        node = self.node(plan)
        wanted = self._columns(plan)
        return node if node.attrs == wanted else prune(node, wanted)

    def _as_it_is(self, plan: Any) -> tuple[tuple[Attr, ...], str, Any, str]:
        """An operator that is run as Catalyst has it: its columns, and what names it."""
        return self._columns(plan), self._head(plan), plan, exact_plan(plan)

    def _head(self, plan: Any) -> str:
        return self._exprs.text(plan).splitlines()[0].strip()

    def _project(self, plan: Any) -> Node:
        child, exprs = self._subqueries.joined(self.node(plan.child()), items(plan.projectList()))
        return Project(child, self._exprs.named(exprs))

    def _filter(self, plan: Any) -> Node:
        below = self.node(plan.child())
        child, exprs = self._subqueries.joined(below, [plan.condition()])
        conjuncts = tuple(self._exprs.expr(c) for c in self._exprs.conjuncts(exprs[0]))
        if isinstance(child, Join):
            node: Node = self._join_with(child, conjuncts)
        else:
            node = Filter(child, conjuncts)
        return node if child is below else prune(node, below.attrs)

    def _join_with(self, join: Join, conjuncts: tuple[Expr, ...]) -> Node:
        return Join(join.members, join.equals, join.residual + conjuncts)

    def _join(self, plan: Any) -> Node:
        kind = plan.joinType().toString()
        left, right = self.node(plan.left()), self.node(plan.right())
        condition = plan.condition().get() if plan.condition().isDefined() else None
        kept = left.attrs + right.attrs
        if condition is not None:
            left, changed = self._subqueries.joined(left, [condition])
            condition = changed[0]
        if kind in ("Inner", "Cross"):
            inner = self._inner(left, right, condition)
            return inner if len(inner.attrs) == len(kept) else prune(inner, kept)
        join = plan
        if condition is not None:
            join = self.catalyst.java(self.catalyst.join(plan.left(), plan.right(), plan.joinType(), condition))
        found = self._planning.ExtractEquiJoinKeys.unapply(join)
        left_keys, right_keys, rest = [], [], condition
        if found.isDefined():
            parts = found.get()
            left_keys, right_keys = items(parts._2()), items(parts._3())
            rest = parts._4().get() if parts._4().isDefined() else None
        left, on_left = self._with_keys(left, left_keys)
        right, on_right = self._with_keys(right, right_keys)
        whole = self._exprs.expr(condition) if condition is not None else None
        exists = None
        if kind.startswith("ExistenceJoin"):
            exists, kind = self._exprs.attr(plan.joinType().exists()), "Existence"
        name = _KINDS.get(kind, "existence")
        keys = tuple(zip(on_left, on_right, strict=True))
        if name == "right outer":
            left, right, name = right, left, "left outer"
            keys = tuple((r, k) for k, r in keys)
        node = PairJoin(left, right, name, keys, bool(keys) and rest is None, whole, exists)
        wanted = self._columns(plan)
        return node if set(node.attrs) == set(wanted) else prune(node, wanted)

    def _inner(self, left: Node, right: Node, condition: Any | None) -> Join:
        members: list[Any] = []
        equals: list[Equal] = []
        residual: list[Expr] = []
        for side in (left, right):
            inner = through_pruning(side)
            if isinstance(inner, Join):
                members += inner.members
                equals += inner.equals
                residual += inner.residual
            else:
                members.append(side)
        ids = [a.id for m in members for a in m.attrs]
        if len(ids) != len(set(ids)):
            members, equals, residual = [left, right], [], []
        for c in self._exprs.conjuncts(condition) if condition is not None else []:
            kind = c.getClass().getSimpleName()
            if kind in ("EqualTo", "EqualNullSafe"):
                one, other = self._exprs.expr(c.left()), self._exprs.expr(c.right())
                if one.refs and other.refs and not one.refs & other.refs:
                    equals.append(Equal(one, other, kind == "EqualNullSafe"))
                    continue
            residual.append(self._exprs.expr(c))
        return Join(tuple(members), tuple(equals), tuple(residual))

    def _with_keys(self, side: Node, keys: list[Any]) -> tuple[Node, list[Attr]]:
        """The side with every key a column of it."""
        added: list[Column] = []
        attrs = []
        for key in keys:
            e = self._exprs.expr(key)
            if e.kind == "ref":
                attrs.append(self._exprs.attr(key))
            else:
                added.append(Column(self._exprs.new_attr("key", key), e))
                attrs.append(added[-1].attr)
        if not added:
            return side, attrs
        return Project(side, tuple(Column(a, ref(a)) for a in side.attrs) + tuple(added)), attrs

    def _aggregate(self, plan: Any) -> Node:
        below = self.node(plan.child())
        parts = self._planning.PhysicalAggregation.unapply(plan).get()
        grouping, calls, results = items(parts._1()), items(parts._2()), items(parts._3())
        # A subquery in a key or an argument joins below the aggregate, one in its results above it.
        below, inner = self._subqueries.joined(below, [*grouping, *calls])
        grouping, calls = inner[: len(grouping)], inner[len(grouping) :]
        keys = tuple(self._exprs.attr(g.toAttribute()) for g in grouping)
        computed = [g for g in grouping if g.getClass().getSimpleName() == "Alias"]
        if computed:
            have = {a.id for a in below.attrs}
            extra = tuple(c for c in self._exprs.named(computed) if c.attr.id not in have)
            below = Project(below, tuple(Column(a, ref(a)) for a in below.attrs) + extra)
        keys = tuple(dict.fromkeys(keys))
        node = Aggregate(below, keys, tuple(self._exprs.call(c) for c in calls))
        above, results = self._subqueries.joined(node, results)
        return Project(above, self._exprs.named(results))

    def _union(self, plan: Any) -> Node:
        children = items(plan.children())
        orders = tuple(tuple(self._exprs.output(c)) for c in children)
        return Union(tuple(self.node(c) for c in children), orders, tuple(self._exprs.output(plan)))

    def _expand(self, plan: Any) -> Node:
        rows = tuple(tuple(self._exprs.expr(e) for e in items(r)) for r in items(plan.projections()))
        return Expand(self.node(plan.child()), rows, self._columns(plan))

    def _window(self, plan: Any) -> Node:
        child = self._aligned(plan.child())
        partition = [self._exprs.expr(e) for e in items(plan.partitionSpec())]
        have = {a.id: a for a in child.attrs}
        if not all(e.kind == "ref" for e in partition):
            return Opaque((child,), *self._as_it_is(plan))
        keys = tuple(dict.fromkeys(have[next(iter(e.refs))] for e in partition))
        new = tuple(self._exprs.attr(e.toAttribute()) for e in items(plan.windowExpressions()))
        return Window(child, keys, new, self._head(plan).removeprefix("Window "), plan, exact_plan(plan))
