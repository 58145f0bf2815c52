"""How wide a file may be: a header or a line without end would take all memory before a single row is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.sources.heads import opened
from lakelogic_assets.spark.sources.snapshot import FileStat

MOST_COLUMNS: Final = 10_000
MOST_COLUMNS_OPTION: Final = "maxColumns"
LONGEST_RECORD: Final = 64 * 1024 * 1024
_CHUNK: Final = 1 << 16
_UNPACKED_HERE: Final = (".gz", ".bz2", ".zst")
_MOST_OF_GZIP: Final = 1_032
"""So many bytes are what one byte of gzip can hold at most."""


def most_columns(options: Mapping[str, Any]) -> int:
    """How many columns a contract expects at most, by the option that Spark has for it."""
    said = next((value for name, value in options.items() if name.casefold() == MOST_COLUMNS_OPTION.casefold()), None)
    if said is None:
        return MOST_COLUMNS
    try:
        most = int(str(said))
    except ValueError:
        most = 0
    if not 0 < most < 1 << 31:
        raise SourceError(f"The reader option `{MOST_COLUMNS_OPTION}` is not a number of columns.")
    return most


def refuse_too_wide(count: int, file: str, most: int) -> None:
    """More columns than anybody planned for are a mistake, or meant to do harm."""
    if count > most:
        cure = f"say `options: {{{MOST_COLUMNS_OPTION}: {count}}}` if that is meant"
        raise SourceError(f"{file} has {count:,} columns, and at most {most:,} are read: {cure}.", file)


def refuse_many_keys(lines: DataFrame, paths: Sequence[str], most: int) -> None:
    """More keys than a row may have, over all lines of JSON: counted as values, since as columns they stall Spark."""
    keys = lines.select(F.explode(F.json_object_keys("value")).alias("key")).distinct()
    refuse_too_wide(keys.count(), _named(paths), most)


def refuse_many_names(spark: SparkSession, paths: Sequence[str], most: int) -> None:
    """The same for the elements and attributes of XML, which Spark would make columns of before it is asked."""
    # Cut at every tag, so that no piece is longer than what stands between two of them.
    tags = spark.read.option("lineSep", "<").option("__globPaths__", "false").text(list(paths))
    inside = F.substring_index("value", ">", 1)
    named = F.array(F.regexp_extract(inside, r"^([^\s/?!]+)", 1))
    said = F.regexp_extract_all(inside, F.lit(r"\s([^\s=]+)\s*="), F.lit(1))
    attributes = F.transform(said, lambda name: F.concat(F.lit("_"), name))
    names = tags.select(F.explode(F.concat(named, attributes)).alias("name")).where("name <> ''").distinct()
    refuse_too_wide(names.count(), _named(paths), most)


def schema_within(frame: DataFrame, paths: Sequence[str], most: int) -> T.StructType:
    """The schema that Spark found in files, counted before Python builds an object for each of its fields."""
    said = driver_of(frame.sparkSession).schema_json(frame)
    refuse_too_wide(said.count('"name":'), _named(paths), most)
    return T.StructType.fromJson(json.loads(said))


def _named(paths: Sequence[str]) -> str:
    others = len(paths) - 1
    return paths[0] if not others else f"{paths[0]}, together with {others} more,"


def refuse_endless_lines(file: FileStat) -> None:
    """A line that is longer than any record ends the run here, and not the JVM for want of memory."""
    path = Path(file.path)
    if path.suffix in _UNPACKED_HERE:
        if path.suffix != ".gz" or file.size * _MOST_OF_GZIP > LONGEST_RECORD:
            _refuse_if(_found(_runs_on, file.path), file.path)
    elif file.size > LONGEST_RECORD:
        _refuse_if(_found(lambda content: _has_gap(content, file.size), file.path), file.path)


def refuse_endless_elements(file: FileStat) -> None:
    """The same for XML, where a line means nothing: no tag for longer than any record is."""
    is_long = file.size > LONGEST_RECORD or Path(file.path).suffix in _UNPACKED_HERE
    if is_long and _found(lambda content: _runs_on(content, b"<"), file.path):
        message = f"{file.path} has more than {LONGEST_RECORD:,} bytes without a tag, which no value has."
        raise SourceError(message, file.path)


def _found(look: Callable[[IO[bytes]], bool], path: str) -> bool:
    try:
        with opened(path) as content:
            return look(content)
    except SourceError:  # it is damaged, which who reads it says
        return False


def _refuse_if(is_endless: bool, path: str) -> None:
    if is_endless:
        message = f"{path} has a line of more than {LONGEST_RECORD:,} bytes, which no record has: write one a line."
        raise SourceError(message, path)


def _runs_on(content: IO[bytes], ends: bytes = b"\n\r") -> bool:
    """Whether a stream goes on for too long without a line end, or whatever else ends a piece of it."""
    length = 0
    while chunk := content.read(_CHUNK):
        first, last = _first_end(chunk, ends), _last_end(chunk, ends)
        if length + (len(chunk) if first < 0 else first) > LONGEST_RECORD:
            return True
        length = length + len(chunk) if last < 0 else len(chunk) - last - 1
    return False


def _has_gap(content: IO[bytes], size: int) -> bool:
    """The same for a file that can be looked into anywhere: a line end in every stretch is enough."""
    start = 0
    while size - start > LONGEST_RECORD:
        end = _last_end_before(content, start, start + LONGEST_RECORD)
        if end is None:
            return True
        start = end + 1
    return False


def _last_end_before(content: IO[bytes], start: int, stop: int) -> int | None:
    while stop > start:
        begin = max(start, stop - _CHUNK)
        content.seek(begin)
        found = _last_end(content.read(stop - begin))
        if found >= 0:
            return begin + found
        stop = begin
    return None


def _first_end(chunk: bytes, ends: bytes = b"\n\r") -> int:
    return min((at for end in ends if (at := chunk.find(end)) >= 0), default=-1)


def _last_end(chunk: bytes, ends: bytes = b"\n\r") -> int:
    return max(chunk.rfind(end) for end in ends)
