"""Rows that the caller brings along instead of the declared source."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.snapshot import SourceRead, SourceSnapshot


def read_given(scope: Scope, frame: DataFrame) -> SourceRead:
    """The frame, moved into the run's own session so that its SQL sees it."""
    moved = moved_into(scope, frame)
    return SourceRead(moved, "frame", SourceSnapshot(description="frame", listed=False))


def moved_into(scope: Scope, frame: DataFrame) -> DataFrame:
    return driver_of(scope.spark).adopted(frame, scope.spark)
