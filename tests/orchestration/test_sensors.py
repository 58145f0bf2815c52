"""Files that arrive ask for the days they are about, once."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import dagster as dg

from tests.orchestration.conftest import Shop


def look(shop: Shop, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult:
    (sensor,) = [each for each in shop.definitions().sensors or () if each.name == "new_files"]
    context = dg.build_sensor_context(instance=instance, cursor=cursor, definitions=shop.definitions())
    result = sensor(context)
    assert isinstance(result, dg.SensorResult)
    return result


def days(result: dg.SensorResult) -> list[str | None]:
    return [request.partition_key for request in result.run_requests or ()]


def test_a_new_file_asks_for_its_day(shop: Shop, instance: dg.DagsterInstance) -> None:
    shop.land("2026-02-03", 1)
    shop.land("2026-02-05", 1)
    result = look(shop, instance)
    assert days(result) == ["2026-02-03", "2026-02-05"]
    assert {tuple(request.asset_selection or ()) for request in result.run_requests or ()} == {
        (dg.AssetKey(["shop", "bronze_till_orders"]),)
    }


def test_a_file_is_asked_for_once_and_again_when_it_changes(shop: Shop, instance: dg.DagsterInstance) -> None:
    path = shop.land("2026-02-03", 1)
    first = look(shop, instance)
    assert days(look(shop, instance, first.cursor)) == []
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 10))
    assert days(look(shop, instance, first.cursor)) == ["2026-02-03"]


def test_a_file_of_a_day_that_is_not_over_is_asked_for_when_it_is(shop: Shop, instance: dg.DagsterInstance) -> None:
    path = shop.root / "partitions/daily.yaml"
    path.write_text(path.read_text().replace('end: "2026-03-01"', 'end: "2199-01-01"'))
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    shop.land(today, 1)
    first = look(shop, instance)
    assert days(first) == []
    # As if the day were over: its partition exists now.
    path.write_text(path.read_text() + "end_offset: 1\n")
    assert days(look(shop, instance, first.cursor)) == [today]


def test_a_file_from_before_the_first_partition_is_not_waited_for(shop: Shop, instance: dg.DagsterInstance) -> None:
    shop.land("2025-12-24", 1)
    result = look(shop, instance)
    assert days(result) == []
    assert json.loads(result.cursor or "{}")["shop/bronze_till_orders"] > 0


def test_the_landing_folder_shows_what_arrived(shop: Shop, instance: dg.DagsterInstance) -> None:
    shop.land("2026-02-03", 1)
    (event,) = look(shop, instance).asset_events
    assert event.asset_key == dg.AssetKey(["source", "shop", "till_orders"])
    assert event.metadata["new_files"].value == 1


def test_the_sensor_can_be_left_out(shop: Shop) -> None:
    path = shop.root / "resources/local.yaml"
    path.write_text(path.read_text().replace("retries: 1", "file_sensor: false, retries: 1"))
    assert "new_files" not in {sensor.name for sensor in shop.definitions().sensors or ()}
