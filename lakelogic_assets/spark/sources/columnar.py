"""Parquet, ORC and Avro: every file by the schema in its own footer or header, so that a drift is no accident."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import orc, parquet
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.sources.arrow_types import Reading, reading_of
from lakelogic_assets.spark.sources.reader import file_column, passed_on, reader
from lakelogic_assets.spark.sources.snapshot import SOURCE_PATH, FileStat
from lakelogic_assets.spark.sources.unions import Folders, folders_of, refuse_doubles, union
from lakelogic_assets.spark.sources.widths import most_columns, refuse_too_wide

_SPARK_SCHEMA: Final = b"org.apache.spark.sql.parquet.row.metadata"
_AVRO_MAGIC: Final = b"Obj\x01"
# Spark ships its reader for Avro and only leaves out the line that gives it a short name.
SHIPPED_READERS: Final = {"avro": "org.apache.spark.sql.avro.AvroFileFormat"}


@dataclass(frozen=True)
class Shape:
    """What a file says about its columns; `readings` is None where Spark itself must look."""

    names: tuple[str, ...]
    key: str
    readings: tuple[Reading, ...] | None
    rows: int = 0


Look = Callable[[str, float], Shape]
"""Looks at a file of that path and time of change."""


def parquet_rows(files: Sequence[FileStat]) -> int:
    """How many rows the footers say there are; for files that `read_columnar` has looked at."""
    return sum(_of_parquet(file.path, file.mtime).rows for file in files)


def read_columnar(
    spark: SparkSession,
    files: Sequence[FileStat],
    file_format: str,
    options: Mapping[str, str],
    root: str,
    *,
    names_files: bool = True,
) -> DataFrame:
    """All rows by column name; types that disagree between files become text."""
    look = _LOOKS[file_format]
    groups: dict[tuple[str, Folders], list[str]] = defaultdict(list)
    shapes: dict[str, Shape] = {}
    for file in files:
        shape = _looked_at(look, file)
        refuse_too_wide(len(shape.names), file.path, most_columns(options))
        folders = folders_of(file.path, root)
        refuse_doubles([*shape.names, *folders.keys], file.path)
        shapes[shape.key] = shape
        groups[shape.key, folders].append(file.path)
    frames = [
        _read_group(spark, file_format, options, shapes[key], folders, paths, names_files=names_files)
        for (key, folders), paths in groups.items()
    ]
    return union(frames)


def _looked_at(look: Look, file: FileStat) -> Shape:
    if file.size == 0:
        raise SourceError(f"{file.path} is empty: 0 bytes are not a file of this format.", file.path)
    try:
        return look(file.path, file.mtime)
    except FileNotFoundError as error:
        raise SourceError(f"{file.path} was listed but is gone now.", file.path) from error
    except PermissionError as error:
        raise SourceError(f"{file.path} cannot be read: permission denied.", file.path) from error
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        raise SourceError(f"{file.path} is damaged, cut off or of another format.", file.path) from error


@lru_cache(maxsize=10_000)
def _of_parquet(path: str, _mtime: float) -> Shape:
    """Remembered, because a footer is asked for its columns and for its rows."""
    with parquet.ParquetFile(path) as file:
        names = tuple(file.schema_arrow.names)
        noted = (file.metadata.metadata or {}).get(_SPARK_SCHEMA)
        if noted:
            # Spark wrote the file, so its own words are exact.
            fields = T.StructType.fromJson(json.loads(noted)).fields
            readings = tuple(Reading(field.name, field.dataType) for field in fields)
            return Shape(names, f"spark {noted.decode()}", readings, file.metadata.num_rows)
        int96 = {
            file.schema.column(index).path
            for index in range(len(file.schema.names))
            if file.schema.column(index).physical_type == "INT96"
        }
        found = [reading_of(field, is_int96=field.name in int96) for field in file.schema_arrow]
        known = tuple(reading for reading in found if reading)
        key = f"{file.schema_arrow.remove_metadata()} {sorted(int96)}"
        return Shape(names, key, known if len(known) == len(found) else None, file.metadata.num_rows)


def _of_orc(path: str, _mtime: float) -> Shape:
    schema = orc.ORCFile(path).schema
    return Shape(tuple(schema.names), str(schema.remove_metadata()), None)


def _of_avro(path: str, _mtime: float) -> Shape:
    """The schema in an Avro file's header: a map of texts after four magic bytes."""
    with Path(path).open("rb") as file:
        content = memoryview(file.read(1 << 20))
    if bytes(content[:4]) != _AVRO_MAGIC:
        raise ValueError("no Avro file")
    position = 4
    while True:
        count, position = _avro_long(content, position)
        if count == 0:
            raise ValueError("an Avro file without a schema")
        if count < 0:
            _, position = _avro_long(content, position)
        for _ in range(abs(count)):
            key, position = _avro_bytes(content, position)
            value, position = _avro_bytes(content, position)
            if key == b"avro.schema":
                schema = json.loads(value)
                fields = schema.get("fields", []) if isinstance(schema, dict) else []
                return Shape(tuple(str(field["name"]) for field in fields), value.decode(), None)


def _avro_long(content: memoryview, position: int) -> tuple[int, int]:
    shift = total = 0
    while True:
        byte = content[position]
        total |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if not byte & 0x80:
            return (total >> 1) ^ -(total & 1), position


def _avro_bytes(content: memoryview, position: int) -> tuple[bytes, int]:
    length, position = _avro_long(content, position)
    if not 0 <= length <= len(content) - position:
        raise ValueError("cut off")
    return bytes(content[position : position + length]), position + length


_LOOKS: Final[Mapping[str, Look]] = {"parquet": _of_parquet, "orc": _of_orc, "avro": _of_avro}


def _read_group(
    spark: SparkSession, file_format: str, options: Mapping[str, str], shape: Shape, folders: Folders, paths: list[str],
    *, names_files: bool,
) -> DataFrame:  # fmt: skip
    made = reader(spark, passed_on(options, file_format), folders).format(SHIPPED_READERS.get(file_format, file_format))
    if shape.readings is not None:
        fields = [T.StructField(each.name, each.stored) for each in shape.readings]
        fields += [T.StructField(key, T.StringType()) for key in folders.keys]
        made = made.schema(T.StructType(fields))
    frame = made.load(paths)
    values: list[Column] = [each.value().alias(each.name) for each in shape.readings or ()]
    if shape.readings is None:
        values = [column(name) for name in frame.columns if name not in folders.keys]
    keyed = [column(key).cast("string").alias(key) for key in folders.keys]
    # Even a column that nobody reads in the end makes the scan hand out all that it knows about a file.
    named = [file_column(paths).alias(SOURCE_PATH)] if names_files else []
    return frame.select(*values, *keyed, *named)
