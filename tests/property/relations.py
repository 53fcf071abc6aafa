"""What a random query is made of, and how it is printed as Spark SQL.

Every relation knows its columns and their kinds; every reference is qualified by an alias that is unique in
the query, so that no name can be captured. Nothing here draws: see `queries.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .tables import Column, Kind, Table, literal


@dataclass(frozen=True)
class Expr:
    """A scalar expression: its text and what it holds."""

    sql: str
    kind: Kind

    def __str__(self) -> str:
        return self.sql


Scope = tuple[Expr, ...]
"""The columns that an expression may use."""


@dataclass(frozen=True)
class Inline:
    """A relation of constants. One row without a table below it, or several."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]

    def sql(self) -> str:
        kinds = [column.kind for column in self.columns]
        rows = [[literal(v, k) for v, k in zip(row, kinds, strict=True)] for row in self.rows]
        names = [column.name for column in self.columns]
        if len(rows) == 1:
            return "SELECT " + ", ".join(f"{v} AS {n}" for v, n in zip(rows[0], names, strict=True))
        values = ", ".join("(" + ", ".join(row) + ")" for row in rows)
        return f"SELECT * FROM VALUES {values} AS v({', '.join(names)})"


@dataclass(frozen=True)
class Source:
    """A relation in FROM under an alias."""

    relation: Relation
    alias: str

    @property
    def scope(self) -> Scope:
        return tuple(Expr(f"{self.alias}.{column.name}", column.kind) for column in self.relation.columns)

    def sql(self) -> str:
        text = self.relation.sql()
        return f"{text if isinstance(self.relation, Table) else f'({text})'} AS {self.alias}"


@dataclass(frozen=True)
class Join:
    left: From
    right: Source
    how: str
    condition: Expr | None

    @property
    def scope(self) -> Scope:
        if "SEMI" in self.how or "ANTI" in self.how:
            return self.left.scope
        return self.left.scope + self.right.scope

    def sql(self) -> str:
        on = f" ON {self.condition}" if self.condition else ""
        return f"{self.left.sql()} {self.how} {self.right.sql()}{on}"


@dataclass(frozen=True)
class Explode:
    """LATERAL VIEW: one row for each element that the call generates."""

    input: From
    call: str
    outer: bool
    alias: str
    columns: tuple[Column, ...]

    @property
    def scope(self) -> Scope:
        return self.input.scope + tuple(Expr(f"{self.alias}.{c.name}", c.kind) for c in self.columns)

    def sql(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        view = "LATERAL VIEW OUTER" if self.outer else "LATERAL VIEW"
        return f"{self.input.sql()} {view} {self.call} {self.alias} AS {names}"


@dataclass(frozen=True)
class Select:
    """One query block. Its columns are named c1, c2, … in the order of its items."""

    items: tuple[Expr, ...]
    source: From
    where: Expr | None = None
    distinct: bool = False
    group_by: str = ""
    having: Expr | None = None
    tail: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f"c{i}", item.kind) for i, item in enumerate(self.items, 1))

    def sql(self) -> str:
        items = ", ".join(f"{item} AS {column.name}" for item, column in zip(self.items, self.columns, strict=True))
        parts = [
            f"SELECT {'DISTINCT ' if self.distinct else ''}{items} FROM {self.source.sql()}",
            f"WHERE {self.where}" if self.where else "",
            f"GROUP BY {self.group_by}" if self.group_by else "",
            f"HAVING {self.having}" if self.having else "",
            self.tail,
        ]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class SetOperation:
    """UNION, INTERSECT or EXCEPT of two relations with the same kinds of column."""

    operator: str
    left: Relation
    right: Relation

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.left.columns

    def sql(self) -> str:
        return f"({self.left.sql()}) {self.operator} ({self.right.sql()})"


@dataclass(frozen=True)
class With:
    """A common table expression and the query that uses it."""

    name: str
    definition: Relation
    body: Relation
    columns: tuple[Column, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.body.columns)

    def sql(self) -> str:
        return f"WITH {self.name} AS ({self.definition.sql()}) {self.body.sql()}"


From = Source | Join | Explode
Relation = Table | Inline | Select | SetOperation | With
