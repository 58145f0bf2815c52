"""Spark for the steps of a run, and Delta's log for what needs no Spark at all."""

from __future__ import annotations

import warnings
from typing import Any

from dagster_deltalake import DeltaTableResource, LocalConfig
from dagster_pyspark import LazyPySparkResource
from deltalake import DeltaTable
from pydantic import Field

from lakelogic_assets.spark.delta_log import is_table, known_rows
from lakelogic_assets.spark.session import open_session


class SparkResource(LazyPySparkResource):
    """One JVM for a run, started by the first step that needs it and replaced when it has died."""

    spark_config: dict[str, Any] = Field(
        default={}, description="Spark settings of this location; they win over the project's `resources/*.yaml`."
    )

    def _init_session(self) -> None:
        # Asked for anew at each use: a session whose JVM died does not heal by itself.
        self._spark_session = open_session({key: str(value) for key, value in self.spark_config.items()})


def row_count(path: str) -> int | None:
    """The rows of a table by its log alone; None where a file carries no count."""
    if not is_table(path) or "://" in path:
        return None
    return known_rows(_table(path))


def _table(path: str) -> DeltaTable:
    with warnings.catch_warnings():
        # dagster-deltalake calls a method of pydantic by its old name.
        warnings.simplefilter("ignore", DeprecationWarning)
        return DeltaTableResource(url=path, storage_options=LocalConfig()).load()
