"""Column types of a Parquet footer as Spark reads them, so that Spark need not start a job to look for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow import types as arrow
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.spark.identifiers import column, quoted

_PLAIN: Final[dict[pa.DataType, T.DataType]] = {
    pa.bool_(): T.BooleanType(),
    pa.int8(): T.ByteType(),
    pa.int16(): T.ShortType(),
    pa.int32(): T.IntegerType(),
    pa.int64(): T.LongType(),
    pa.uint8(): T.ShortType(),
    pa.uint16(): T.IntegerType(),
    pa.uint32(): T.LongType(),
    pa.uint64(): T.DecimalType(20, 0),
    pa.float32(): T.FloatType(),
    pa.float64(): T.DoubleType(),
    pa.string(): T.StringType(),
    pa.large_string(): T.StringType(),
    pa.string_view(): T.StringType(),
    pa.binary(): T.BinaryType(),
    pa.large_binary(): T.BinaryType(),
    pa.binary_view(): T.BinaryType(),
    pa.date32(): T.DateType(),
}
_WIDEST_DECIMAL: Final = 38
_UNITS_A_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class Reading:
    """How a column is read, and what is made of it: Spark knows neither nanoseconds nor times of day."""

    name: str
    stored: T.DataType
    unit: str | None = None
    kind: str = "plain"

    def value(self) -> Column:
        stored = column(self.name)
        match self.kind:
            case "nanoseconds":
                return _instant(self.name)
            case "local nanoseconds":
                return _instant(self.name).cast("timestamp_ntz")
            case "time of day":
                return _clock(stored, _UNITS_A_SECOND[self.unit or "us"])
            case "nothing":
                return F.lit(None)
            case _:
                return stored


def _instant(name: str) -> Column:
    """Whole numbers throughout: so many nanoseconds do not fit into a double."""
    ticks = quoted(name)
    return F.timestamp_micros(F.expr(f"({ticks} - pmod({ticks}, 1000)) div 1000"))


def _clock(ticks: Column, per_second: int) -> Column:
    """`01:02:03.5`, as text: a time of day is no type of the language."""
    seconds = F.floor(ticks / per_second)
    fraction = F.format_string("%09d", ((ticks % per_second) * (1_000_000_000 // per_second)).cast("bigint"))
    clock = F.format_string(
        "%02d:%02d:%02d",
        F.floor(seconds / 3600).cast("bigint"),
        F.floor(seconds / 60).cast("bigint") % 60,
        seconds.cast("bigint") % 60,
    )
    return F.when(ticks.isNotNull(), F.regexp_replace(F.concat(clock, F.lit("."), fraction), r"\.?0*$", ""))


def reading_of(field: pa.Field, *, is_int96: bool = False) -> Reading | None:
    """How to read a column; None for types that are better left to Spark."""
    kind = field.type
    if is_int96:
        return Reading(field.name, T.TimestampType())
    if arrow.is_timestamp(kind) and kind.unit == "ns":
        return Reading(field.name, T.LongType(), kind="nanoseconds" if kind.tz else "local nanoseconds")
    if arrow.is_time(kind):
        stored = T.IntegerType() if kind.unit == "ms" else T.LongType()
        return Reading(field.name, stored, kind.unit, kind="time of day")
    if arrow.is_null(kind):
        return Reading(field.name, T.IntegerType(), kind="nothing")
    found = spark_type(kind)
    return Reading(field.name, found) if found else None


def spark_type(kind: pa.DataType) -> T.DataType | None:
    """The Spark type of a type of Arrow's, as Spark itself would find it in the footer."""
    if plain := _PLAIN.get(kind):
        return plain
    if arrow.is_timestamp(kind) and kind.unit != "ns":
        return T.TimestampType() if kind.tz else T.TimestampNTZType()
    if arrow.is_decimal(kind) and kind.precision <= _WIDEST_DECIMAL:
        return T.DecimalType(kind.precision, kind.scale)
    if arrow.is_dictionary(kind):
        return spark_type(kind.value_type)
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        element = spark_type(kind.value_type)
        return T.ArrayType(element) if element else None
    if arrow.is_map(kind):
        key, item = spark_type(kind.key_type), spark_type(kind.item_type)
        return T.MapType(key, item) if key and item else None
    if arrow.is_struct(kind):
        inner = [T.StructField(field.name, found) for field in kind if (found := spark_type(field.type))]
        return T.StructType(inner) if len(inner) == kind.num_fields else None
    return None
