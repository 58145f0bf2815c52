"""Groups of files that agree in their columns, put together by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import PurePosixPath

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.identifiers import column, find_name

_WHOLE = (T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType())
_FLOATING = (T.FloatType(), T.DoubleType())
_COMPLEX = (T.StructType, T.ArrayType, T.MapType)


_WILD = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True)
class Folders:
    """The `key=value` folders between a base folder and a file: columns that stand in no file."""

    base: str = ""
    keys: tuple[str, ...] = ()
    alone: str | None = None
    """A file that no other may be read together with."""


def folders_of(path: str, root: str) -> Folders:
    """The keyed folders directly above a file, down from the source's own folder.

    A name with a wildcard in it, even where Spark is told that it is none, makes Spark read its neighbours twice.
    """
    parents = PurePosixPath(path).parent
    keys: list[str] = []
    while str(parents) != root and "=" in parents.name and len(parents.parts) > 1:
        keys.append(parents.name.split("=", 1)[0])
        parents = parents.parent
    alone = path if _WILD.search(path) else None
    return Folders(str(parents), tuple(reversed(keys)), alone) if keys else Folders(alone=alone)


def together(paths: Sequence[str]) -> list[list[str]]:
    """The paths in groups that may each be read at once."""
    plain = [path for path in paths if not _WILD.search(path)]
    return ([plain] if plain else []) + [[path] for path in paths if _WILD.search(path)]


def refuse_doubles(names: Sequence[str], file: str) -> None:
    """Two columns of one name, in whatever case, cannot be told apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.lower())
        if other is not None:
            what = f"the column `{name}` twice" if other == name else f"both `{other}` and `{name}`"
            raise SourceError(f"{file} has {what}; rename one of them.", file)
        seen[name.lower()] = name


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows; a column is the same column in any case, absent ones are NULL, types that disagree become text."""
    if len(frames) == 1:
        return frames[0]
    types: dict[str, T.DataType] = {}
    for frame in frames:
        for field in frame.schema.fields:
            known = find_name(types, field.name)
            types[known or field.name] = _common(types[known], field.dataType) if known else field.dataType
    return reduce(DataFrame.union, [frame.select(_projection(frame, types)) for frame in frames])


def _projection(frame: DataFrame, types: dict[str, T.DataType]) -> list[Column]:
    own = {field.name: field.dataType for field in frame.schema.fields}
    columns = []
    for name, wanted in types.items():
        found = find_name(own, name)
        value = F.lit(None).cast(wanted) if found is None else _as(column(found), own[found], wanted)
        columns.append(value.alias(name))
    return columns


def _as(value: Column, own: T.DataType, wanted: T.DataType) -> Column:
    if own == wanted:
        return value
    if isinstance(own, T.NullType):
        return F.lit(None).cast(wanted)
    if isinstance(wanted, T.StringType) and isinstance(own, _COMPLEX):
        return F.to_json(value)
    if isinstance(wanted, T.StringType) and isinstance(own, T.BinaryType):
        return F.base64(value)
    return value.cast(wanted)


def _common(one: T.DataType, other: T.DataType) -> T.DataType:
    """The type that holds both without a loss; text where there is none."""
    if one == other or isinstance(other, T.NullType):
        return one
    if isinstance(one, T.NullType):
        return other
    for family in (_WHOLE, _FLOATING):
        if one in family and other in family:
            return max(one, other, key=family.index)
    if isinstance(one, T.StructType) and isinstance(other, T.StructType) and _same_fields(one, other):
        return one
    return T.StringType()


def _same_fields(one: T.StructType, other: T.StructType) -> bool:
    """Equal but for whether a field may be NULL."""
    return one.simpleString() == other.simpleString()
