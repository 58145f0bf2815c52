"""`partitions/*.yaml` as Dagster's partitions, and a partition as the window that a run reads and replaces."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import dagster as dg

from lakelogic_assets.contract.base import period_seconds
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.plan.calendar import partition_format, windows_between
from lakelogic_assets.plan.window import FULL, Window

_CADENCES: dict[str, Callable[..., dg.TimeWindowPartitionsDefinition]] = {
    "hourly": dg.HourlyPartitionsDefinition,
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}
_SECONDS = {"hourly": 3600, "daily": 86400, "weekly": 7 * 86400, "monthly": 28 * 86400}
_TIME, _STATIC = "date", "part"


@cache
def _definition(declared: PartitionSet) -> dg.PartitionsDefinition:
    """One object for each declared set: runs fuse and ranges work only where definitions are the same."""
    start = datetime.fromisoformat(declared.start)
    end = datetime.fromisoformat(declared.end) if declared.end else None
    # Weeks and months begin on the weekday and on the day of the month of the first one.
    offset: dict[str, int] = {}
    if declared.cadence == "weekly":
        offset["day_offset"] = start.isoweekday() % 7
    elif declared.cadence == "monthly":
        offset["day_offset"] = start.day
    time = _CADENCES[declared.cadence](
        start_date=start,
        end_date=end,
        fmt=partition_format(declared),
        timezone=declared.timezone,
        end_offset=declared.end_offset,
        **offset,
    )
    if declared.static is None:
        return time
    parts = dg.StaticPartitionsDefinition([*declared.static.values])
    return dg.MultiPartitionsDefinition({_TIME: time, _STATIC: parts})


def partitions_definition(declared: PartitionSet | None) -> dg.PartitionsDefinition | None:
    return _definition(declared) if declared else None


def window_of(declared: PartitionSet | None, key: str | None) -> Window:
    """The half-open window of a partition; 23 or 25 hours where clocks change."""
    if declared is None or key is None:
        return FULL
    definition = _definition(declared)
    if isinstance(definition, dg.MultiPartitionsDefinition) and declared.static is not None:
        parts = definition.get_partition_key_from_str(key).keys_by_dimension
        time = definition.get_partitions_def_for_dimension(_TIME)
        values = ((declared.static.column, parts[_STATIC]),)
        return _window(time, parts[_TIME], key, values)
    return _window(definition, key, key, ())


def _window(definition: Any, time_key: str, key: str, values: tuple[tuple[str, str], ...]) -> Window:
    found = definition.time_window_for_partition_key(time_key)
    return Window(key, found.start.astimezone(UTC), found.end.astimezone(UTC), values, definition.timezone)


def partition_keys(declared: PartitionSet, first: date, last: date) -> list[str]:
    """The partitions that touch the days from `first` to `last`, in the zone of the set."""
    return [window.key for window in windows_between(declared, first, last)]


def mapping_to(contract: Contract, declared: PartitionSet | None, upstream: PartitionSet | None) -> Any:
    """How a contract's partitions need those of an upstream; None leaves it to Dagster's own rule."""
    lookback = contract.source.lookback if contract.source else None
    if declared is None or declared != upstream or declared.static is not None or not lookback:
        return None
    steps = -(-int(period_seconds(lookback) or 0) // _SECONDS[declared.cadence])
    return dg.TimeWindowPartitionMapping(start_offset=-steps, allow_nonexistent_upstream_partitions=True)
