"""The row that facts point at when their key resolves to nothing."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.materialization import UnknownMember
from lakelogic_assets.spark.identifiers import column, find_column, find_name

TEXT = "Unknown"
NUMBER = -1


def unknown_member(
    spark: SparkSession, schema: T.StructType, member: UnknownMember, fixed: Mapping[str, Column]
) -> DataFrame:
    """One row of the schema: the contract's defaults, `fixed` columns as they are given, else a value by type."""
    said = {find_name(schema.names, name) or name: F.lit(value) for name, value in member.default_values.items()}
    values = {**fixed, **said}
    # A value that the type cannot hold, such as -1 in decimal(2,2), is left empty.
    cells = [
        values.get(each.name, _by_type(each.dataType)).try_cast(each.dataType).alias(each.name)
        for each in schema.fields
    ]
    return spark.range(1).select(*cells)


def is_unknown(surrogate_key: Column, member: UnknownMember) -> Column:
    """Whether a row is the unknown member, told by its id."""
    return surrogate_key.cast("string").eqNullSafe(F.lit(str(member.surrogate_key_value)))


def real_members(frame: DataFrame, surrogate_key: str | None, member: UnknownMember | None) -> DataFrame:
    """The frame without the unknown member."""
    found = find_column(frame, surrogate_key) if member is not None and surrogate_key else None
    return frame.where(~is_unknown(column(found), member)) if found and member else frame


def _by_type(kind: T.DataType) -> Column:
    match kind:
        case T.StringType():
            return F.lit(TEXT)
        case T.BooleanType():
            return F.lit(False)
        case T.NumericType():
            return F.lit(NUMBER)
        case _:
            return F.lit(None)
