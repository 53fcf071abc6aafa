"""Catalyst through py4j: the few constructors that Headrace needs, each looked up once.

Plans are built from resolved parts and are not analysed again: the analyser costs more than the query
itself on plans of a hundred operators, and it would give new exprIds to a relation that occurs twice. So
every expression is resolved when it is made. One that Headrace writes as SQL text names attributes by
names that are unique for a view, and is resolved once.

Two things must therefore hold for every plan built here. The sides of a join have no attribute in common.
And no operator gives a new value to an exprId that its child also has: the optimiser would take a filter
on the new value for one on the old.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.ir.expr import Attr

_WORD = re.compile(r"\w+")
WEIGHT = Attr("weight", "weight", "bigint", nullable=False)


class Catalyst:
    """Constructors over one session; attributes are bound for the life of the object."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._session = spark
        self._single = False
        jvm: Any = spark._jvm
        self.jvm: Any = jvm
        sql = jvm.org.apache.spark.sql
        self._expressions = sql.catalyst.expressions
        self._logical = sql.catalyst.plans.logical
        self._alias = self._expressions.Alias
        self._attribute = self._expressions.AttributeReference
        self._named = self._expressions.NamedExpression
        self._equal = self._expressions.EqualTo
        self._null_safe = self._expressions.EqualNullSafe
        self._and = self._expressions.And
        self._not = self._expressions.Not
        self._multiply = self._expressions.Multiply
        self._coalesce = self._expressions.Coalesce
        self._sum = self._expressions.aggregate.Sum
        self._literal = self._expressions.Literal
        self._project = self._logical.Project
        self._filter = self._logical.Filter
        self._join = self._logical.Join
        self._aggregate = self._logical.Aggregate
        self._union = self._logical.Union
        self._gather = self._logical.Repartition
        self._metrics = self._logical.CollectMetrics
        self._counted: Any = None
        self._hints = getattr(getattr(self._logical, "JoinHint$"), "MODULE$").NONE()
        self._dataset = sql.classic.Dataset
        self._parser = getattr(getattr(sql.catalyst.parser, "CatalystSqlParser$"), "MODULE$")
        self._types = getattr(getattr(sql.types, "DataType$"), "MODULE$")
        self._join_type = getattr(getattr(sql.catalyst.plans, "JoinType$"), "MODULE$")
        self._to_seq = jvm.PythonUtils.toSeq
        self._list = jvm.java.util.ArrayList
        self._option = jvm.scala.Option
        self.none = self._option.empty()
        self.nil = self._to_seq([])
        self._metadata = getattr(getattr(sql.types, "Metadata$"), "MODULE$").empty()
        self._no_metadata = self._option.apply(self._metadata)
        datasources = sql.execution.datasources
        self._path = jvm.org.apache.hadoop.fs.Path
        self._file_index = datasources.InMemoryFileIndex
        self._no_cache = getattr(getattr(datasources, "NoopCache$"), "MODULE$")
        self._files = datasources.HadoopFsRelation
        self._relation = getattr(getattr(datasources, "LogicalRelation$"), "MODULE$")
        self._parquet = datasources.parquet.ParquetFileFormat()
        self._no_options = jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap())
        self._attrs: dict[str, Any] = {}
        self._by_name: dict[str, Any] = {}
        self._numbers: dict[str, Any] = {}
        self._resolved: dict[str, Any] = {}
        self._sequences: dict[tuple[int, ...], tuple[list[Any], Any]] = {}
        self._weights = 0
        self.zero, self.one = self.sql("0L"), self.sql("1L")

    # --- Scala collections

    def seq(self, items: Iterable[Any]) -> Any:
        """A Scala Seq. Every element costs a round trip, so a Seq of the same objects is the same Seq."""
        elements = list(items)
        key = tuple(map(id, elements))
        found = self._sequences.get(key)
        if found is None:
            made = self._list()
            for e in elements:
                made.add(e)
            # The elements are held, so that no other object can take one's id.
            found = self._sequences[key] = (elements, self._to_seq(made))
        return found[1]

    def some(self, value: Any) -> Any:
        return self._option.apply(value)

    # --- attributes

    def bind(self, attr: Attr, like: Any) -> None:
        """Bind an attribute of the query to the exprId and type that its Catalyst twin has."""
        if attr.id not in self._attrs:
            self._enter(attr, like.dataType(), like.exprId())

    def attr(self, attr: Attr) -> Any:
        """The Catalyst attribute for one of ours, made on first use."""
        found = self._attrs.get(attr.id)
        if found is None:
            found = self._enter(attr, self._types.fromDDL(attr.type), self._named.newExprId())
        return found

    def twin(self, attr: Attr, suffix: str) -> Attr:
        """A further attribute of the same type, always the same one for the same suffix."""
        made = Attr(f"{attr.id}.{suffix}", attr.name, attr.type)
        if made.id not in self._attrs:
            self._enter(made, self.attr(attr).dataType(), self._named.newExprId())
        return made

    def weight(self) -> Attr:
        """A new weight column: each one that is computed from another has an identity of its own."""
        self._weights += 1
        return Attr(f"weight{self._weights}", "weight", "bigint", nullable=False)

    def restart(self) -> None:
        """Begin a run. Weight columns are numbered from the start again, so that the same plan is built from the
        same parts."""
        self._weights = 0
        self._sequences.clear()

    def work_in(self, session: SparkSession, *, single: bool) -> None:
        """Run plans in a session from here on. ``single`` says that they work in one partition."""
        self._session = session
        self._single = single

    def _enter(self, attr: Attr, kind: Any, number: Any) -> Any:
        name = name_of(attr)
        made = self._attribute(name, kind, True, self._metadata, number, self.nil)
        self._attrs[attr.id] = self._by_name[name] = made
        return made

    def type_of(self, ddl: str) -> Any:
        return self._types.fromDDL(ddl)

    # --- expressions

    def sql(self, text: str) -> Any:
        """An expression, or an aggregate, written as SQL over unique names; resolved."""
        found = self._resolved.get(text) or self._by_name.get(text)
        if found is None:
            used = [self._by_name[n] for n in dict.fromkeys(_WORD.findall(text)) if n in self._by_name]
            leaf = self._logical.LocalRelation(self.seq(used), self.nil, False, self.none)
            parsed = self._alias(
                self._parser.parseExpression(text),
                "e",
                self._named.newExprId(),
                self.nil,
                self.none,
                self.nil,
            )
            plan = self._dataset.ofRows(self.spark._jsparkSession, self.project([parsed], leaf))
            plan = plan.queryExecution().analyzed()
            aggregate = plan.getClass().getSimpleName() == "Aggregate"
            found = (plan.aggregateExpressions() if aggregate else plan.projectList()).apply(0).child()
            self._resolved[text] = found
        return found

    def alias(self, expression: Any, attribute: Any) -> Any:
        """The expression under the name and exprId of a Catalyst attribute."""
        return self._alias(expression, attribute.name(), attribute.exprId(), self.nil, self._no_metadata, self.nil)

    def named(self, attr: Attr, expression: Any) -> Any:
        """The expression, or SQL text, under the name and exprId of one of our attributes."""
        value = self.sql(expression) if isinstance(expression, str) else expression
        number = self._numbers.get(attr.id)
        if number is None:
            number = self._numbers[attr.id] = self.attr(attr).exprId()
        return self._alias(value, name_of(attr), number, self.nil, self._no_metadata, self.nil)

    def null(self, ddl: str) -> Any:
        return self._literal(None, self.type_of(ddl))

    # Weights are in every operator: theirs are built, for resolving text costs ten times as much.

    def total(self, weight: Attr | None) -> Any:
        """The sum of weights, 0 over nothing."""
        value = self.one if weight is None else self.attr(weight)
        summed = self._sum(value).toAggregateExpression()
        return self._coalesce(self.seq([summed, self.zero]))

    def product(self, weights: Sequence[Attr]) -> Any:
        result = self.attr(weights[0])
        for w in weights[1:]:
            result = self._multiply(result, self.attr(w))
        return result

    def minus(self, weight: Attr | None) -> Any:
        return self.sql("-1L") if weight is None else self._expressions.UnaryMinus(self.attr(weight))

    def not_zero(self, weight: Attr) -> Any:
        return self._not(self._equal(self.attr(weight), self.zero))

    def sign(self, change: Any, leaving: Sequence[str]) -> Any:
        """The weight of a row by what happened to it."""
        e = self._expressions
        leaves = e.In(change, self.seq([self.sql(f"'{v}'") for v in leaving]))
        return e.If(leaves, self.sql("-1L"), self.one)

    def checked(self, value: Attr, count: Attr, failure: str) -> Any:
        """The value, or Spark's error of that class where the count is more than one."""
        e = self._expressions
        found, _ = self.attr(value), self.attr(count)
        many = self.sql(f"{name_of(count)} > 1L")
        nothing = self.sql("cast(map() as map<string, string>)")
        error = e.RaiseError(self.sql(f"'{failure}'"), nothing, found.dataType())
        return e.If(many, error, found)

    def equal(self, left: Any, right: Any, null_safe: bool = False) -> Any:
        return self._null_safe(left, right) if null_safe else self._equal(left, right)

    def all_of(self, conditions: Sequence[Any]) -> Any | None:
        """The conjunction, or None for none."""
        result = None
        for c in conditions:
            result = c if result is None else self._and(result, c)
        return result

    # --- plans

    def parquet(self, files: Sequence[str | Path], schema: StructType) -> Any:
        """Parquet files of this machine as a relation with the columns of ``schema``. It is made directly: Spark's
        reader looks its format up in every jar each time, and takes characters of a path for a pattern."""
        session = self._session._jsparkSession
        columns = session.parseDataType(schema.json())
        if not files:
            return session.createDataFrame(self._list(), columns).queryExecution().analyzed()
        paths = self._list()
        for file in files:
            paths.add(self._path("file", None, str(file)))
        known = self._option.apply(columns)
        index = self._file_index(
            session, self._to_seq(paths), self._no_options, known, self._no_cache, self.none, self.none
        )
        relation = self._files(
            index, index.partitionSchema(), columns, self.none, self._parquet, self._no_options, session
        )
        return self._relation.apply(relation, False)

    def project(self, expressions: Iterable[Any], plan: Any) -> Any:
        return self._project(self.seq(expressions), plan)

    def filter(self, condition: Any, plan: Any) -> Any:
        return self._filter(self.sql(condition) if isinstance(condition, str) else condition, plan)

    def join(self, left: Any, right: Any, kind: Any, condition: Any | None) -> Any:
        how = self._join_type.apply(kind) if isinstance(kind, str) else kind
        on = self.none if condition is None else self.some(condition)
        return self.gathered(self._join(left, right, how, on, self._hints))

    def aggregate(self, keys: Iterable[Any], results: Iterable[Any], plan: Any) -> Any:
        return self._aggregate(self.seq(keys), self.seq(results), plan, self.none)

    def union(self, plans: Iterable[Any]) -> Any:
        return self.gathered(self._union(self.seq(plans), False, False))

    def gathered(self, plan: Any) -> Any:
        """A plan that reads or adds partitions; in one partition where the run works in one, so that nothing above
        needs a shuffle."""
        return self._gather(1, False, plan) if self._single else plan

    def expand(self, rows: Iterable[Iterable[Any]], output: Iterable[Any], plan: Any) -> Any:
        return self.gathered(self._logical.Expand(self.seq([self.seq(r) for r in rows]), self.seq(output), plan))

    def generate(self, generator: Any, unused: list[int], output: Iterable[Any], plan: Any) -> Any:
        return self._logical.Generate(generator, self.seq(unused), False, self.none, self.seq(output), plan)

    def replicate(self, count: Any, columns: Iterable[Any]) -> Any:
        return self._expressions.ReplicateRows(self.seq([count, *columns]))

    def sort(self, keys: Iterable[Any], plan: Any, *, everywhere: bool) -> Any:
        return self._logical.Sort(self.seq(keys), everywhere, plan, self.none)

    def sort_key(self, expression: Any, descending: bool = False, nulls_first: bool = True) -> Any:
        e = self._expressions
        direction = "Descending" if descending else "Ascending"
        nulls = "NullsFirst" if nulls_first else "NullsLast"
        way = getattr(getattr(e, f"{direction}$"), "MODULE$")
        return e.SortOrder(expression, way, getattr(getattr(e, f"{nulls}$"), "MODULE$"), self.nil)

    def limit(self, count: int | None, skip: int, plan: Any) -> Any:
        if skip:
            plan = self._logical.Offset(self.sql(str(skip)), plan)
        if count is not None:
            plan = self._logical.GlobalLimit(self.sql(str(count)), self._logical.LocalLimit(self.sql(str(count)), plan))
        return plan

    def repartition(self, keys: Iterable[Any], plan: Any) -> Any:
        """One partition for each key value; without keys, one for all."""
        if self._single:
            return plan
        exprs = list(keys)
        count = self.none if exprs else self.some(1)
        return self._logical.RepartitionByExpression(self.seq(exprs), plan, count, self.none)

    def measure(self, name: str, plan: Any) -> Any:
        """Count the rows that pass, to be read from the executed query under ``name``."""
        if self._counted is None:
            self._counted = self.seq([self.alias(self.sql("count(1)"), self.attr(WEIGHT))])
        return self._metrics(name, self._counted, plan, 0)

    def measure_signs(self, name: str, weight: Attr, plan: Any) -> Any:
        """Add up the positive weights that pass, and the negative ones, to be read under ``name``."""
        w = name_of(weight)
        sums = [self.named(self.weight(), f"coalesce(sum(greatest({sign}{w}, 0L)), 0L)") for sign in ("", "-")]
        return self._metrics(name, self.seq(sums), plan, 0)

    def frame(self, plan: Any) -> DataFrame:
        """A DataFrame of a plan whose parts are all resolved."""
        plan.setAnalyzed()
        return DataFrame(self._dataset.ofRows(self._session._jsparkSession, plan), self._session)


def items(seq: Any) -> list[Any]:
    """The elements of a Scala Seq."""
    return [seq.apply(i) for i in range(seq.size())]


def name_of(attr: Attr) -> str:
    """The unique column name of an attribute, fit for SQL text and for files. It follows from the id alone."""
    return "c" + re.sub(r"[^A-Za-z0-9]", "_", attr.id)
