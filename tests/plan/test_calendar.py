"""Windows of a calendar, and that they are Dagster's partitions by name and by bounds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.orchestration.partitions import partitions_definition, window_of
from lakelogic_assets.plan.calendar import cut, days_of, spans, windows_between
from lakelogic_assets.plan.window import FULL, Window


def declared(**said: Any) -> PartitionSet:
    return PartitionSet.model_validate({"name": "set", "cadence": "daily", "start": "2026-01-01", **said})


def keys(windows: list[Any]) -> list[str]:
    return [window.key for window in windows]


@given(
    cadence=st.sampled_from(["hourly", "daily", "weekly", "monthly"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney"]),
    start=st.dates(date(2025, 9, 1), date(2026, 2, 28)),
    length=st.integers(0, 40),
    offset=st.integers(-2, 2),
    ends=st.none() | st.integers(1, 60),
    parts=st.booleans(),
)
def test_partitions_are_those_of_dagster(
    cadence: str, zone: str, start: date, length: int, offset: int, ends: int | None, parts: bool
) -> None:
    if cadence == "hourly":
        length = length % 4
    more: dict[str, Any] = {"static": {"column": "region", "values": ["eu", "us"]}} if parts else {}
    # An end together with an offset, or inside of a window, is a corner where Dagster's own answers differ.
    if ends is not None and offset == 0 and cadence in ("hourly", "daily"):
        more["end"] = (start + timedelta(days=ends)).isoformat()
    said = declared(cadence=cadence, timezone=zone, start=start.isoformat(), end_offset=offset, **more)
    now = datetime(start.year, start.month, start.day, 13, 30, tzinfo=UTC) + timedelta(days=length)
    ours = windows_between(said, now=now)
    with dg._core.definitions.partitions.context.partition_loading_context(effective_dt=now):
        definition = partitions_definition(said)
        assert definition is not None
        theirs = definition.get_partition_keys()
        assert sorted(keys(ours)) == sorted(theirs)
        assert all(window_of(said, window.key) == window for window in ours[:3] + ours[-3:])


def test_a_range_touches_the_partitions_it_shares_a_moment_with() -> None:
    weekly = declared(cadence="weekly", start="2026-01-05")
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert keys(windows_between(weekly, date(2026, 1, 11), date(2026, 1, 12), now)) == ["2026-01-05", "2026-01-12"]


def test_a_day_that_is_not_over_is_no_partition_yet() -> None:
    now = datetime(2026, 1, 3, 12, tzinfo=UTC)
    assert keys(windows_between(declared(), now=now)) == ["2026-01-01", "2026-01-02"]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("day", ["2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]),
        ("week", ["2026-02-26..2026-03-03"]),
        ("month", ["2026-02-26..2026-03-01", "2026-03-01..2026-03-03"]),
    ],
)
def test_a_range_is_cut_into_windows_that_do_not_touch(by: Any, expected: list[str]) -> None:
    found = cut((date(2026, 2, 26), date(2026, 3, 2)), by)
    assert keys(found) == expected
    assert all(earlier.end == later.start for earlier, later in pairwise(found))


def test_days_of_a_range_follow_the_clocks_of_their_zone() -> None:
    (short,) = cut((date(2026, 3, 29), date(2026, 3, 29)), "day", "Europe/Berlin")
    assert short.end is not None
    assert short.start is not None
    assert short.end - short.start == timedelta(hours=23)


def test_days_that_follow_each_other_are_one_span() -> None:
    windows = [Window.day(f"2026-02-{day:02}") for day in (20, 3, 1, 2)]
    hour = Window("h", datetime(2026, 2, 20, 23, tzinfo=UTC), datetime(2026, 2, 21, 0, tzinfo=UTC))
    found = spans(days for days in map(days_of, [*windows, hour, FULL]) if days)
    assert found == [(date(2026, 2, 1), date(2026, 2, 3)), (date(2026, 2, 20), date(2026, 2, 20))]
