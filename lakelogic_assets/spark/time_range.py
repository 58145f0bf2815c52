"""The days that a table holds rows of, by the statistics in its log: no row is read and no Spark is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from lakelogic_assets.plan.calendar import Days
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.identifiers import find_name


def days_of_table(path: str, candidates: Sequence[str]) -> Days | None:
    """The first and the last day of the first candidate that every file has statistics of; None where none has."""
    if not is_table(path):
        return None
    table = DeltaTable(path)
    columns = [field.name for field in table.schema().fields]
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    if not actions:
        return None
    for candidate in candidates:
        name = find_name(columns, candidate)
        if name is not None:
            bounds = [*_bounds(actions, name)]
            if bounds and all(bound is not None for bound in bounds):
                days = [bound for bound in bounds if bound is not None]
                return min(days), max(days)
    return None


def _bounds(actions: Iterable[dict[str, Any]], name: str) -> Iterable[date | None]:
    """Of every file the least and the greatest value as days; None where a file does not say."""
    for action in actions:
        if f"partition.{name}" in action:
            yield _day(action[f"partition.{name}"])
        elif action.get("num_records") != action.get(f"null_count.{name}"):
            yield _day(action.get(f"min.{name}"))
            yield _day(action.get(f"max.{name}"))


def _day(value: Any) -> date | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).date() if value.tzinfo else value.date()
    if isinstance(value, date):
        return value
    try:
        return datetime.fromisoformat(str(value)).date() if value is not None else None
    except ValueError:
        return None
