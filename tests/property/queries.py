"""The strategy of random queries.

A query is a block (FROM, WHERE, one kind of SELECT), a set operation over two of them, or either over a
common table expression that is used twice. What stands in FROM is a table or another such relation, down to
a bounded depth and a bounded number of tables. The simplest form is always the first option.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from .expressions import (
    Pen,
    aggregate_call,
    all_of,
    any_of,
    comparable,
    computed,
    constant,
    match_on,
    of_kind,
    ordered,
    pairs,
    predicate,
    simple_predicate,
    total_order,
    value,
    window_call,
)
from .relations import Explode, Expr, From, Inline, Join, Relation, Scope, Select, SetOperation, Source, With
from .tables import DOMAIN, INTEGERS, NUMBERS, SUMMABLE, TABLES, Column, Kind, Table

DEPTH = 2
NARROW = 5
"""Columns of the input of a window: an order by all of them must stay readable."""

SET_OPERATORS = ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")
JOINS = ("JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN")


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Spark SQL over t1, t2, t3 and t4 that is valid and has one answer."""
    return _Writer(Pen(draw)).query().sql()


class _Writer:
    """Writes one query. Counts the aliases given, and the tables and blocks that it may still have."""

    def __init__(self, pen: Pen) -> None:
        self.pen = pen
        self.aliases = 0
        self.blocks_left = pen.pick((1, 2, 2, 3, 4))
        self.tables_left = min(self.blocks_left + 1, 4)
        self.due: list[Table] = []

    def query(self) -> Relation:
        match self.pen.up_to(9):
            case 8:
                return self.set_operation(DEPTH)
            case 9:
                return self.shared()
            case _:
                return self.block(DEPTH, top=True)

    def shared(self) -> Relation:
        """A common table expression that the body reads twice at least."""
        self.tables_left = 2
        definition = self.relation(1)
        shared = Table("w", definition.columns)
        self.tables_left, self.blocks_left, self.due = 3, 2, [shared, shared]
        match self.pen.up_to(2):
            case 0:
                body: Relation = self.block(1, joins=1)
            case 1:
                body = self.set_operation(1)
            case _:
                body = self.block(1, joins=0, subquery=True)
        return With("w", definition, body)

    def relation(self, depth: int) -> Relation:
        if depth > 0 and self.tables_left >= 2 and self.pen.chance(6):
            return self.set_operation(depth)
        return self.block(depth)

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    # --- FROM ---

    def table(self) -> Relation:
        self.tables_left -= 1
        if self.due:
            return self.due.pop()
        if self.pen.chance(25):
            return self.inline()
        return self.pen.pick(list(TABLES.values()))

    def inline(self) -> Relation:
        kinds = self.pen.some((Kind.INT, Kind.STRING, Kind.BIGINT, Kind.DATE), 1, 2)
        rows = [tuple(self.pen.pick(DOMAIN[kind]) for kind in kinds) for _ in range(1 + self.pen.up_to(2))]
        return Inline(tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds, 1)), tuple(rows))

    def source(self, depth: int) -> Source:
        room = depth > 0 and self.blocks_left > 0 and self.tables_left > 1
        if room and not self.due and self.pen.chance(2):
            return Source(self.relation(depth - 1), self.alias())
        return Source(self.table(), self.alias())

    def from_clause(self, depth: int, joins: int | None = None) -> From:
        clause: From = self.source(depth)
        if joins is None:
            joins = max(0, min(self.pen.pick((0, 0, 0, 1, 1, 1, 2)), self.tables_left))
        for _ in range(joins):
            clause = self.join(clause, depth)
        if self.pen.chance(14):
            clause = self.explode(clause)
        return clause

    def join(self, left: From, depth: int) -> Join:
        if self.pen.chance(16):
            return self.lateral(left)
        right = self.source(depth - 1)
        how = self.pen.pick(JOINS)
        if how == "CROSS JOIN":
            return Join(left, right, how, None)
        condition = match_on(self.pen, left.scope, right.scope)
        if "ANTI" in how:
            condition = self.seldom(condition, right.scope)
        return Join(left, right, how, condition)

    def seldom(self, condition: Expr, scope: Scope) -> Expr:
        """Perhaps narrower: keys are few, so that nearly every row has a match, and no row is left."""
        return all_of(condition, simple_predicate(self.pen, scope)) if self.pen.chance(2) else condition

    def lateral(self, left: From) -> Join:
        inner = Source(self.table(), self.alias())
        condition = match_on(self.pen, inner.scope, left.scope)
        call = self.pen.chance(2)
        items = (aggregate_call(self.pen, inner.scope),) if call else self.items(inner.scope)
        right = Source(Select(items, inner, condition), self.alias())
        return Join(left, right, self.pen.pick(("JOIN LATERAL", "LEFT JOIN LATERAL")), None)

    def explode(self, clause: From) -> From:
        scope = clause.scope
        numbers = of_kind(scope, Kind.INT) or of_kind(scope, Kind.BIGINT)
        kind = numbers[0].kind if numbers else Kind.INT
        calls: list[tuple[str, tuple[Kind, ...]]] = []
        calls += [(f"explode({column})", (Kind.INT,)) for column in of_kind(scope, Kind.ARRAY)] * 3
        calls += [(f"posexplode({column})", (Kind.INT, Kind.INT)) for column in of_kind(scope, Kind.ARRAY)]
        if numbers:
            one, other = self.pen.pick(numbers), self.pen.pick(numbers)
            calls += [(f"explode(array({one}, {other}))", (kind,)), (f"stack(2, {one}, {other})", (kind,))]
        if not calls:
            return clause
        call, kinds = self.pen.pick(calls)
        columns = tuple(Column(f"v{i}", kind) for i, kind in enumerate(kinds, 1))
        return Explode(clause, call, self.pen.chance(2), self.alias(), columns)

    # --- WHERE ---

    def where(self, scope: Scope, subquery: bool | None = None) -> Expr | None:
        if subquery is None:
            subquery = self.tables_left > 0 and self.blocks_left > 0 and self.pen.chance(4)
        if subquery:
            return self.subquery_predicate(scope)
        return predicate(self.pen, scope) if self.pen.chance(5) else None

    def subquery_predicate(self, scope: Scope) -> Expr:
        """IN, EXISTS or a comparison with a scalar, in a conjunction, a disjunction or alone."""
        match self.pen.up_to(8):
            case 0 | 1 | 2:
                test = self.exists(scope)
            case 3 | 4 | 5 | 6:
                test = self.contained(scope)
            case _:
                test = self.scalar_comparison(scope)
        match self.pen.up_to(5):
            case 3:
                return all_of(test, simple_predicate(self.pen, scope))
            case 4 | 5:
                return any_of(test, simple_predicate(self.pen, scope))
            case _:
                return test

    def inner(self) -> Source:
        """What a subquery reads: mostly a table."""
        self.blocks_left -= 1
        return self.source(1 if self.pen.chance(4) else 0)

    def exists(self, scope: Scope) -> Expr:
        inner = self.inner()
        condition = match_on(self.pen, inner.scope, scope)
        word = self.pen.pick(("EXISTS", "NOT EXISTS"))
        if word == "NOT EXISTS":
            condition = self.seldom(condition, inner.scope)
        return Expr(f"{word} (SELECT 1 FROM {inner.sql()} WHERE {condition})", Kind.BOOLEAN)

    def contained(self, scope: Scope) -> Expr:
        inner = self.inner()
        both = pairs(scope, inner.scope)
        if not both:
            return simple_predicate(self.pen, scope)
        chosen = self.pen.some(both, 1, 2 if self.pen.chance(4) else 1)
        mine = ", ".join(str(one) for one, _ in chosen)
        its = ", ".join(str(other) for _, other in chosen)
        where = ""
        match self.pen.up_to(5):
            case 3 | 4:
                where = f" WHERE {match_on(self.pen, inner.scope, scope)}"
            case 5:
                where = f" WHERE {predicate(self.pen, inner.scope)}"
        word = self.pen.pick(("IN", "NOT IN"))
        return Expr(
            f"{mine if len(chosen) == 1 else f'({mine})'} {word} (SELECT {its} FROM {inner.sql()}{where})",
            Kind.BOOLEAN,
        )

    def scalar_comparison(self, scope: Scope) -> Expr:
        scalar = self.scalar_subquery(scope)
        mine = [column for column in scope if comparable(column, scalar)]
        operator = self.pen.pick(("<=", "=", ">=", "<", "<>", "<=>"))
        left = self.pen.pick(mine) if mine else constant(self.pen, scalar.kind)
        return Expr(f"{left} {operator} {scalar}", Kind.BOOLEAN)

    def scalar_subquery(self, scope: Scope | None) -> Expr:
        """One aggregate over another relation; of the rows that match, when there is an outer scope."""
        inner = self.inner()
        call = aggregate_call(self.pen, inner.scope)
        where = ""
        if scope and self.pen.chance(2):
            where = f" WHERE {match_on(self.pen, inner.scope, scope)}"
        elif self.pen.chance(4):
            where = f" WHERE {predicate(self.pen, inner.scope)}"
        return Expr(f"(SELECT {call} FROM {inner.sql()}{where})", call.kind)

    # --- SELECT ---

    def block(
        self, depth: int, *, top: bool = False, joins: int | None = None, subquery: bool | None = None
    ) -> Relation:
        pen = self.pen
        self.blocks_left -= 1
        clause = self.from_clause(depth, joins)
        where = self.where(clause.scope, subquery)
        match pen.up_to(12):
            case 0 | 1 | 2:
                block = Select(self.items(clause.scope), clause, where)
            case 3 | 4 | 5:
                block = self.aggregate(clause, where, vague=top)
            case 6:
                block = Select(self.items(clause.scope), clause, where, distinct=True)
            case 7:
                block = self.grouping_sets(clause, where)
            case 8 | 9:
                block = self.window(clause, where)
            case 10:
                block = self.best(clause, where)
            case 11:
                block = self.with_scalar(clause, where)
            case _:
                block = self.window_over_aggregate(clause, where)
        if any(item.kind is Kind.VAGUE for item in block.items):
            return block
        return self.limited(block, top)

    def items(self, scope: Scope, most: int = 4) -> tuple[Expr, ...]:
        count = min(1 + self.pen.up_to(most - 1), len(scope))
        chosen = self.pen.some(scope, count, count)
        return tuple(computed(self.pen, scope, column) if self.pen.chance(5) else column for column in chosen)

    def limited(self, block: Select, top: bool) -> Select:
        """Perhaps the first rows only, by an order over all columns; at the top, perhaps only the order."""
        if block.tail or not self.pen.chance(12):
            return block
        columns = tuple(Expr(column.name, column.kind) for column in block.columns)
        tail = f"ORDER BY {ordered(self.pen, columns)}"
        if not (top and self.pen.chance(4)):
            tail += f" LIMIT {self.pen.pick((2, 1, 3, 5))}"
            tail += " OFFSET 1" if self.pen.chance(4) else ""
        return replace(block, tail=tail)

    def aggregate(self, clause: From, where: Expr | None, *, vague: bool) -> Select:
        pen, scope = self.pen, clause.scope
        keys = () if pen.chance(4) else self.keys(scope)
        calls = tuple(aggregate_call(pen, scope, vague=vague) for _ in range(1 + pen.up_to(2)))
        having = self.having(calls, keys) if pen.chance(5) else None
        return Select((*keys, *calls), clause, where, group_by=", ".join(map(str, keys)), having=having)

    def keys(self, scope: Scope) -> tuple[Expr, ...]:
        columns = self.pen.some(scope, 1, 2 if self.pen.chance(2) else 1)
        return tuple(computed(self.pen, scope, column) if self.pen.chance(8) else column for column in columns)

    def having(self, calls: tuple[Expr, ...], keys: tuple[Expr, ...]) -> Expr:
        exact = [call for call in calls if call.kind is not Kind.VAGUE]
        call = self.pen.pick(exact or [Expr("count(*)", Kind.BIGINT)])
        match self.pen.up_to(4):
            case 0:
                return Expr("count(*) > 1", Kind.BOOLEAN)
            case 3 if self.tables_left > 0 and call.kind in NUMBERS:
                inner = self.source(0)
                if numbers := of_kind(inner.scope, *SUMMABLE):
                    test = self.pen.pick(("<=", ">=", "<>"))
                    best = f"(SELECT max({self.pen.pick(numbers)}) FROM {inner.sql()})"
                    return Expr(f"{call} {test} {best}", Kind.BOOLEAN)
                return Expr(f"{call} IS NOT NULL", Kind.BOOLEAN)
            case 4 if keys:
                return any_of(f"{keys[0]} IS NULL", f"{call} IS NOT NULL")
            case _:
                test = self.pen.pick(("<>", ">=", "<=", "=", "<=>"))
                return Expr(f"{call} {test} {constant(self.pen, call.kind)}", Kind.BOOLEAN)

    def grouping_sets(self, clause: From, where: Expr | None) -> Select:
        pen, scope = self.pen, clause.scope
        keys = pen.some(scope, 2, 2)
        calls = tuple(aggregate_call(pen, scope) for _ in range(1 + pen.up_to(1)))
        if len(keys) < 2:
            return Select((*keys, *calls), clause, where, group_by=", ".join(map(str, keys)))
        one, other = keys
        form = pen.pick(
            (
                f"ROLLUP ({one}, {other})",
                f"CUBE ({one}, {other})",
                f"GROUPING SETS (({one}), ({other}), ())",
                f"GROUPING SETS (({one}, {other}), ({one}))",
                f"{one}, ROLLUP ({other})",
            )
        )
        extra: tuple[Expr, ...] = ()
        match pen.up_to(3):
            case 1:
                extra = (Expr("grouping_id()", Kind.BIGINT),)
            case 2:
                extra = (Expr(f"CAST(grouping({other}) AS INT)", Kind.INT),)
        having = Expr("count(*) > 1", Kind.BOOLEAN) if pen.chance(6) else None
        return Select((*keys, *extra, *calls), clause, where, group_by=form, having=having)

    def window(self, clause: From, where: Expr | None) -> Select:
        clause, where = self.narrow(clause, where)
        scope = clause.scope
        calls = tuple(window_call(self.pen, scope, positional=i == 0) for i in range(1 + self.pen.up_to(1)))
        return Select((*self.pen.some(scope, 1, 3), *calls), clause, where)

    def narrow(self, clause: From, where: Expr | None) -> tuple[From, Expr | None]:
        """The same rows with few columns, so that an order by all of them stays short."""
        if len(clause.scope) <= NARROW:
            return clause, where
        items = tuple(self.pen.some(clause.scope, 2, 4))
        return Source(Select(items, clause, where), self.alias()), None

    def best(self, clause: From, where: Expr | None) -> Select:
        """The first few rows of each group."""
        clause, where = self.narrow(clause, where)
        pen, scope = self.pen, clause.scope
        partition = pen.some(scope, 0 if pen.chance(3) else 1, 1)
        by = f"PARTITION BY {partition[0]} " if partition else ""
        order = total_order(pen, scope)
        name = pen.pick(("row_number", "rank", "dense_rank"))
        if name != "row_number":
            order = f"ORDER BY {ordered(pen, pen.some(scope, 1, 1))}"
        columns = pen.some(scope, 1, 4)
        place = Expr(f"{name}() OVER ({by}{order})", Kind.INT)
        inner = Source(Select((*columns, place), clause, where), self.alias())
        best = Expr(f"{inner.scope[-1]} <= {1 + pen.up_to(1)}", Kind.BOOLEAN)
        return Select(inner.scope[: -1 if pen.chance(2) else None], inner, best)

    def with_scalar(self, clause: From, where: Expr | None) -> Select:
        """Scalar or existence subqueries among the columns."""
        items = self.items(clause.scope, 2)
        if self.tables_left <= 0:
            return Select((*items, value(self.pen, clause.scope)), clause, where)
        if self.pen.chance(3):
            test = self.exists(clause.scope)
            extra = Expr(f"CASE WHEN {test} THEN 1 ELSE 0 END", Kind.INT)
        else:
            extra = self.scalar_subquery(clause.scope)
        return Select((*items, extra), clause, where)

    def window_over_aggregate(self, clause: From, where: Expr | None) -> Select:
        pen, scope = self.pen, clause.scope
        keys = pen.some(scope, 1, 2)
        call = aggregate_call(pen, scope)
        by = f"PARTITION BY {keys[0]} " if len(keys) > 1 else ""
        options = [
            Expr(f"rank() OVER ({by}ORDER BY {call}{pen.pick(('', ' DESC'))})", Kind.INT),
            Expr(f"max({call}) OVER ({by.strip()})", call.kind),
        ]
        if call.kind in SUMMABLE:
            kind = Kind.BIGINT if call.kind in INTEGERS else call.kind
            options.append(Expr(f"sum({call}) OVER ({by.strip()})", kind))
        return Select((*keys, call, pen.pick(options)), clause, where, group_by=", ".join(map(str, keys)))

    # --- set operations ---

    def set_operation(self, depth: int) -> Relation:
        """Two relations, each cut down to columns whose kinds agree."""
        left, right = self.source(depth - 1), self.source(depth - 1)
        one, other = left.scope, right.scope
        both = [(a, b) for a, b in pairs(one, other) if a.kind is b.kind or {a.kind, b.kind} == set(INTEGERS)]
        columns = both or [(_as_text(one[0]), _as_text(other[0]))]
        chosen = self.pen.some(columns, 1, 2 if self.pen.chance(3) else 1)
        operator = self.pen.pick(SET_OPERATORS)
        alike = [_wider(a, b) for a, b in chosen]
        mine = Select(tuple(a for a, _ in alike), left, self.where(one))
        its = Select(tuple(b for _, b in alike), right, self.where(other))
        return SetOperation(operator, mine, its)


def _as_text(expr: Expr) -> Expr:
    return Expr(f"CAST({expr} AS STRING)", Kind.STRING)


def _wider(one: Expr, other: Expr) -> tuple[Expr, Expr]:
    if one.kind is other.kind:
        return one, other
    return Expr(one.sql, Kind.BIGINT), Expr(other.sql, Kind.BIGINT)
