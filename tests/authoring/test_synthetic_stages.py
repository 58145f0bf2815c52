"""Feeds that tell of one process hold what belongs together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic_assets.plan.synthetic import Choice, Feed, Reference
from tests.authoring.made_feeds import feeds_of, landing, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CITY = {"name": "city_code"}
LISTED = {"name": "city_code", "accepted_values": ["LON", "BER", "PAR"]}
TIME = {"name": "requested_at", "type": "timestamp"}


def trips(root: Path, *more: dict[str, Any], city: dict[str, Any] = LISTED) -> dict[str, Feed]:
    return feeds_of(
        root,
        landing("bronze_riders", {"name": "rider_id"}),
        landing("bronze_trip_requests", {"name": "request_id"}, {"name": "rider_id"}, CITY, TIME),
        landing("bronze_trip_completed", {"name": "trip_id"}, {"name": "rider_id"}, city, TIME),
        landing("bronze_trip_cancellations", {"name": "cancellation_id"}, {"name": "rider_id"}, CITY, TIME),
        *more,
    )


def test_on_a_day_and_in_a_place_more_is_asked_for_than_is_done_and_called_off(
    spark: SparkSession, tmp_path: Path
) -> None:
    feeds = trips(tmp_path)
    tables = ("bronze_trip_requests", "bronze_trip_completed", "bronze_trip_cancellations")
    asked, done, off = (rows_of(spark, feeds, table, rows=40) for table in tables)
    assert [len(rows) for rows in (asked, done, off)] == [52, 40, 4]
    placed, rest = (Counter((row["rider_id"], row["city_code"]) for row in rows) for rows in (asked, [*done, *off]))
    assert placed >= rest
    assert {city for _, city in placed} == {"LON", "BER", "PAR"}


def test_how_often_a_value_comes_is_said_by_its_own_contract(tmp_path: Path) -> None:
    weighted = {"name": "city_code", "accepted_values": ["LON", "LON", "LON", "BER"]}
    feeds = trips(tmp_path, city=weighted)
    assert isinstance(feeds["bronze_trip_completed"].by_name["city_code"].strategy, Choice)
    rider = feeds["bronze_trip_completed"].by_name["rider_id"].strategy
    assert isinstance(rider, Reference)
    assert rider.beside == "first"


def test_feeds_of_several_things_are_left_apart(tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        landing("bronze_requests", {"name": "request_id"}, LISTED, TIME),
        landing("bronze_completed", {"name": "trip_id"}, LISTED, TIME),
        landing("bronze_parcel_requests", {"name": "request_id"}, LISTED, TIME),
        landing("bronze_meal_delivered", {"name": "meal_id"}, LISTED, TIME),
    )
    assert {feed.share for feed in feeds.values()} == {1.0}
    assert all(isinstance(feed.by_name["city_code"].strategy, Choice) for feed in feeds.values())
