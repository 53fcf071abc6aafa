"""Types between Headrace (DDL text), Spark and Arrow."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NullType,
    StructField,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from headrace.ir.expr import Attr


@lru_cache(maxsize=4096)
def parse_type(ddl: str) -> DataType:
    return DataType.fromDDL(ddl)


def spark_type(attr: Attr) -> DataType:
    return parse_type(attr.type)


def storable(kind: DataType) -> bool:
    """Whether a Delta table can hold the type."""
    if isinstance(kind, NullType | DayTimeIntervalType | YearMonthIntervalType | VariantType):
        return False
    if isinstance(kind, ArrayType):
        return storable(kind.elementType)
    if isinstance(kind, MapType):
        return storable(kind.keyType) and storable(kind.valueType)
    if isinstance(kind, StructType):
        return all(storable(f.dataType) for f in kind.fields)
    return True


def nullable(kind: DataType) -> DataType:
    """The type with everything in it nullable, for comparing what files promise."""
    if isinstance(kind, ArrayType):
        return ArrayType(nullable(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(nullable(kind.keyType), nullable(kind.valueType), True)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, nullable(f.dataType), True) for f in kind.fields])
    return kind


def from_arrow(schema: pa.Schema) -> dict[str, DataType]:
    """Spark's types for the columns of a file, all nullable."""
    return {f.name: nullable(from_arrow_type(f.type)) for f in schema}
