"""Delta tables as a source: a pinned version, or what changed between two of them."""

from __future__ import annotations

from typing import Any, Final

from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.snapshot import Boundary, SourceRead, SourceSnapshot

CHANGE_TYPE: Final = "_change_type"
_FEED_COLUMNS: Final = (CHANGE_TYPE, "_commit_version", "_commit_timestamp")
_FEED_PROPERTY: Final = "delta.enableChangeDataFeed"
_ARRIVING: Final = ("insert", "update_postimage")


def read_delta(scope: Scope, path: str, name: str, boundary: Boundary) -> SourceRead:
    """A table's rows at one version, so that reading twice gives the same rows twice."""
    newest = scope.lakehouse.version(path)
    if newest is None:
        raise NotFoundError(f"The table {name} does not exist at {path}: has the contract that writes it been run?")
    last = newest if boundary.to_version is None else min(boundary.to_version, newest)
    first = boundary.from_version
    table = DeltaTable(path, version=last)
    snapshot = SourceSnapshot(version=last, first_version=first, table_id=str(table.metadata().id), description=path)
    if first is None or snapshot.is_empty:
        frame = scope.lakehouse.read(scope.spark, path, last)
        rows = 0 if snapshot.is_empty else delta_log.known_rows(table)
        return SourceRead(frame.limit(0) if snapshot.is_empty else frame, name, snapshot, rows=rows)
    return SourceRead(_changes(scope, path, first, last), name, snapshot)


def _changes(scope: Scope, path: str, first: int, last: int) -> DataFrame:
    """Rows that came or changed from one version up to another, both included."""
    if first <= 0:
        return scope.lakehouse.read(scope.spark, path, last)
    source = scope.contract.source
    if _has_feed(path, first):
        reader = scope.spark.read.format("delta").option("readChangeFeed", "true")
        feed = reader.option("startingVersion", first).option("endingVersion", last).load(path)
        if source is not None and source.cdc_op_field in _FEED_COLUMNS:
            return feed  # the contract itself says what each kind of change means
        return feed.where(column(CHANGE_TYPE).isin(*_ARRIVING)).drop(*_FEED_COLUMNS)
    added = driver_of(scope.spark).added_rows(scope.spark, path, first, last)
    if added is not None:
        return added
    scope.warn(f"{path} has no change data feed, so its versions {first - 1} and {last} are compared row by row.")
    return scope.lakehouse.read(scope.spark, path, last).exceptAll(scope.lakehouse.read(scope.spark, path, first - 1))


def _has_feed(path: str, first: int) -> bool:
    """Whether changes were recorded from the first version on: the table must have had the property before it."""
    return DeltaTable(path, version=first - 1).metadata().configuration.get(_FEED_PROPERTY, "").lower() == "true"


def equals(name: str, value: Any, frame: DataFrame) -> Any:
    """`partition_filters`: a column equals a value, one of several, or nothing."""
    if value is None:
        return column(name).isNull()
    kind = frame.schema[name].dataType
    values = value if isinstance(value, list | tuple) else [value]
    texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
    return column(name).isin(*[F.lit(text).try_cast(kind) for text in texts])
