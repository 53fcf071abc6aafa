"""From Spark's optimised logical plan to our operators.

Spark parses, resolves and optimises; here its plan is walked once and turned into ``ir``. An expression
stays the Catalyst object it is, with its text for equality. Two subplans that are the same up to the
names of their attributes become one, under a projection that renames. Scalar subqueries become joins
with a one-row relation. What is not known becomes one opaque operator, never a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from headrace.errors import QueryError
from headrace.ir.aggregate import Call, decimal_of
from headrace.ir.expr import Attr, Column, Equal, Expr, SortKey, ref
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
    Limit,
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
from headrace.spark.exact import exact, exact_plan

_SAFE_DIGITS = 28  # a sum has ten digits more, up to 38: 10^10 rows cannot overflow it
SOURCE_KEY, FIELD_KEY = "headrace.source", "headrace.field"
_TOO_MANY = "SCALAR_SUBQUERY_TOO_MANY_ROWS"

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
    """Reads one plan. Attribute ids number attributes in the order in which they are met."""

    def __init__(self, catalyst: Catalyst) -> None:
        self.catalyst = catalyst
        self._planning = catalyst.jvm.org.apache.spark.sql.catalyst.planning
        self._ids: dict[int, str] = {}
        self._attrs: dict[int, Attr] = {}
        self._sources: dict[str, Source] = {}
        self._seen: dict[int, list[tuple[Any, Node, list[Attr]]]] = {}
        self._made = 0
        self.ansi = catalyst.spark.conf.get("spark.sql.ansi.enabled") == "true"

    def read(self, plan: Any) -> Node:
        """The query with exactly the columns of the plan, in its order, over sources with only what it uses, with
        aggregates of only what it asks for, and with what is grouped twice grouped once."""
        return unify_aggregates(reduce_groups(narrow(self._whole(plan))))

    def _whole(self, plan: Any) -> Node:
        node = self.node(plan)
        wanted = self.output(plan)
        if list(node.attrs) == wanted:
            return node
        columns: dict[Attr, Column] = {}
        for attribute, attr in zip(items(plan.output()), wanted, strict=True):
            shown = attr if attr not in columns else self.new_attr(attr.name, attribute)
            columns[shown] = Column(shown, ref(attr))
        return Project(node, tuple(columns.values()))

    # --- attributes and expressions

    def attr(self, attribute: Any) -> Attr:
        """Our attribute for a Catalyst one."""
        number = attribute.exprId().id()
        known = self._attrs.get(number)
        if known is not None:
            return known
        if number not in self._ids:
            self._ids[number] = str(len(self._ids))
        name = re.sub(r"#\d+L?", "", attribute.name())
        found = Attr(self._ids[number], name, _ddl(attribute.dataType()), attribute.nullable())
        self.catalyst.bind(found, attribute)
        self._attrs[number] = found
        return found

    def output(self, plan: Any) -> list[Attr]:
        return [self.attr(a) for a in items(plan.output())]

    def expr(self, expression: Any) -> Expr:
        """An expression as a value; a bare attribute becomes a reference."""
        kind = expression.getClass().getSimpleName()
        if kind == "AttributeReference":
            return ref(self.attr(expression))
        for attribute in items(expression.references().toSeq()):
            self.attr(attribute)
        refs = frozenset(self._ids[a.exprId().id()] for a in items(expression.references().toSeq()))
        text = self.text(expression)
        return Expr(text, refs, _ddl(expression.dataType()), "engine", expression, exact(expression))

    def text(self, thing: Any) -> str:
        """Catalyst's text with our attribute numbers, and without the marks it puts on bigints."""
        return re.sub(r"#(\d+)L?", lambda m: "#" + self._ids.get(int(m[1]), "x"), thing.toString())

    def conjuncts(self, expression: Any) -> list[Any]:
        if expression.getClass().getSimpleName() == "And":
            return self.conjuncts(expression.left()) + self.conjuncts(expression.right())
        return [expression]

    def new_attr(self, name: str, expression: Any) -> Attr:
        """An attribute that the plan does not have, for a value that we give a column."""
        self._made += 1
        return Attr(f"n{self._made}", name, _ddl(expression.dataType()))

    # --- operators

    def node(self, plan: Any) -> Node:
        """An operator and all below it; one that was read before is shared."""
        if plan.children().size() == 0:
            return self._leaf(plan)
        digest = plan.semanticHash()
        for known, node, known_output in self._seen.get(digest, []):
            if known.sameResult(plan):
                output = self.output(plan)
                if [a.id for a in output] == [a.id for a in known_output]:
                    return node
                return Project(node, tuple(Column(a, ref(b)) for a, b in zip(output, known_output, strict=True)))
        node = self._operator(plan)
        self._seen.setdefault(digest, []).append((plan, node, self.output(plan)))
        return node

    def _leaf(self, plan: Any) -> Node:
        kind = plan.getClass().getSimpleName()
        output = items(plan.output())
        # A relation that Spark found to be empty has the columns, and their tags, of what it was.
        name = tag(output[0], SOURCE_KEY) if output and kind == "LogicalRDD" else None
        if name is not None:
            attrs = tuple(self.attr(a) for a in output)
            first = self._sources.get(name)
            if first is None:
                first = self._sources[name] = Source(name, attrs, tuple(str(tag(a, FIELD_KEY)) for a in output))
            if first.attrs == attrs:
                return first
            return Project(first, tuple(Column(a, ref(b)) for a, b in zip(attrs, first.attrs, strict=True)))
        if kind in _CONSTANTS or (kind == "LogicalRDD" and not output):
            return Constant(tuple(map(self.attr, output)), self.text(plan), plan, exact_plan(plan))
        raise QueryError(
            "NOT_A_SOURCE",
            f"the query reads {_cut(plan.toString())}, which is not a registered source",
            at=_cut(plan.toString()),
            hint="register it with Warehouse.source(name, …) and use that name in the query",
        )

    def _operator(self, plan: Any) -> Node:
        kind = plan.getClass().getSimpleName()
        if kind in _TRANSPARENT:
            return self.node(plan.child())
        if kind in ("GlobalLimit", "Offset"):
            return self._limit(plan)
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
                at=_cut(plan.toString()),
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
        return tuple(dict.fromkeys(self.output(plan)))

    def _aligned(self, plan: Any) -> Node:
        """A child with its columns in Catalyst's order, for operators that are run as Catalyst has them."""
        node = self.node(plan)
        wanted = self._columns(plan)
        return node if node.attrs == wanted else prune(node, wanted)

    def _as_it_is(self, plan: Any) -> tuple[tuple[Attr, ...], str, Any, str]:
        """An operator that is run as Catalyst has it: its columns, and what names it."""
        return self._columns(plan), self._head(plan), plan, exact_plan(plan)

    def _head(self, plan: Any) -> str:
        return self.text(plan).splitlines()[0].strip()

    def _project(self, plan: Any) -> Node:
        child, exprs = self._without_subqueries(self.node(plan.child()), items(plan.projectList()))
        return Project(child, self._named(exprs))

    def _named(self, exprs: Iterable[Any]) -> tuple[Column, ...]:
        columns = []
        for e in exprs:
            if e.getClass().getSimpleName() == "Alias":
                columns.append(Column(self.attr(e.toAttribute()), self.expr(e.child())))
            else:
                columns.append(Column(self.attr(e), ref(self.attr(e))))
        return tuple(dict.fromkeys(columns))

    def _filter(self, plan: Any) -> Node:
        below = self.node(plan.child())
        child, exprs = self._without_subqueries(below, [plan.condition()])
        conjuncts = tuple(self.expr(c) for c in self.conjuncts(exprs[0]))
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
            left, changed = self._without_subqueries(left, [condition])
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
        whole = self.expr(condition) if condition is not None else None
        exists = None
        if kind.startswith("ExistenceJoin"):
            exists, kind = self.attr(plan.joinType().exists()), "Existence"
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
            inner = _through_pruning(side)
            if isinstance(inner, Join):
                members += inner.members
                equals += inner.equals
                residual += inner.residual
            else:
                members.append(side)
        ids = [a.id for m in members for a in m.attrs]
        if len(ids) != len(set(ids)):
            members, equals, residual = [left, right], [], []
        for c in self.conjuncts(condition) if condition is not None else []:
            kind = c.getClass().getSimpleName()
            if kind in ("EqualTo", "EqualNullSafe"):
                one, other = self.expr(c.left()), self.expr(c.right())
                if one.refs and other.refs and not one.refs & other.refs:
                    equals.append(Equal(one, other, kind == "EqualNullSafe"))
                    continue
            residual.append(self.expr(c))
        return Join(tuple(members), tuple(equals), tuple(residual))

    def _with_keys(self, side: Node, keys: list[Any]) -> tuple[Node, list[Attr]]:
        """The side with every key a column of it."""
        added: list[Column] = []
        attrs = []
        for key in keys:
            e = self.expr(key)
            if e.kind == "ref":
                attrs.append(self.attr(key))
            else:
                added.append(Column(self.new_attr("key", key), e))
                attrs.append(added[-1].attr)
        if not added:
            return side, attrs
        return Project(side, tuple(Column(a, ref(a)) for a in side.attrs) + tuple(added)), attrs

    def _aggregate(self, plan: Any) -> Node:
        below = self.node(plan.child())
        parts = self._planning.PhysicalAggregation.unapply(plan).get()
        grouping, calls, results = items(parts._1()), items(parts._2()), items(parts._3())
        # A subquery in a key or an argument joins below the aggregate, one in its results above it.
        below, inner = self._without_subqueries(below, [*grouping, *calls])
        grouping, calls = inner[: len(grouping)], inner[len(grouping) :]
        keys = tuple(self.attr(g.toAttribute()) for g in grouping)
        computed = [g for g in grouping if g.getClass().getSimpleName() == "Alias"]
        if computed:
            have = {a.id for a in below.attrs}
            extra = tuple(c for c in self._named(computed) if c.attr.id not in have)
            below = Project(below, tuple(Column(a, ref(a)) for a in below.attrs) + extra)
        keys = tuple(dict.fromkeys(keys))
        node = Aggregate(below, keys, tuple(self._call(c) for c in calls))
        above, results = self._without_subqueries(node, results)
        return Project(above, self._named(results))

    def _call(self, call: Any) -> Call:
        kind = call.getClass().getSimpleName()
        attr = self.attr(call.resultAttribute())
        if kind != "AggregateExpression":
            return Call(
                attr,
                kind,
                tuple(self.expr(c) for c in items(call.children())),
                text=self.text(call),
                handle=call,
            )
        function = call.aggregateFunction()
        args = tuple(self.expr(c) for c in items(function.children()))
        name = "try" if "try_" in function.toString() else function.prettyName()
        if name in ("sum", "avg") and not self.ansi and _may_overflow(args):
            name = f"overflowing {name}"
        chosen = self.expr(call.filter().get()) if call.filter().isDefined() else None
        text = re.sub(r"#\w+", "", self.text(call))
        return Call(attr, name, args, call.isDistinct(), chosen, text, call)

    def _union(self, plan: Any) -> Node:
        children = items(plan.children())
        orders = tuple(tuple(self.output(c)) for c in children)
        return Union(tuple(self.node(c) for c in children), orders, tuple(self.output(plan)))

    def _expand(self, plan: Any) -> Node:
        rows = tuple(tuple(self.expr(e) for e in items(r)) for r in items(plan.projections()))
        return Expand(self.node(plan.child()), rows, self._columns(plan))

    def _window(self, plan: Any) -> Node:
        child = self._aligned(plan.child())
        partition = [self.expr(e) for e in items(plan.partitionSpec())]
        have = {a.id: a for a in child.attrs}
        if not all(e.kind == "ref" for e in partition):
            return Opaque((child,), *self._as_it_is(plan))
        keys = tuple(dict.fromkeys(have[next(iter(e.refs))] for e in partition))
        new = tuple(self.attr(e.toAttribute()) for e in items(plan.windowExpressions()))
        return Window(child, keys, new, self._head(plan).removeprefix("Window "), plan, exact_plan(plan))

    def _limit(self, plan: Any) -> Node:
        """GlobalLimit, Offset, the local limits and the sort below them are one operator."""
        count: int | None = None
        skip = 0
        while True:
            kind = plan.getClass().getSimpleName()
            if kind == "GlobalLimit":
                amount = int(plan.limitExpr().eval(None))
                count = amount if count is None else min(count, amount)
            elif kind == "Offset" and skip == 0:
                skip = int(plan.offsetExpr().eval(None))
            elif kind != "LocalLimit":
                break
            if kind == "Offset" and plan.child().getClass().getSimpleName() == "GlobalLimit":
                below = self._limit(plan.child())
                return Limit(below, (), skip, count) if not isinstance(below, Limit) else _offset(below, skip, count)
            plan = plan.child()
        columns, below = self._sorted(plan)
        if below.getClass().getSimpleName() != "Sort":
            return Limit(self.node(plan), (), skip, count)
        keys = tuple(
            SortKey(
                self.expr(o.child()),
                "Descending" in o.direction().getClass().getSimpleName(),
                "NullsFirst" in o.nullOrdering().getClass().getSimpleName(),
            )
            for o in items(below.order())
        )
        node: Node = Limit(self.node(below.child()), keys, skip, count)
        for project in reversed(columns):
            node = Project(node, self._named(items(project.projectList())))
        return node

    def _sorted(self, plan: Any) -> tuple[list[Any], Any]:
        """The projections between a limit and its sort; a limit commutes with them."""
        columns: list[Any] = []
        start = plan
        while plan.getClass().getSimpleName() == "Project" and plan.subqueries().size() == 0:
            columns.append(plan)
            plan = plan.child()
        return (columns, plan) if plan.getClass().getSimpleName() == "Sort" else ([], start)

    # --- scalar subqueries

    def _without_subqueries(self, child: Node, exprs: list[Any]) -> tuple[Node, list[Any]]:
        """The child joined with the one-row relation of each scalar subquery, and expressions that read from it."""
        if not any("scalar-subquery" in e.toString() or "exists#" in e.toString() for e in exprs):
            return child, exprs
        scalars: dict[str, Node] = {}
        changed = [self._replace(e, scalars) for e in exprs]
        if not scalars:
            return child, exprs
        inner = _through_pruning(child)
        base = inner if isinstance(inner, Join) else Join((child,), (), ())
        return Join((*base.members, *scalars.values()), base.equals, base.residual), changed

    def _replace(self, e: Any, scalars: dict[str, Node]) -> Any:
        kind = e.getClass().getSimpleName()
        if kind == "ScalarSubquery":
            attr = self._scalar(e.plan(), scalars)
            return self.catalyst.java(self.catalyst.attr(attr))
        if kind in ("Exists", "InSubquery", "ListQuery", "LateralSubquery"):
            raise QueryError(
                "SUBQUERY_PLACE",
                f"the subquery {_cut(e.toString())} stands where it cannot be maintained",
                at=_cut(e.toString()),
                hint="write it as a join, or set REFRESH POLICY FULL",
            )
        children = items(e.children())
        new = [self._replace(c, scalars) for c in children]
        if all(a is b for a, b in zip(children, new, strict=True)):
            return e
        return e.withNewChildren(self.catalyst.java(self.catalyst.seq(new)))

    def _scalar(self, plan: Any, scalars: dict[str, Node]) -> Attr:
        """A relation of exactly one row and column: the subquery's value, NULL over nothing, Spark's error over two."""
        node = self.node(plan)
        value = self.output(plan)[0]
        self._made += 1
        attr = Attr(f"n{self._made}", value.name, value.type)
        self.catalyst.bind(attr, self.catalyst.java(self.catalyst.attr(value).newInstance()))
        self._ids[self.catalyst.java(self.catalyst.attr(attr).exprId().id())] = attr.id
        if not _one_row(node):
            several = Attr(f"n{self._made}.many", "many", "bigint")
            any_value = Call(
                Attr(f"n{self._made}.any", value.name, value.type),
                "any_value",
                (ref(value),),
                text=f"any_value({value})",
            )
            counted = Call(
                several,
                "count",
                (Expr("1", frozenset(), "int", "engine", self.catalyst.sql("1")),),
                text="count(1)",
            )
            node = Aggregate(node, (), (any_value, counted))
            text = f"the only one of {value.name}#{value.id}"
            checked = self.catalyst.checked(any_value.attr, several, _TOO_MANY)
            expression = Expr(text, frozenset({several.id, any_value.attr.id}), value.type, "engine", checked)
            node = Project(node, (Column(attr, expression),))
        else:
            node = Project(node, (Column(attr, ref(value)),))
        for known_attr, known in scalars.items():
            same = isinstance(known, Project) and known.input is node.input
            if same and known.columns[0].expr == node.columns[0].expr:  # type: ignore[attr-defined]
                return next(a for a in known.attrs if a.id == known_attr)
        scalars[attr.id] = node
        return attr


def _offset(below: Limit, skip: int, count: int | None) -> Node:
    left = None if below.count is None else max(below.count - skip, 0)
    amounts = [n for n in (left, count) if n is not None]
    return Limit(below.input, below.order, below.skip + skip, min(amounts) if amounts else None)


def _one_row(node: Node) -> bool:
    if isinstance(node, Project):
        return isinstance(node.input, Node) and _one_row(node.input)
    if isinstance(node, Constant):
        return "OneRowRelation" in node.text
    return isinstance(node, Aggregate) and not node.keys


def _through_pruning(node: Any) -> Any:
    """What is below projections that only drop columns."""
    while isinstance(node, Project) and node.pruning:
        node = node.input
    return node


def _ddl(kind: Any) -> str:
    """A type as text that Spark reads back. The name of a field may need quotes, which only the longer form has."""
    text = str(kind.catalogString())
    return str(kind.asNullable().sql()) if "struct<" in text else text


def tag(attribute: Any, key: str) -> str | None:
    """What a column of a stand-in says of itself: its own name may be one that the query gave it."""
    found = json.loads(attribute.metadata().json()).get(key)
    return str(found) if found is not None else None


def _may_overflow(args: tuple[Expr, ...]) -> bool:
    """Whether a sum may run out of digits. Without ANSI it is NULL then, and a merge could not bring it back."""
    digits = decimal_of(args[0].type) if args else None
    return digits is not None and digits[0] > _SAFE_DIGITS


def _cut(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= 160 else line[:159] + "…"
