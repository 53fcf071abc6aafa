"""Catalyst from Python: the few constructors that Headrace needs.

What is made here is written down in a script, and built in the JVM when its result is needed. Plans are
built from resolved parts and are not analysed again: the analyser costs more than the query itself on plans
of a hundred operators, and it would give new exprIds to a relation that occurs twice. So every expression is
resolved when it is made. One that Headrace writes as SQL text names attributes by names that are unique for
a view, and is resolved once.

Two things must therefore hold for every plan built here. The sides of a join have no attribute in common.
And no operator gives a new value to an exprId that its child also has: the optimiser would take a filter
on the new value for one on the old.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.ir.expr import Attr
from headrace.spark.jvm import java_class
from headrace.spark.script import Made, Script
from headrace.spark.session import WorkingSessions
from headrace.spark.slots import Slots

_SQL = "org.apache.spark.sql"
_EXPRESSION = f"{_SQL}.catalyst.expressions"
_LOGICAL = f"{_SQL}.catalyst.plans.logical"
_FILES = f"{_SQL}.execution.datasources"
_FORMATS = {
    "parquet": "parquet.ParquetFileFormat",
    "csv": "csv.CSVFileFormat",
    "json": "json.JsonFileFormat",
    "orc": "orc.OrcFileFormat",
    "text": "text.TextFileFormat",
}
Values = Sequence[str | None]
_WORD = re.compile(r"\w+")
WEIGHT = Attr("weight", "weight", "bigint", nullable=False)

# Files that are read in the driver when a step works in one partition: starting a scan takes longer.
_FEW_FILES = 64
_FEW_BYTES = 256 * 1024
_SLOT_BYTES = 32 * 1024 * 1024  # of files whose rows are put into a slot
_FEW_ROWS = 1_000  # that py4j hands over as fast as a file does
_MEMORIES: dict[int, tuple[Any, Any, Any]] = {}


_NESTED = ("array", "map", "struct", "{")


class Catalyst:
    """Constructors over one session; attributes are bound for the life of the object."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._session = spark
        self._sessions = WorkingSessions(spark)
        self.single = False
        self.jvm: Any = spark._jvm
        self._script = script = Script(self.jvm)
        self._java_session = script.put(spark._jsparkSession)
        self._hints = script.module(f"{_LOGICAL}.JoinHint").NONE()
        self._parser = script.module(f"{_SQL}.catalyst.parser.CatalystSqlParser")
        self._types = script.module(f"{_SQL}.types.DataType")
        self.none = script.static("scala.Option", "empty")
        self.nil = script.seq([])
        self._metadata = script.static(f"{_SQL}.types.Metadata", "empty")
        self._no_metadata = self.some(self._metadata)
        self._no_cache = script.module(f"{_FILES}.NoopCache")
        self._relation = script.module(f"{_FILES}.LogicalRelation")
        self._formats: dict[str, Made] = {}
        self._knows_partitions = False
        self._spark_session = self._java_session
        memory, here = _remembered(self.jvm)
        self._small_files = None if memory is None else script.put(memory)
        self._here = None if here is None else script.put(here)
        self._prepared, self._prepared_in = script.new("headrace.Prepared"), spark
        self._slots = Slots(script, self._java_session)
        self._no_options = script.module("scala.collection.immutable.Map").empty()
        self._attrs: dict[str, Made] = {}
        self._by_name: dict[str, Made] = {}
        self._numbers: dict[str, Made] = {}
        self._resolved: dict[str, Made] = {}
        self._sums: dict[str, Made] = {}
        self._totals: dict[str, Made] = {}
        self._weights = 0
        self.zero, self.one = self.sql("0L"), self.sql("1L")

    # --- objects of the JVM

    def java(self, made: Any) -> Any:
        """What py4j knows of something made here."""
        return self._script.value(made)

    def put(self, value: Any) -> Any:
        """Something that py4j knows, to be used here."""
        return self._script.put(value)

    def seq(self, elements: Iterable[Any]) -> Any:
        """A Scala Seq."""
        return self._script.seq(elements)

    def some(self, value: Any) -> Any:
        return self._script.static("scala.Option", "apply", value)

    def _expression(self, kind: str, *arguments: Any) -> Any:
        return self._script.new(f"{_EXPRESSION}.{kind}", *arguments)

    def _plan(self, kind: str, *arguments: Any) -> Any:
        return self._script.new(f"{_LOGICAL}.{kind}", *arguments)

    # --- attributes

    def bind(self, attr: Attr, like: Any) -> None:
        """Bind an attribute of the query to the exprId and type that its Catalyst twin has."""
        if attr.id not in self._attrs:
            twin = self._script.put(like)
            self._enter(attr, twin.dataType(), twin.exprId())

    def attr(self, attr: Attr) -> Any:
        """The Catalyst attribute for one of ours, made on first use."""
        found = self._attrs.get(attr.id)
        if found is None:
            found = self._enter(attr, self.type_of(attr.type), self._new_id())
        return found

    def twin(self, attr: Attr, suffix: str) -> Attr:
        """A further attribute of the same type, always the same one for the same suffix."""
        made = Attr(f"{attr.id}.{suffix}", attr.name, attr.type)
        if made.id not in self._attrs:
            self._enter(made, self.attr(attr).dataType(), self._new_id())
        return made

    def weight(self) -> Attr:
        """A new weight column: each one that is computed from another has an identity of its own."""
        self._weights += 1
        return Attr(f"weight{self._weights}", "weight", "bigint", nullable=False)

    def restart(self) -> None:
        """Begin a run. Weight columns are numbered from the start again, so that the same plan is built from the
        same parts."""
        self._weights = 0
        self._slots.clear()
        self._sessions.begin()

    def end(self) -> None:
        """End a run: its rows are not needed any more."""
        self._slots.clear()

    def work(self, size: str) -> None:
        """Run plans from here on in a session for steps of a size; small ones work in one partition."""
        self.work_in(self._sessions.get(size), single=size == "small")

    def work_in(self, session: SparkSession, *, single: bool) -> None:
        """Run plans in a session from here on. ``single`` says that they work in one partition."""
        if session is not self._session:
            self._session = session
            self._java_session = self._script.put(session._jsparkSession)
            if single and session is not self._prepared_in:
                self._prepared, self._prepared_in = self._script.new("headrace.Prepared"), session
        self.single = single

    def _enter(self, attr: Attr, kind: Any, number: Any) -> Any:
        """Any value, and any inside one, may be NULL: above a union a column is what it is in any branch."""
        name = name_of(attr)
        if attr.type.startswith(_NESTED):
            kind = self._script.call(kind, "asNullable")
        made = self._expression("AttributeReference", name, kind, True, self._metadata, number, self.nil)
        self._attrs[attr.id] = self._by_name[name] = made
        return made

    def _new_id(self) -> Any:
        return self._script.static(f"{_EXPRESSION}.NamedExpression", "newExprId")

    def type_of(self, text: str) -> Any:
        """A type, given as DDL or, where names in it need no quotes, as JSON."""
        return self._types.fromJson(text) if text[0] in '"{' else self._types.fromDDL(text)

    # --- expressions

    def sql(self, text: str) -> Any:
        """An expression, or an aggregate, written as SQL over unique names; resolved."""
        found = self._resolved.get(text) or self._by_name.get(text)
        if found is None:
            used = [self._by_name[n] for n in dict.fromkeys(_WORD.findall(text)) if n in self._by_name]
            leaf = self._plan("LocalRelation", self.seq(used), self.nil, False, self.none)
            parsed = self._parser.parseExpression(text)
            named = self._expression("Alias", parsed, "e", self._new_id(), self.nil, self.none, self.nil)
            found = self._script.itself.resolve(self._java_session, self.project([named], leaf))
            self._resolved[text] = found
        return found

    def alias(self, expression: Any, attribute: Any) -> Any:
        """The expression under the name and exprId of a Catalyst attribute."""
        return self._alias(expression, attribute.name(), attribute.exprId())

    def named(self, attr: Attr, expression: Any) -> Any:
        """The expression, or SQL text, under the name and exprId of one of our attributes."""
        value = self.sql(expression) if isinstance(expression, str) else expression
        number = self._numbers.get(attr.id)
        if number is None:
            number = self._numbers[attr.id] = self.attr(attr).exprId()
        return self._alias(value, name_of(attr), number)

    def fresh(self, name: str, expression: Any) -> Any:
        """The expression under a name, with an exprId that nothing else has."""
        return self._alias(expression, name, self._new_id())

    def _alias(self, value: Any, name: Any, number: Any) -> Any:
        return self._expression("Alias", value, name, number, self.nil, self._no_metadata, self.nil)

    def null(self, ddl: str) -> Any:
        return self._expression("Literal", None, self.type_of(ddl))

    def only_if(self, condition: Any, value: Any, ddl: str) -> Any:
        """The value where the condition is true, else NULL of its type."""
        return self._expression("If", condition, value, self.null(ddl))

    def aggregate_function(self, call: Any) -> Any:
        """The function of an aggregate call of Catalyst's."""
        return self._script.call(call, "aggregateFunction")

    # Weights are in every operator: theirs are built, for resolving text costs ten times as much.

    def total(self, weight: Attr | None) -> Any:
        """The sum of weights, 0 over nothing. An aggregate has an exprId too: it is made once for each weight."""
        name = "" if weight is None else weight.id
        if name not in self._totals:
            self._totals[name] = self._expression("Coalesce", self.seq([self._sum(weight), self.zero]))
        return self._totals[name]

    def _sum(self, value: Attr | None) -> Any:
        """The sum of a column, or of ones."""
        name = "" if value is None else value.id
        if name not in self._sums:
            summed = self.one if value is None else self.attr(value)
            self._sums[name] = self._expression("aggregate.Sum", summed).toAggregateExpression()
        return self._sums[name]

    def product(self, weights: Sequence[Attr]) -> Any:
        result = self.attr(weights[0])
        for w in weights[1:]:
            result = self._expression("Multiply", result, self.attr(w))
        return result

    def minus(self, weight: Attr | None) -> Any:
        return self.sql("-1L") if weight is None else self._expression("UnaryMinus", self.attr(weight))

    def not_zero(self, weight: Attr) -> Any:
        return self._expression("Not", self.equal(self.attr(weight), self.zero))

    def sign(self, change: Any, leaving: Sequence[str]) -> Any:
        """The weight of a row by what happened to it."""
        leaves = self._expression("In", change, self.seq([self.sql(f"'{v}'") for v in leaving]))
        return self._expression("If", leaves, self.sql("-1L"), self.one)

    def checked(self, value: Attr, count: Attr, failure: str) -> Any:
        """The value, or Spark's error of that class where the count is more than one."""
        found, _ = self.attr(value), self.attr(count)
        many = self.sql(f"{name_of(count)} > 1L")
        nothing = self.sql("cast(map() as map<string, string>)")
        error = self._expression("RaiseError", self.sql(f"'{failure}'"), nothing, found.dataType())
        return self._expression("If", many, error, found)

    def equal(self, left: Any, right: Any, null_safe: bool = False) -> Any:
        return self._expression("EqualNullSafe" if null_safe else "EqualTo", left, right)

    def all_of(self, conditions: Sequence[Any]) -> Any | None:
        """The conjunction, or None for none."""
        result = None
        for c in conditions:
            result = c if result is None else self._expression("And", result, c)
        return result

    # --- plans

    def parquet(self, files: Sequence[str | Path], schema: StructType) -> Any:
        """Parquet files as a relation with the columns of ``schema``."""
        return self.files("parquet", files, schema)

    def files(
        self, kind: str, files: Sequence[str | Path], schema: StructType, options: Mapping[str, str] | None = None
    ) -> Any:
        """Files of this machine as a relation with the columns of ``schema``. It is made directly: Spark's reader
        looks its format up in every jar each time, and takes characters of a path for a pattern."""
        columns = self._types.fromJson(schema.json())
        if not files:
            attributes = self._script.static(f"{_SQL}.catalyst.types.DataTypeUtils", "toAttributes", columns)
            return self._plan("LocalRelation", attributes, self.nil, False, self.none)
        readable = self._small_files is not None and self.single and kind == "parquet" and not options
        if readable and (small := _small(files, _FEW_BYTES)) is not None:
            return self._script.call(self._small_files, "relation", self._spark_session, columns, small)
        session, given = self._java_session, self._given(options)
        paths = self.seq([self._script.new("org.apache.hadoop.fs.Path", "file", None, str(f)) for f in files])
        index = self._script.new(
            f"{_FILES}.InMemoryFileIndex",
            *(session, paths, given, self.some(columns), self._no_cache, self.none, self.none),
        )
        return self._over_files(index, columns, self._format(kind), given)

    def slot_of_files(self, place: Hashable, files: Sequence[Path], schema: StructType, attrs: Sequence[Attr]) -> Any:
        """The rows of Parquet files with these columns as a leaf that stays the same when the files are others. None
        where plans are not run here, or the files are many or large."""
        if not self.single or self._here is None or self._small_files is None:
            return None
        told = _small(files, _SLOT_BYTES)
        if told is None:
            return None
        columns = self._types.fromJson(schema.json())

        def fill(slot: Made) -> None:
            slot.set(self._script.call(self._small_files, "rows", self._spark_session, columns, told))

        return self._slots.relation((place, schema.json()), [self.attr(a) for a in attrs], fill)

    def no_rows(self, columns: Sequence[Any]) -> Any:
        """A relation with these columns that has no rows."""
        nothing = self._script.static("scala.Option", "empty")
        return self._plan("LocalRelation", self.seq(columns), self.seq(()), False, nothing)

    def slot_of_rows(self, place: Hashable, rows: Collected, attrs: Sequence[Attr]) -> Any:
        """Rows that are in the driver as a leaf of a plan with these columns; the rows themselves where plans are not
        run here."""
        if not self.single or self._here is None:
            return self.gathered(rows.relation())
        return self._slots.relation(place, [self.attr(a) for a in attrs], rows.put)

    def slot_of_plan(self, place: Hashable, plan: Any, attrs: Sequence[Attr]) -> Any:
        """The rows of a small plan, computed once in a run, as a leaf; the plan itself where plans are not run here."""
        if not self.single or self._here is None:
            return plan
        return self._slots.relation(place, [self.attr(a) for a in attrs], lambda slot: self.collect(plan).put(slot))

    def partitioned_files(
        self,
        schema: StructType,
        partitioned_by: StructType,
        partitions: Sequence[tuple[Values, Sequence[Path]]],
        kind: str = "parquet",
        options: Mapping[str, str] | None = None,
    ) -> Any:
        """Files with the columns of ``schema``, and after them columns whose values, given as text, all rows of a file
        have in common."""
        if not self._knows_partitions:
            self._script.know("PartitionedFiles")
            self._knows_partitions = True
        told = []
        for values, files in partitions:
            stats = [(str(f), f.stat()) for f in files]
            told.append([values, [[path, s.st_size, s.st_mtime_ns // 1_000_000] for path, s in stats]])
        columns, more = (self._types.fromJson(s.json()) for s in (schema, partitioned_by))
        index = self._script.new("headrace.PartitionedFiles", self._java_session, more, json.dumps(told))
        return self._over_files(index, columns, self._format(kind), self._given(options))

    def fill(self, filled: Sequence[tuple[Any, Any, bool]], *, pends: bool, local: bool = True) -> None:
        """Put the rows of plans into indexes, in one job or without any: plan, index, and whether the last column is
        the weight. ``local`` says that the indexes are in this process, else they are in executors."""
        if local and self.single and self._here is not None:
            for plan, index, weighted in filled:
                self.collect(plan).fill(index, None, weighted=weighted, pends=pends)
            return
        plain = [(self._script.static("headrace.Slot", "plain", plan), *rest) for plan, *rest in filled]
        parts = [self._script.java_list(part) for part in zip(*plain, strict=True)]
        where = ("headrace.Fill", "run") if local else ("headrace.Segments", "fill")
        self.java(self._script.static(*where, self._java_session, *parts, pends))

    def _given(self, options: Mapping[str, str] | None) -> Any:
        given = self._no_options
        for key, value in (options or {}).items():
            given = self._script.call(given, "updated", key, value)
        return given

    def _over_files(self, index: Any, columns: Any, made: Any, options: Any) -> Any:
        relation = self._script.new(
            f"{_FILES}.HadoopFsRelation",
            *(index, index.partitionSchema(), columns, self.none, made, options, self._java_session),
        )
        return self._relation.apply(relation, False)

    def _format(self, kind: str) -> Any:
        if kind not in self._formats:
            self._formats[kind] = self._script.new(f"{_FILES}.{_FORMATS[kind]}")
        return self._formats[kind]

    def project(self, expressions: Iterable[Any], plan: Any) -> Any:
        return self._plan("Project", self.seq(expressions), plan)

    def filter(self, condition: Any, plan: Any) -> Any:
        return self._plan("Filter", self.sql(condition) if isinstance(condition, str) else condition, plan)

    def join_type(self, name: str) -> Any:
        """A join type that needs nothing but its name, as in SQL."""
        if name == "left single":
            return self._script.module(f"{_SQL}.catalyst.plans.LeftSingle")
        return self._script.module(f"{_SQL}.catalyst.plans.JoinType").apply(name.replace(" ", ""))

    def existence_join(self, flag: Attr) -> Any:
        """The join type that adds a flag to each left row."""
        return self._script.new(f"{_SQL}.catalyst.plans.ExistenceJoin", self.attr(flag).withName("exists"))

    def join(self, left: Any, right: Any, kind: Any, condition: Any | None) -> Any:
        how = self.join_type(kind) if isinstance(kind, str) else kind
        on = self.none if condition is None else self.some(condition)
        return self.gathered(self._plan("Join", left, right, how, on, self._hints))

    def aggregate(self, keys: Iterable[Any], results: Iterable[Any], plan: Any) -> Any:
        return self._plan("Aggregate", self.seq(keys), self.seq(results), plan, self.none)

    def union(self, plans: Iterable[Any]) -> Any:
        return self.gathered(self._plan("Union", self.seq(plans), False, False))

    def gathered(self, plan: Any) -> Any:
        """A plan that reads or adds partitions; in one partition where the run works in one, so that nothing above
        needs a shuffle."""
        return self._plan("Repartition", 1, False, plan) if self.single else plan

    def over(self, operator: Any, children: Iterable[Any]) -> Any:
        """An operator of Catalyst's over other children."""
        return self._script.call(operator, "withNewChildren", self.seq(children))

    def expand(self, rows: Iterable[Iterable[Any]], output: Iterable[Any], plan: Any) -> Any:
        return self.gathered(self._plan("Expand", self.seq([self.seq(r) for r in rows]), self.seq(output), plan))

    def generate(self, generator: Any, unused: list[int], output: Iterable[Any], plan: Any) -> Any:
        return self._plan("Generate", generator, self.seq(unused), False, self.none, self.seq(output), plan)

    def replicate(self, count: Any, columns: Iterable[Any]) -> Any:
        return self._expression("ReplicateRows", self.seq([count, *columns]))

    def probe(
        self, index: Any, keys: Iterable[Any], columns: Sequence[Attr], weight: Attr | None, plan: Any, **how: bool
    ) -> Any:
        """Each row with the ``columns`` of the rows in an index that have its key, and their weight where it is asked
        for. ``null_safe``: NULL equals NULL; ``new``: with what the run adds to the index; ``outer``: NULLs for a row
        that finds none; ``apart``: the index is in executors."""
        output = self.seq([self.attr(a) for a in (columns if weight is None else (*columns, weight))])
        flags, outer = (how["null_safe"], how["new"], weight is not None), how.get("outer", False)
        if how.get("apart", False):
            self._script.static("headrace.ProbingStrategy", "teach", self._java_session)
            asked = self._script.new("headrace.Asked", *flags, outer)
            return self._script.new("headrace.Probing", self.seq(keys), index, asked, output, plan)
        kinds = self._script.static(f"{_SQL}.catalyst.types.DataTypeUtils", "fromAttributes", output)
        generator = self._script.new("headrace.Probe", self.seq(keys), index, kinds, *flags)
        return self._plan("Generate", generator, self.nil, outer, self.none, output, plan)

    def sort(self, keys: Any, plan: Any, *, everywhere: bool) -> Any:
        """The rows in the order of sort keys, given as a Seq."""
        return self._plan("Sort", keys, everywhere, plan, self.none)

    def sort_key(self, expression: Any, descending: bool = False, nulls_first: bool = True) -> Any:
        way = self._script.module(f"{_EXPRESSION}.{'Descending' if descending else 'Ascending'}")
        nulls = self._script.module(f"{_EXPRESSION}.{'NullsFirst' if nulls_first else 'NullsLast'}")
        return self._expression("SortOrder", expression, way, nulls, self.nil)

    def window_order(self, window: Any) -> Any:
        """The sort keys of a window operator, as a Seq."""
        return self._script.call(window, "orderSpec")

    def running(self, sums: Mapping[Attr, Attr], among: Attr, keys: Any, plan: Any) -> Any:
        """Each row with sums of its own values and of those of all rows before it that are equal in ``among``, in an
        order given as a Seq of sort keys in which no two rows agree."""
        first, last = (self._script.module(f"{_EXPRESSION}.{name}") for name in ("UnboundedPreceding", "CurrentRow"))
        rows = self._script.module(f"{_EXPRESSION}.RowFrame")
        frame = self._expression("SpecifiedWindowFrame", rows, first, last)
        partition = self.seq([self.attr(among)])
        spec = self._expression("WindowSpecDefinition", partition, keys, frame)
        made = []
        for attr, value in sums.items():
            made.append(self.named(attr, self._expression("WindowExpression", self._sum(value), spec)))
        return self._plan("Window", self.seq(made), partition, keys, plan, self.none)

    def limit(self, count: int | None, skip: int, plan: Any) -> Any:
        if skip:
            plan = self._plan("Offset", self.sql(str(skip)), plan)
        if count is not None:
            amount = self.sql(str(count))
            plan = self._plan("GlobalLimit", amount, self._plan("LocalLimit", amount, plan))
        return plan

    def repartition(self, keys: Iterable[Any], plan: Any) -> Any:
        """One partition for each key value; without keys, one for all."""
        if self.single:
            return plan
        exprs = list(keys)
        count = self.none if exprs else self.some(1)
        return self._plan("RepartitionByExpression", self.seq(exprs), plan, count, self.none)

    def measure(self, name: str, plan: Any) -> Any:
        """Count the rows that pass, to be read from the executed query under ``name``: "out", or "tvr" and a number. In
        tasks, by a filter that lets all pass (``jvm.Counts``)."""
        if not self.single:
            number = 1 if name == "out" else int(name.removeprefix("tvr")) + 2
            return self.filter(f"spark_partition_id() <> -{number}", plan)
        counted = self.alias(self.sql("count(1)"), self.attr(WEIGHT))
        return self._plan("CollectMetrics", name, self.seq([counted]), plan, 0)

    def measure_signs(self, name: str, weight: Attr, plan: Any) -> Any:
        """Add up the positive weights that pass, and the negative ones, to be read under ``name``."""
        w = name_of(weight)
        sums = [self.named(self.weight(), f"coalesce(sum(greatest({sign}{w}, 0L)), 0L)") for sign in ("", "-")]
        return self._plan("CollectMetrics", name, self.seq(sums), plan, 0)

    # --- running

    def frame(self, plan: Any) -> DataFrame:
        """A DataFrame of a plan whose parts are all resolved."""
        made = self._script.itself.dataset(self._java_session, plan)
        return DataFrame(self.java(made), self._session)

    def collect_most(self, plan: Any, most: int) -> Collected | None:
        """The rows of a plan, at once; None where they are more than that."""
        few = plan if self.single else self._plan("LocalLimit", self.sql(str(most + 1)), plan)
        found = self.collect(few)
        return found if self.single or len(found) <= most else None

    def collect(self, plan: Any) -> Collected:
        """The rows of a plan that gives few, at once."""
        here = self._here if self.single else None
        made = self._script.new("headrace.Rows", self._java_session, plan, here, self._prepared)
        return Collected(self._script, made)

    def observed(self, frame: DataFrame) -> str:
        """What was counted while a frame was computed."""
        execution = self.put(frame._jdf.queryExecution())
        return str(self.java(self._script.static("headrace.Counts", "of", execution)))

    @property
    def runs_again(self) -> int:
        """How often a plan was run that had been planned before."""
        return int(self.java(self._prepared.hits()))


class Collected:
    """The few rows of a plan, in the driver."""

    def __init__(self, script: Script, rows: Made) -> None:
        self._script = script
        self._rows = rows
        self.observed = str(script.value(rows.observed()))

    def arrow(self) -> pa.Table:
        if len(self) <= _FEW_ROWS:
            with pa.ipc.open_stream(self._script.value(self._rows.arrow())) as stream:
                return stream.read_all()
        with tempfile.NamedTemporaryFile(prefix="headrace-") as file:
            self._script.value(self._rows.arrowFile(file.name))
            with pa.ipc.open_stream(file) as stream:
                return stream.read_all()

    def fill(self, index: Any, places: Sequence[int] | None, *, weighted: bool, pends: bool) -> None:
        """Put the rows into an index: its key, its other columns and the weight are at these places, or in that
        order."""
        order = None if places is None else self._script.java_list(places)
        rows = (self._rows.all(), self._rows.schema(), order)
        self._script.value(self._script.static("headrace.Fill", "put", *rows, index, weighted, pends))

    def relation(self) -> Any:
        """The same rows as a plan of their own, with the same columns."""
        return self._rows.relation()

    def put(self, slot: Made) -> None:
        """Put the rows into a slot."""
        slot.put(self._rows.all())

    def __len__(self) -> int:
        return int(self._script.value(self._rows.size()))


def _remembered(jvm: Any) -> tuple[Any | None, Any | None]:
    """The one memory of small files that a JVM has, and what computes small plans in the driver; None for what does
    not fit a Spark of another version: then files are scanned, and jobs are run."""
    if id(jvm) not in _MEMORIES:
        _MEMORIES[id(jvm)] = (jvm, _made(jvm, "SmallFiles", True), _made(jvm, "Here", False))
    return _MEMORIES[id(jvm)][1:]


def _made(jvm: Any, name: str, instance: bool) -> Any | None:
    try:
        made = java_class(jvm, name)
        return made.newInstance() if instance else made
    except Py4JJavaError:
        return None


def _small(files: Sequence[str | Path], most: int) -> str | None:
    """What tells files from others that may once be in their places; None where they are many or large."""
    if len(files) > _FEW_FILES:
        return None
    stats = [(str(f), Path(f).stat()) for f in files]
    if sum(s.st_size for _, s in stats) > most:
        return None
    return json.dumps([part for path, s in stats for part in (path, s.st_size, str(s.st_mtime_ns))])


def items(seq: Any) -> list[Any]:
    """The elements of a Scala Seq."""
    return [seq.apply(i) for i in range(seq.size())]


def name_of(attr: Attr) -> str:
    """The unique column name of an attribute, fit for SQL text and for files. It follows from the id alone."""
    return "c" + re.sub(r"[^A-Za-z0-9]", "_", attr.id)
