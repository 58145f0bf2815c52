"""Columns that hold keys of others: by a hint, by what a description says, by their name alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.plan.synthetic import Choice, Feed, Pattern, Reference, Serial, Strategy
from tests.authoring.made_feeds import DAY, feeds_of, landing, reading, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RIDERS = landing("bronze_riders", {"name": "rider_id"}, {"name": "name"}, {"name": "updated_at", "type": "timestamp"})
TIME = {"name": "requested_at", "type": "timestamp"}


def strategy(feeds: dict[str, Feed], table: str, column: str) -> Strategy:
    return feeds[table].by_name[column].strategy


def leads_to(found: Strategy) -> tuple[str, str] | None:
    return (found.contract[-1], found.column) if isinstance(found, Reference) else None


def test_a_foreign_key_of_the_table_downstream_holds_for_the_file(spark: SparkSession, tmp_path: Path) -> None:
    hint = {"contract": "silver_riders", "column": "rider_no"}
    feeds = feeds_of(
        tmp_path,
        RIDERS,
        reading(
            "silver_riders",
            "bronze_riders",
            {"name": "rider_no"},
            primary_key=["rider_no"],
            transformations=[{"rename": {"from": "rider_id", "to": "rider_no"}}],
        ),
        landing("bronze_trips", {"name": "trip_id"}, {"name": "passenger"}, TIME),
        reading(
            "silver_trips",
            "bronze_trips",
            {"name": "trip_id"},
            {"name": "who", "foreign_key": hint, "pii": True, "masking": "hash"},
            transformations=[{"rename": {"from": "passenger", "to": "who"}}],
        ),
    )
    assert leads_to(strategy(feeds, "bronze_trips", "passenger")) == ("bronze_riders", "rider_id")
    riders = {row["rider_id"] for row in rows_of(spark, feeds, "bronze_riders")}
    assert {row["passenger"] for row in rows_of(spark, feeds, "bronze_trips")} <= riders


@pytest.mark.parametrize(
    ("column", "parent"),
    [
        ({"name": "rider_id"}, ("bronze_riders", "rider_id")),
        ({"name": "rider_id", "description": "FK to parent rider"}, ("bronze_riders", "rider_id")),
        ({"name": "booked_by", "description": "FK to the riders (may be null)"}, ("bronze_riders", "rider_id")),
        ({"name": "rider_id", "description": "Format: R-####"}, None),
        ({"name": "rider_id", "accepted_values": ["R1", "R2"]}, None),
        ({"name": "rider_id", "max_length": 5}, None),
        ({"name": "rider_id", "type": "long"}, None),
        ({"name": "rider"}, None),
        ({"name": "booked_by", "description": "FK to a dispatcher"}, None),
    ],
)
def test_a_column_that_names_the_key_of_one_feed_holds_it(
    tmp_path: Path, column: dict[str, Any], parent: tuple[str, str] | None
) -> None:
    feeds = feeds_of(tmp_path, RIDERS, landing("bronze_trips", {"name": "trip_id"}, column, TIME))
    assert leads_to(strategy(feeds, "bronze_trips", column["name"])) == parent


@pytest.mark.parametrize(
    "quality",
    [
        {"row_rules": [{"regex_match": {"field": "rider_id", "pattern": "^X[0-9]{4}$"}}]},
        {"row_rules": [{"name": "short", "sql": "length(rider_id) <= 5"}]},
        {"dataset_rules": [{"unique": "rider_id"}]},
    ],
)
@pytest.mark.parametrize("hint", [None, {"contract": "bronze_riders", "column": "rider_id"}])
def test_what_a_contract_asks_of_its_own_values_comes_first(
    tmp_path: Path, quality: dict[str, Any], hint: dict[str, str] | None
) -> None:
    field = {"name": "rider_id"} | ({"foreign_key": hint} if hint else {})
    feeds = feeds_of(tmp_path, RIDERS, landing("bronze_trips", {"name": "trip_id"}, field, TIME, quality=quality))
    assert leads_to(strategy(feeds, "bronze_trips", "rider_id")) is None


def test_of_several_feeds_with_a_key_of_the_name_the_description_chooses(tmp_path: Path) -> None:
    told = {"name": "rider_id", "description": "FK to riders"}
    feeds = feeds_of(
        tmp_path,
        RIDERS,
        landing("bronze_loyalty", {"name": "rider_id"}, {"name": "updated_at", "type": "timestamp"}),
        landing("bronze_trips", {"name": "trip_id"}, told, TIME),
        landing("bronze_calls", {"name": "call_id"}, {"name": "rider_id"}, TIME),
    )
    assert leads_to(strategy(feeds, "bronze_trips", "rider_id")) == ("bronze_riders", "rider_id")
    assert strategy(feeds, "bronze_calls", "rider_id") == Pattern("RIDER-########")


def test_a_key_that_is_declared_counts_before_one_that_is_guessed(tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        RIDERS | {"primary_key": ["rider_id"]},
        landing("bronze_sessions", {"name": "rider_id"}, {"name": "length", "type": "int"}, TIME),
        landing("bronze_trips", {"name": "trip_id"}, {"name": "rider_id"}, TIME),
    )
    assert leads_to(strategy(feeds, "bronze_trips", "rider_id")) == ("bronze_riders", "rider_id")


def test_two_feeds_may_name_each_others_keys(spark: SparkSession, tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        landing("bronze_cars", {"name": "car_id"}, {"name": "driver_id"}),
        landing("bronze_drivers", {"name": "driver_id"}, {"name": "car_id"}),
    )
    cars, drivers = rows_of(spark, feeds, "bronze_cars"), rows_of(spark, feeds, "bronze_drivers")
    assert {row["driver_id"] for row in cars} <= {row["driver_id"] for row in drivers}
    assert {row["car_id"] for row in drivers} <= {row["car_id"] for row in cars}


def test_a_code_is_the_same_wherever_it_stands(tmp_path: Path) -> None:
    listed = {"name": "city_code", "accepted_values": ["LON", "LON", "BER"]}
    feeds = feeds_of(
        tmp_path,
        landing("bronze_cities", {"name": "city_code"}, {"name": "city"}),
        landing("bronze_trips", {"name": "trip_id"}, listed, {"name": "tariff_code", "accepted_values": ["a", "b"]}),
        landing("bronze_calls", {"name": "call_id"}, {"name": "city_code"}, {"name": "tariff_code"}, TIME),
    )
    assert strategy(feeds, "bronze_cities", "city_code") == Choice(("LON", "BER"))
    assert strategy(feeds, "bronze_trips", "city_code") == Choice(("LON", "LON", "BER"))
    assert leads_to(strategy(feeds, "bronze_calls", "city_code")) == ("bronze_cities", "city_code")
    assert strategy(feeds, "bronze_calls", "tariff_code") == Choice(("a", "b"))


def test_a_code_of_which_two_lists_are_published_is_that_of_its_owner(tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        landing("bronze_cities", {"name": "city_code"}, {"name": "city"}),
        landing("bronze_trips", {"name": "trip_id"}, {"name": "city_code", "accepted_values": ["LON"]}),
        landing("bronze_jobs", {"name": "job_id"}, {"name": "city_code", "accepted_values": ["london"]}),
    )
    assert isinstance(strategy(feeds, "bronze_cities", "city_code"), Serial)


def test_things_whose_versions_are_kept_come_again_and_some_have_changed(spark: SparkSession, tmp_path: Path) -> None:
    fields = ({"name": "city_code"}, {"name": "time_zone"}, {"name": "launched_at"})
    source = {"type": "landing", "path": "lake/cities", "format": "csv", "load_mode": "full"}
    scd2 = {"strategy": "scd2", "scd2": {"track_columns": ["zone"]}}
    feeds = feeds_of(
        tmp_path,
        landing("bronze_cities", *fields) | {"source": source},
        reading(
            "dim_cities",
            "bronze_cities",
            {"name": "city_code"},
            {"name": "zone"},
            primary_key=["city_code"],
            transformations=[{"rename": {"from": "time_zone", "to": "zone"}}],
            materialization=scd2,
        ),
        landing("bronze_trips", {"name": "trip_id"}, {"name": "city_code", "accepted_values": ["LON", "BER", "PAR"]}),
    )
    assert feeds["bronze_cities"].kind == "entities"
    days = [rows_of(spark, feeds, "bronze_cities", day=DAY + timedelta(days=number)) for number in range(3)]
    assert [[row["city_code"] for row in rows] for rows in days] == [["LON", "BER", "PAR"]] * 3
    zones = [[row["time_zone"] for row in rows] for rows in days]
    assert zones[0] != zones[1] != zones[2]
    assert len({str([row["launched_at"] for row in rows]) for rows in days}) == 1


def test_what_is_loaded_in_full_each_time_is_not_new_every_day(tmp_path: Path) -> None:
    fields = ({"name": "tier_id"}, {"name": "opened_at"})
    source = {"type": "landing", "path": "lake/tiers", "format": "csv"}
    daily = {**source, "load_mode": "full", "partition": {"format": "%Y/%m/%d"}}
    feeds = feeds_of(
        tmp_path,
        landing("bronze_tiers", *fields) | {"source": {**source, "load_mode": "full"}},
        landing("bronze_visits", *fields) | {"source": source},
        landing("bronze_calls", *fields) | {"source": daily},
    )
    assert {table: feed.kind for table, feed in feeds.items()} == {
        "bronze_tiers": "entities", "bronze_visits": "events", "bronze_calls": "events",
    }  # fmt: skip
