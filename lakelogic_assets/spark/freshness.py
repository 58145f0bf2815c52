"""How new the rows are: the column that says so, and its latest moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.objectives import freshness_objective
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.identifiers import column, find_column

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def freshness_column(contract: Contract) -> str | None:
    """The column that freshness is judged by; without a promise the one that the contract names all the same."""
    objective = freshness_objective(contract)
    if objective is not None:
        return objective.column
    own = contract.service_levels.freshness
    return own.field if own else None


def is_stamped(contract: Contract, name: str) -> bool:
    """Whether the column holds the moment of the run itself, which need not be looked up in any row."""
    stamps = contract.lineage.columns
    return name in (stamps.get("timestamp"), stamps.get("created_at"))


def latest(frame: DataFrame, name: str) -> Column | None:
    """The latest moment of a column as an aggregate in microseconds; None where the frame has no such column."""
    found = find_column(frame, name)
    return F.max(F.unix_micros(column(found).try_cast("timestamp"))) if found else None


def moment_text(micros: Any) -> str | None:
    """Microseconds since 1970 as ISO text."""
    return None if micros is None else (_EPOCH + timedelta(microseconds=int(micros))).isoformat()


def newest_in_table(spark: SparkSession, target: str, column_name: str) -> str | None:
    """The latest moment that stands in a table; None without a table, the column or a value."""
    if not delta_log.is_table(target):
        return None
    frame = spark.read.format("delta").load(target)
    measure = latest(frame, column_name)
    row = frame.agg(measure.alias("newest")).first() if measure is not None else None
    return moment_text(row["newest"]) if row else None
