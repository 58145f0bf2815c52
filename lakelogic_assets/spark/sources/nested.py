"""`flatten_nested`: structs become columns of their own, arrays of structs become JSON text."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.sources.unions import refuse_doubles

_SEPARATOR = "_"


def flattened(frame: DataFrame, chosen: bool | tuple[str, ...], name: str) -> DataFrame:
    """`address: {city}` → `address_city`, to any depth, for all columns or the chosen ones.

    A chosen column of JSON text is parsed first; finding out what is in it reads the column once.
    """
    if not chosen:
        return frame
    named = () if isinstance(chosen, bool) else chosen
    for each in named:
        frame = _parsed(frame, each)
    picked = {each.lower() for each in named} if named else None
    columns: list[tuple[str, Column]] = []
    for field in frame.schema.fields:
        if picked is None or field.name.lower() in picked:
            columns += _leaves(field.name, column(field.name), field.dataType)
        else:
            columns.append((field.name, column(field.name)))
    refuse_doubles([each for each, _ in columns], f"{name}, flattened,")
    return frame.select(*[value.alias(each) for each, value in columns])


def _leaves(name: str, value: Column, kind: T.DataType) -> Iterator[tuple[str, Column]]:
    if isinstance(kind, T.StructType):
        for field in kind.fields:
            yield from _leaves(f"{name}{_SEPARATOR}{field.name}", value.getField(field.name), field.dataType)
    elif isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StructType | T.ArrayType | T.MapType):
        yield name, F.to_json(value)
    else:
        yield name, value


def _parsed(frame: DataFrame, name: str) -> DataFrame:
    found = find_column(frame, name)
    if found is None or not isinstance(frame.schema[found].dataType, T.StringType):
        return frame
    texts = frame.select(column(found).alias("value")).where("value IS NOT NULL")
    inner = frame.sparkSession.read.json(texts).schema
    known = T.StructType([field for field in inner.fields if field.name != "_corrupt_record"])
    return frame.withColumn(found, F.from_json(column(found), known)) if known.fields else frame
