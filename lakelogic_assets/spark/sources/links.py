"""Links: reference data that steps and rules look things up in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.source import Link
from lakelogic_assets.contract.sql import to_spark
from lakelogic_assets.errors import NotFoundError, SourceError
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.sources.files import FORMATS, FileSet, format_of, read_file_set
from lakelogic_assets.spark.sources.listing import list_files, refuse_strangers
from lakelogic_assets.spark.sources.reference_cache import Reference, ReferenceCache
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH, FileStat, SourceSnapshot
from lakelogic_assets.spark.tables import Lakehouse, is_uri

_DEFAULT_TYPE: Final = "parquet"
_TABLES: Final = ("table", "delta")
_TYPED_COLUMNS: Final = 200
"""Looking at more of them at once takes longer than it is worth."""


class HasSession(Protocol):
    """What reading a link needs of a scope."""

    @property
    def spark(self) -> SparkSession: ...
    @property
    def lakehouse(self) -> Lakehouse: ...
    @property
    def references(self) -> ReferenceCache | None: ...


@dataclass(frozen=True)
class _Place:
    """Where a link reads, and which state of it: a version of a table, or a list of files."""

    path: str
    version: int | None = None
    files: tuple[FileStat, ...] | None = None

    @property
    def identity(self) -> str | None:
        """None where nobody here knows what Spark will find."""
        if self.version is None and self.files is None:
            return None
        return SourceSnapshot(files=self.files or (), version=self.version, description=self.path).identity


def read_link(scope: HasSession, link: Link) -> DataFrame:
    """The link's rows: loaded, then queried or filtered, then cut down to its columns."""
    place = _placed(scope.lakehouse, link)
    identity = place.identity
    if scope.references is None or identity is None:
        frame = _read(scope.spark, scope.lakehouse, link, place)
    else:
        reference = Reference(_what(link, place.path), identity)
        frame = scope.references.frame(
            scope.spark, reference, lambda session: _read(session, scope.lakehouse, link, place)
        )
    return F.broadcast(frame) if link.broadcast else frame


def _what(link: Link, path: str) -> str:
    """All that decides what a link's rows look like; its name matters only to a query that uses it."""
    told = link.model_dump(exclude={"name", "path", "table", "broadcast"} if not link.query else {"broadcast"})
    return json.dumps({**told, "place": path}, sort_keys=True, default=str)


def _read(spark: SparkSession, lakehouse: Lakehouse, link: Link, place: _Place) -> DataFrame:
    frame = _queried(spark, link, _loaded(spark, lakehouse, link, place))
    if link.columns:
        frame = frame.select(*[_column(frame, link, name) for name in link.columns])
    return frame


def _placed(lakehouse: Lakehouse, link: Link) -> _Place:
    if link.table_name is not None:
        return _table(lakehouse, link, lakehouse.table_path(link.table or link.path or ""), link.table_name)
    place = lakehouse.source_path(link.path or "")
    if link.type in _TABLES or lakehouse.exists(place):
        return _table(lakehouse, link, place, place)
    if is_uri(place):
        return _Place(place)
    files = tuple(list_files(place))
    refuse_strangers(files, lakehouse.holds)
    if not files:
        raise NotFoundError(f"The link `{link.name}` reads {place}, and there is nothing.")
    return _Place(place, files=files)


def _table(lakehouse: Lakehouse, link: Link, path: str, name: str) -> _Place:
    version = lakehouse.version(path)
    if version is None:
        raise NotFoundError(f"The link `{link.name}` reads {name}, and there is no Delta table at {path}.")
    return _Place(path, version=version)


def _loaded(spark: SparkSession, lakehouse: Lakehouse, link: Link, place: _Place) -> DataFrame:
    if place.version is not None:
        return lakehouse.read(spark, place.path, place.version)
    return _typed(_files(spark, link, place), link)


def _files(spark: SparkSession, link: Link, place: _Place) -> DataFrame:
    declared = None if link.type == _DEFAULT_TYPE else link.type
    if place.files is None:
        kind = format_of(declared or _DEFAULT_TYPE, place.path)
        return read_file_set(spark, FileSet(place.path, kind, {}, None))
    # The type that a link has by default says less than the name of its file.
    named = declared or (None if _tells_format(place.path, place.files[0].path) else _DEFAULT_TYPE)
    kind = format_of(named, place.path, place.files)
    return read_file_set(spark, FileSet(place.path, kind, {}, place.files)).drop(SOURCE_PATH)


def _tells_format(*paths: str) -> bool:
    return any(path.lower().removesuffix(".gz").endswith(tuple(FORMATS)) for path in paths)


def _typed(frame: DataFrame, link: Link) -> DataFrame:
    """Reference data of text formats, in the types that its values have; what is malformed is an error.

    A text is a number only where writing the number gives the text again: `007` stays what it is.
    """
    if CORRUPT not in frame.columns:
        return frame
    texts = [name for name, kind in frame.dtypes if kind == "string" and name != CORRUPT][:_TYPED_COLUMNS]
    measured = {name: _measures(column(name), index) for index, name in enumerate(texts)}
    row = frame.agg(F.count(column(CORRUPT)).alias("broken"), *[m for each in measured.values() for m in each]).first()
    found = row.asDict() if row else {}
    if found.get("broken"):
        raise SourceError(f"{found['broken']} rows of the link `{link.name}` are malformed.", link.path)
    kinds = {name: _kind(found, index) for index, name in enumerate(texts)}
    casts = {name: column(name).try_cast(kind) for name, kind in kinds.items() if kind}
    return frame.drop(CORRUPT).withColumns(casts) if casts else frame.drop(CORRUPT)


def _measures(value: Column, index: int) -> list[Column]:
    def every(test: Column, name: str) -> Column:
        # A test that is NULL would be passed over, and a text that casts to nothing would count as a number.
        return F.every(value.isNull() | F.coalesce(test, F.lit(False))).alias(f"{name}{index}")

    scale = F.length(F.regexp_extract(value, r"\.([0-9]+)$", 1))
    return [
        every(value.try_cast("bigint").cast("string") == value, "whole"),
        every(value.try_cast("double").cast("string") == value, "double"),
        every(value.rlike(r"^-?(0|[1-9][0-9]{0,14})\.[0-9]{1,9}$"), "fixed"),
        every(value.isin("true", "false"), "truth"),
        F.min(scale).alias(f"low{index}"),
        F.max(scale).alias(f"high{index}"),
    ]


def _kind(found: dict[str, Any], index: int) -> str | None:
    """The type that gives every text again when it is written; None where only text does."""
    if found.get(f"high{index}") is None:
        return None  # no values
    if found[f"whole{index}"]:
        return "bigint"
    if found[f"fixed{index}"] and found[f"low{index}"] == found[f"high{index}"]:
        return f"decimal(24,{found[f'high{index}']})"
    return "double" if found[f"double{index}"] else "boolean" if found[f"truth{index}"] else None


def _queried(spark: SparkSession, link: Link, frame: DataFrame) -> DataFrame:
    try:
        if link.query:
            # The loaded rows are called by the link's own name, which its steps and rules use later for the result.
            frame.createOrReplaceTempView(link.name)
            return spark.sql(to_spark(link.query.replace("{link}", link.name)))
        return frame.where(to_spark(link.filter)) if link.filter else frame
    except AnalysisException as error:
        what = "query" if link.query else "filter"
        reason = str(error).splitlines()[0]
        raise SourceError(f"The {what} of the link `{link.name}` cannot run: {reason}") from error


def _column(frame: DataFrame, link: Link, name: str) -> Column:
    found = find_column(frame, name)
    if found is None:
        raise SourceError(f"The link `{link.name}` has no column `{name}`; it has {', '.join(frame.columns[:20])}.")
    return column(found).alias(name)
