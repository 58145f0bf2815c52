"""Values from YAML beside values of columns, and columns in the type their contract declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import cast, declared_type
from lakelogic_assets.spark.scope import Scope

TEXT: Final = T.StringType()
_COMPLEX = (T.ArrayType, T.MapType, T.StructType, T.VariantType)
_UNORDERED = (T.MapType, T.VariantType)
_MOMENTS = (T.DateType, T.TimestampType, T.TimestampNTZType)


def kind_of(frame: DataFrame, name: str) -> T.DataType:
    return frame.schema[name].dataType


def declared_kind(scope: Scope, name: str) -> T.DataType | None:
    """The type a contract declares for a column; None where it declares none or keeps everything as text."""
    if scope.contract.server.cast_to_string:
        return None
    return declared_type(scope.contract, name)


def typed(frame: DataFrame, name: str, scope: Scope) -> tuple[Column, T.DataType]:
    """A column in the type its contract declares, while it may still be the text it arrived as.

    What is not of that type is NULL here; the row's own value is not touched.
    """
    own, wanted = kind_of(frame, name), declared_kind(scope, name)
    if isinstance(own, T.StringType) and wanted is not None and not isinstance(wanted, (T.StringType, *_COMPLEX)):
        return cast(column(name), own, wanted), wanted
    return column(name), own


def found(frame: DataFrame, name: str, scope: Scope, step: str) -> str | None:
    """The frame's spelling of a column; told to the reader of the report when there is no such column."""
    actual = find_column(frame, name)
    if actual is None:
        scope.warn(f"The step `{step}` names `{name}`, which is not a column here; it was left out.")
    return actual


def as_text(value: Column, kind: T.DataType) -> Column:
    """The value as text; what is nested as JSON."""
    if isinstance(kind, T.StringType):
        return value
    return F.to_json(value) if isinstance(kind, _COMPLEX) else value.cast("string")


def text_of(value: Any) -> str:
    """A value from YAML as it would be written."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def literal_kind(value: Any) -> T.DataType:
    """The type that a value from YAML has by itself."""
    if isinstance(value, bool):
        return T.BooleanType()
    if isinstance(value, int):
        return T.LongType()
    return T.DoubleType() if isinstance(value, float) else TEXT


def fits(value: Any, kind: T.DataType) -> bool:
    """Whether a value from YAML can stand in a column of that type."""
    own = literal_kind(value)
    if value is None or own == kind or isinstance(kind, T.StringType):
        return True
    if isinstance(kind, T.NumericType):
        return isinstance(own, T.NumericType) and (isinstance(own, T.LongType) or isinstance(kind, T.FractionalType))
    return isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType) and isinstance(own, T.StringType)


def literal(value: Any, kind: T.DataType) -> Column:
    """A value from YAML in a given type."""
    if value is None:
        return F.lit(None).cast(kind)
    return F.lit(text_of(value)).try_cast(kind)


def alike(values: Sequence[tuple[Column, T.DataType]]) -> tuple[list[Column], T.DataType]:
    """Columns in one type that holds them all: their own, the wider number, else text.

    Left to Spark, text beside a number is cast to the number, and the first word ends the run.
    """
    kinds = [kind for _, kind in values if not isinstance(kind, T.NullType)]
    common = kinds[0] if kinds else TEXT
    for kind in kinds[1:]:
        common = _wider(common, kind)
    return [_in(value, kind, common) for value, kind in values], common


def _in(value: Column, kind: T.DataType, wanted: T.DataType) -> Column:
    if kind == wanted:
        return value
    return as_text(value, kind) if isinstance(wanted, T.StringType) else value.try_cast(wanted)


def _wider(one: T.DataType, other: T.DataType) -> T.DataType:
    if one == other:
        return one
    whole = (T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType())
    if one in whole and other in whole:
        return max(one, other, key=whole.index)
    if isinstance(one, T.NumericType) and isinstance(other, T.NumericType):
        return T.DoubleType()
    return TEXT


def equals(value: Column, kind: T.DataType, wanted: Any) -> Column:
    """Whether a column holds a value from YAML: numbers as numbers, the rest by what is written."""
    if isinstance(kind, T.NumericType):
        number = F.lit(text_of(wanted)).try_cast("double")
        return F.coalesce(value.cast("double") == number, F.lit(False))
    return F.coalesce(as_text(value, kind) == F.lit(text_of(wanted)), F.lit(False))


def matched(value: Column, kind: T.DataType, key: Column, key_kind: T.DataType) -> tuple[Column, Column]:
    """Both sides of an equality that never raises: text beside a number is taken for a number where it is one.

    Links are often text whose types are guessed, so `1001` meets the column's `"1001"`, and `"unknown"` meets nothing.
    """
    kinds = (kind, key_kind)
    if kind == key_kind or any(all(isinstance(each, family) for each in kinds) for family in (T.NumericType, _MOMENTS)):
        return value, key
    if isinstance(kind, T.StringType) and not isinstance(key_kind, _COMPLEX):
        return value.try_cast(key_kind), key
    if isinstance(key_kind, T.StringType) and not isinstance(kind, _COMPLEX):
        return value, key.try_cast(kind)
    return as_text(value, kind), as_text(key, key_kind)


def is_ordered(kind: T.DataType) -> bool:
    """Whether values of the type can be compared."""
    if isinstance(kind, T.StructType):
        return all(is_ordered(field.dataType) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return is_ordered(kind.elementType)
    return not isinstance(kind, (*_UNORDERED, T.CalendarIntervalType, T.NullType))


def moment(value: Column, kind: T.DataType) -> Column:
    """A point in time from a date, a time, or text such as `2024-01-31`, `20240131` or an ISO time; else NULL."""
    if isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType):
        return value.cast("timestamp")
    text = F.trim(as_text(value, kind))
    compact = F.try_to_timestamp(text, F.lit("yyyyMMdd"))
    written = F.when(text.rlike(r"^[+-]?[0-9]{4,}-[0-9]{1,2}(-[0-9]{1,2})?([T ].*)?$"), text.try_cast("timestamp"))
    return F.when(text.rlike("^[0-9]{8}$"), compact).otherwise(written)
