"""`flatten_nested`: structs become columns of their own, arrays of structs become JSON text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.sources.unions import refuse_doubles

_SEPARATOR = "_"


def flattened(frame: DataFrame, chosen: bool | tuple[str, ...], name: str, declared: Collection[str] = ()) -> DataFrame:
    """`address: {city}` → `address_city`, to any depth, for all columns or the chosen ones.

    A chosen column of JSON text is parsed first; finding out what is in it reads the column once. A `declared` part
    that no text of these rows has is NULL in all of them: what a text may hold, a few of them do not tell.
    """
    if not chosen:
        return frame
    named = () if isinstance(chosen, bool) else chosen
    for each in named:
        frame = _parsed(frame, each, declared)
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


def _parsed(frame: DataFrame, name: str, declared: Collection[str]) -> DataFrame:
    found = find_column(frame, name)
    if found is None or not isinstance(frame.schema[found].dataType, T.StringType):
        return frame
    texts = frame.select(column(found).alias("value")).where("value IS NOT NULL")
    inner = frame.sparkSession.read.json(texts).schema
    there = [field for field in inner.fields if field.name != "_corrupt_record"]
    known = T.StructType([*there, *_absent(found, there, [each for each in declared if each not in frame.columns])])
    return frame.withColumn(found, F.from_json(column(found), known)) if known.fields else frame


def _absent(name: str, there: Sequence[T.StructField], declared: Collection[str]) -> Iterator[T.StructField]:
    """The declared parts of a text that none of its fields can become."""
    prefix = f"{name}{_SEPARATOR}".casefold()
    known = tuple(field.name.casefold() for field in there)
    for each in declared:
        part = each[len(prefix) :]
        is_part = part and each.casefold().startswith(prefix)
        if is_part and not any(f"{part.casefold()}{_SEPARATOR}".startswith(f"{one}{_SEPARATOR}") for one in known):
            yield T.StructField(part, T.StringType())
