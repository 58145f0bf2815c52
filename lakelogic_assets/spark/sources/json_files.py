"""JSON: lines, arrays and single documents; values as text, nested ones as they are built."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.sources.delimited import LINE_ENCODINGS, allow_charset
from lakelogic_assets.spark.sources.heads import encoding_of, first_line, head, opened
from lakelogic_assets.spark.sources.reader import (
    NOWHERE,
    corrupt_column,
    file_column,
    flag,
    passed_on,
    reader,
)
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH, FileStat
from lakelogic_assets.spark.sources.unions import Folders, folders_of, refuse_doubles, union
from lakelogic_assets.spark.sources.widths import most_columns, refuse_endless_lines, refuse_many_keys, schema_within

_NESTED = (T.StructType, T.ArrayType, T.MapType)
LARGEST_DOCUMENT: Final = 64 * 1024 * 1024
_LOOKED_AT: Final = 20


@dataclass(frozen=True)
class _Group:
    multiline: bool
    encoding: str
    folders: Folders


def read_json(
    spark: SparkSession,
    files: Sequence[FileStat],
    options: Mapping[str, str],
    root: str,
    *,
    lines: bool,
    wanted: T.StructType | None,
) -> DataFrame:
    """All rows; every plain value as the text that stands in the file.

    With `wanted` only those keys are read, in one pass, as long as the files show all of them at their beginning: a key
    that is nowhere must not become a column. Otherwise a pass over the data finds out which keys there are.
    """
    groups: dict[_Group, list[str]] = defaultdict(list)
    for file in files:
        if file.size:
            groups[_group(file, options, root, lines)].append(file.path)
    if wanted is not None and not _is_shown([path for paths in groups.values() for path in paths], wanted):
        wanted = None
    frames = [_read_group(spark, group, paths, options, wanted) for group, paths in groups.items()]
    if not frames:
        empty = wanted or T.StructType([])
        return spark.createDataFrame([], empty.add(CORRUPT, "string").add(SOURCE_PATH, "string"))
    return union(frames)


def _group(file: FileStat, options: Mapping[str, str], root: str, lines: bool) -> _Group:
    declared = next((value for key, value in options.items() if key.lower() in ("encoding", "charset")), None)
    encoding = encoding_of(file.path, head(file.path), declared)
    said = flag(options, "multiLine")
    multiline = _is_document(file, encoding) if said is None and not lines else bool(said)
    if encoding.upper() not in LINE_ENCODINGS:
        multiline = True
    if multiline:
        _refuse_several(file, encoding)
    else:
        refuse_endless_lines(file)
    return _Group(multiline, encoding, folders_of(file.path, root))


def _is_document(file: FileStat, encoding: str) -> bool:
    """Whether a `.json` file is one array or one object over many lines rather than an object a line."""
    line = (first_line(file.path, encoding) or "").strip()
    if line.startswith("["):
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        # A first line that is broken, or the beginning of an object that goes on.
        return line in ("{", "") or _is_whole(file, encoding)
    return False


def _is_whole(file: FileStat, encoding: str) -> bool:
    if file.size > LARGEST_DOCUMENT:
        return False
    with opened(file.path) as content:
        text = content.read().decode(encoding, errors="replace").lstrip("\ufeff")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_several(file: FileStat, encoding: str) -> None:
    """Of several objects in a row Spark reads the first and drops the rest without a word."""
    if not (first_line(file.path, encoding) or "").lstrip().startswith("{") or file.size > LARGEST_DOCUMENT:
        return
    with opened(file.path) as content:
        text = content.read().decode(encoding, errors="replace").lstrip("\ufeff").strip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return  # malformed as a whole, which Spark notices by itself
    if text[end:].strip():
        raise SourceError(
            f"{file.path} holds several JSON objects one after the other: write one a line, or put them into an array.",
            file.path,
        )


def _is_shown(paths: Sequence[str], wanted: T.StructType) -> bool:
    """Whether the beginnings of the files hold every wanted key, as it is spelled and as it is wanted."""
    spelled = {field.name: field.dataType for field in wanted.fields}
    folded = {name.lower() for name in spelled}
    shown: set[str] = set()
    for path in paths:
        for record in _first_records(path):
            for key, value in record.items():
                if key not in spelled and key.lower() in folded:
                    return False
                if isinstance(value, dict | list) and isinstance(spelled.get(key), T.StringType):
                    return False
            shown |= record.keys()
    return shown >= spelled.keys()


def _first_records(path: str) -> Iterator[dict[str, Any]]:
    text = head(path).decode(errors="replace").lstrip("\ufeff \t\r\n[")
    decoder, position = json.JSONDecoder(), 0
    for _ in range(_LOOKED_AT):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1


def _read_group(
    spark: SparkSession, group: _Group, paths: list[str], options: Mapping[str, str], wanted: T.StructType | None
) -> DataFrame:
    settings = {
        **passed_on(options, "json"),
        "multiLine": str(group.multiline).lower(),
        "columnNameOfCorruptRecord": CORRUPT,
        "mode": "PERMISSIVE",
    }
    if group.encoding.upper() != "UTF-8":
        allow_charset(spark, group.encoding)
        settings |= {"encoding": group.encoding} | ({} if group.multiline else {"lineSep": "\n"})
    most = most_columns(options)
    if wanted is None and not group.multiline and sum(Path(path).stat().st_size for path in paths) > most:
        refuse_many_keys(reader(spark, {}).text(paths), paths, most)
    content = wanted or _found_schema(spark, settings, paths, most)
    names = [name for name in content.names if name not in group.folders.keys]
    fields = [*[content[name] for name in names], *_texts(CORRUPT, NOWHERE, *group.folders.keys)]
    frame = reader(spark, settings, group.folders).schema(T.StructType(fields)).json(paths)
    kept = [column(name) for name in (*names, *group.folders.keys)]
    return frame.select(*kept, corrupt_column(), file_column(paths).alias(SOURCE_PATH))


def _texts(*names: str) -> list[T.StructField]:
    return [T.StructField(name, T.StringType()) for name in names]


def _found_schema(spark: SparkSession, settings: Mapping[str, str], paths: list[str], most: int) -> T.StructType:
    try:
        found = schema_within(reader(spark, settings).json(paths), paths, most)
    except AnalysisException as error:
        if error.getCondition() == "COLUMN_ALREADY_EXISTS":
            _refuse_double_keys(paths)
        raise
    return T.StructType([_as_text(field) for field in found.fields if field.name != CORRUPT])


def _as_text(field: T.StructField) -> T.StructField:
    kept = field.dataType if isinstance(field.dataType, _NESTED) else T.StringType()
    return T.StructField(field.name, kept)


def _refuse_double_keys(paths: Sequence[str]) -> None:
    """Finds the file whose keys collide; only called when Spark has found that some do."""
    known: list[str] = []
    for path in paths:
        for keys, is_row in _keys(path):
            refuse_doubles(keys, path)
            known += [key for key in keys if is_row and key not in known]
            refuse_doubles(known, path)
    raise SourceError(f"{paths[0]} and others like it have keys that differ in case only.", paths[0])


def _keys(path: str) -> Iterator[tuple[list[str], bool]]:
    """The keys of every object, inner ones first, and whether they are those of a row."""
    found: list[list[str]] = []

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append([key for key, _ in pairs])
        return dict(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=noted)
    with opened(path) as content:
        text = content.read().decode("utf-8-sig", errors="replace")
    is_array = text.lstrip().startswith("[")
    for line in [text] if is_array else text.splitlines():
        found.clear()
        try:
            decoder.decode(line)
        except (ValueError, RecursionError):
            continue
        for index, keys in enumerate(found, start=1):
            yield keys, not is_array and index == len(found)
