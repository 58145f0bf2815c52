"""Declared sets of windows as Dagster's partitions, and a partition as a window of the engine."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.orchestration.partitions import mapping_to, partition_keys, partitions_definition, window_of
from lakelogic_assets.orchestration.previews import previews_allowed
from lakelogic_assets.plan.window import FULL


def declared(**said: Any) -> PartitionSet:
    return PartitionSet.model_validate({"name": "set", "cadence": "daily", "start": "2026-01-01", **said})


def test_contracts_that_name_one_set_share_one_definition() -> None:
    assert partitions_definition(declared()) is partitions_definition(declared())
    assert partitions_definition(None) is None


def test_a_day_is_a_half_open_window_of_its_zone() -> None:
    window = window_of(declared(timezone="Europe/Berlin"), "2026-02-03")
    assert (window.start, window.end) == (
        datetime(2026, 2, 2, 23, tzinfo=UTC),
        datetime(2026, 2, 3, 23, tzinfo=UTC),
    )
    assert window.key == "2026-02-03"


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_days_have_the_length_that_the_clocks_give_them(day: str, hours: int) -> None:
    window = window_of(declared(timezone="Europe/Berlin"), day)
    assert window.start is not None
    assert window.end is not None
    assert window.end - window.start == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("said", "key", "start", "end"),
    [
        ({"cadence": "weekly", "start": "2026-01-05"}, "2026-01-12", (2026, 1, 12), (2026, 1, 19)),
        ({"cadence": "monthly", "format": "%Y-%m"}, "2026-02", (2026, 2, 1), (2026, 3, 1)),
        ({"cadence": "hourly"}, "2026-01-01-05:00", (2026, 1, 1, 5), (2026, 1, 1, 6)),
    ],
)
def test_every_cadence_has_its_windows(said: Any, key: str, start: Any, end: Any) -> None:
    window = window_of(declared(**said), key)
    assert (window.start, window.end) == (datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC))


def test_the_hour_that_happens_twice_has_two_keys() -> None:
    definition = partitions_definition(
        declared(cadence="hourly", start="2026-10-25", end="2026-10-26", timezone="Europe/Berlin")
    )
    assert definition is not None
    keys = definition.get_partition_keys()
    assert len(keys) == len(set(keys)) == 25


def test_regions_times_days_narrow_a_window_by_a_column() -> None:
    both = declared(static={"column": "region", "values": ["eu", "us"]}, end="2026-01-03")
    window = window_of(both, "2026-01-02|eu")
    assert window.values == (("region", "eu"),)
    assert window.start == datetime(2026, 1, 2, tzinfo=UTC)
    assert partition_keys(both, date(2026, 1, 2), date(2026, 1, 2)) == ["2026-01-02|eu", "2026-01-02|us"]


def test_without_a_set_the_window_is_everything() -> None:
    assert window_of(None, None) is FULL
    assert window_of(declared(), None) is FULL


def test_days_are_found_by_the_windows_they_touch() -> None:
    months = declared(cadence="monthly", format="%Y-%m", end="2026-06-01")
    assert partition_keys(months, date(2026, 1, 31), date(2026, 2, 1)) == ["2026-01", "2026-02"]


def test_a_lookback_needs_the_partitions_before_it() -> None:
    contract = Contract.model_validate({"source": {"type": "table", "path": "table:a.b.c", "lookback": "2 days"}})
    with previews_allowed():
        mapping = mapping_to(contract, declared(), declared())
    assert isinstance(mapping, dg.TimeWindowPartitionMapping)
    assert mapping.start_offset == -2
    assert mapping_to(contract, declared(), None) is None
    assert mapping_to(Contract(), declared(), declared()) is None
