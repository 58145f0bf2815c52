"""CSV and TSV: every file by its own header, every value as text, every malformed line kept."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.sources.heads import encoding_of, first_line, head
from lakelogic_assets.spark.sources.reader import file_column, passed_on, reader
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH, FileStat
from lakelogic_assets.spark.sources.unions import Folders, folders_of, refuse_doubles, union
from lakelogic_assets.spark.sources.widths import most_columns, refuse_endless_lines, refuse_too_wide

_LOOKED_AT_ONE_BY_ONE: Final = 200
REPLACEMENT: Final = "\ufffd"
# Spark takes `""` for NULL as long as NULL is written as nothing; no cell holds this.
_NO_VALUE: Final = "\0\0"
_WIDE: Final = ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32")
_SPARK_CHARSETS: Final = frozenset(("UTF-8", "US-ASCII", "ISO-8859-1", *_WIDE))
LINE_ENCODINGS: Final = frozenset(("UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16LE", "UTF-16BE", "WINDOWS-1252"))
"""Those in which Spark can look for line ends in JSON without decoding first."""
_ESCAPED: Final = {"\\t": "\t", "\\n": "\n", "\\u0001": "\x01", "\\x01": "\x01"}


@dataclass(frozen=True)
class Dialect:
    """How lines become cells, from the contract's reader options."""

    options: Mapping[str, str]
    default_delimiter: str = ","

    def _get(self, *names: str) -> str | None:
        folded = {name.casefold(): value for name, value in self.options.items()}
        return next((folded[name] for name in names if name in folded), None)

    @cached_property
    def delimiter(self) -> str:
        said = self._get("sep", "delimiter") or self.default_delimiter
        return _ESCAPED.get(said, said)

    @cached_property
    def quote(self) -> str:
        said = self._get("quote")
        return '"' if said is None else said

    @cached_property
    def escape(self) -> str:
        return self._get("escape") or self.quote or '"'

    @property
    def encoding(self) -> str | None:
        return self._get("encoding", "charset")

    @property
    def comment(self) -> str | None:
        return self._get("comment")

    @property
    def has_header(self) -> bool:
        return (self._get("header") or "true").casefold() != "false"

    @property
    def is_multiline(self) -> bool:
        return (self._get("multiline") or "").casefold() == "true"

    def cells(self, line: str) -> list[str]:
        """The cells of one line."""
        if len(self.delimiter) != 1:
            return [cell.strip(self.quote or None) for cell in line.split(self.delimiter)]
        doubled = self.escape == self.quote
        parser = csv.reader(
            io.StringIO(line, newline=""),
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            doublequote=doubled,
            escapechar=None if doubled else self.escape,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
        )
        return next(parser, [])


@dataclass(frozen=True)
class _Group:
    """Files that can be read together: same columns in the same order, same encoding, same folders above."""

    names: tuple[str, ...]
    encoding: str
    folders: Folders


def read_delimited(
    spark: SparkSession, files: Sequence[FileStat], dialect: Dialect, root: str, positional: Sequence[str]
) -> DataFrame | None:
    """All rows as text by column name, plus the malformed ones; None when no file has a header.

    `positional` names the columns of files without a header.
    """
    groups: dict[_Group, list[str]] = defaultdict(list)
    for file in files:
        if group := _group(file, dialect, root, positional):
            groups[group].append(file.path)
    frames = [_read_group(spark, group, paths, dialect) for group, paths in groups.items()]
    return union(frames) if frames else None


def _group(file: FileStat, dialect: Dialect, root: str, positional: Sequence[str]) -> _Group | None:
    start = head(file.path)
    encoding = encoding_of(file.path, start, dialect.encoding)
    quote = dialect.quote if dialect.is_multiline or encoding in _WIDE else None
    line = first_line(file.path, encoding, comment=dialect.comment, quote=quote)
    if line is None:
        return None
    if dialect.has_header and REPLACEMENT in line:
        cure = "name its encoding with `options: {encoding: …}`"
        raise SourceError(f"The header of {file.path} is not {encoding}: {cure}.", file.path)
    cells = _cells(dialect, line, file.path)
    if dialect.has_header:
        names = tuple(cell or f"_c{index}" for index, cell in enumerate(cells))
    else:
        names = tuple(positional) or tuple(f"_c{index}" for index in range(len(cells)))
    refuse_too_wide(len(names), file.path, most_columns(dialect.options))
    if not (dialect.is_multiline or encoding in _WIDE):
        refuse_endless_lines(file)
    folders = folders_of(file.path, root)
    refuse_doubles([*names, *folders.keys], file.path)
    return _Group(names, encoding, folders)


def _cells(dialect: Dialect, line: str, path: str) -> list[str]:
    csv.field_size_limit(max(csv.field_size_limit(), len(line) + 1))
    try:
        return dialect.cells(line)
    except csv.Error as error:
        raise SourceError(f"The header of {path} cannot be read: {error}.", path) from error


def _read_group(spark: SparkSession, group: _Group, paths: list[str], dialect: Dialect) -> DataFrame:
    names = [*group.names, *group.folders.keys]
    stored = (*group.names, CORRUPT, *group.folders.keys)
    schema = T.StructType([T.StructField(name, T.StringType()) for name in stored])
    given = passed_on(dialect.options, "csv")
    multiline = dialect.is_multiline or group.encoding.upper() in _WIDE
    allow_charset(spark, group.encoding)
    settings = {
        "nullValue": _NO_VALUE,
        **given,
        "header": str(dialect.has_header).lower(),
        "sep": dialect.delimiter,
        "quote": dialect.quote,
        "escape": dialect.escape,
        "encoding": group.encoding,
        "multiLine": str(multiline).lower(),
        "enforceSchema": "true",
        "columnNameOfCorruptRecord": CORRUPT,
        "mode": "PERMISSIVE",
    }
    frame = reader(spark, settings, group.folders).schema(schema).csv(paths)
    return frame.select(
        *[column(name) for name in names],
        _malformed([column(name) for name in group.names], dialect.delimiter).alias(CORRUPT),
        file_column(paths).alias(SOURCE_PATH),
    )


def allow_charset(spark: SparkSession, encoding: str) -> None:
    """Lets the session read encodings beyond the few that Spark allows by itself."""
    if encoding.upper() not in _SPARK_CHARSETS:
        spark.conf.set("spark.sql.legacy.javaCharsets", "true")


def _malformed(cells: list[Column], delimiter: str) -> Column:
    """What Spark could not fit into the columns, or whose bytes were not of the encoding."""
    line = F.concat_ws(delimiter, *cells)
    if len(cells) > _LOOKED_AT_ONE_BY_ONE:
        return F.coalesce(column(CORRUPT), F.when(line.contains(REPLACEMENT), line))
    # Looking at the cells where they are costs less than joining every line first.
    damaged = reduce(or_, [F.coalesce(cell.contains(REPLACEMENT), F.lit(False)) for cell in cells])
    return F.coalesce(column(CORRUPT), F.when(damaged, line))
