"""Which strategy a column gets, and how rows come and go."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.authoring.synthetic.feeds import plan_feeds
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.synthetic import (
    Choice,
    Feed,
    Number,
    OnDay,
    Operation,
    Ordinal,
    Pattern,
    Pooled,
    Reference,
    Serial,
    Strategy,
    Within,
)
from lakelogic_assets.project import Project, shipped_example
from tests.authoring.made_feeds import DAY, feeds_of, landing, reading, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def example() -> dict[str, Feed]:
    registry = load_project(Project(shipped_example()), {})
    return {key[-1]: feed for key, feed in plan_feeds(registry, list(registry)).items()}


@pytest.mark.parametrize(
    ("table", "kind", "key"),
    [
        ("bronze_crm_customers", "entities", ("cust_id",)),
        ("bronze_erp_products", "entities", ("sku",)),
        ("bronze_pos_orders", "events", ("order_id", "line_no")),
        ("bronze_policy_admin_policies", "entities", ("policy_no",)),
        ("bronze_claims_system_claims", "changes", ("claim_id",)),
        ("silver_reference_policyholders", "entities", ("policyholder_id",)),
    ],
)
def test_kinds_and_keys_are_told_from_the_tables_downstream(
    example: dict[str, Feed], table: str, kind: str, key: tuple[str, ...]
) -> None:
    assert (example[table].kind, example[table].key) == (kind, key)


@pytest.mark.parametrize(
    ("table", "column", "strategy"),
    [
        ("bronze_crm_customers", "cust_id", Serial("C######", 10**6)),
        ("bronze_crm_customers", "full_name", Pooled("person")),
        ("bronze_crm_customers", "updated_at", OnDay("delivery", moment=True)),
        ("bronze_crm_customers", "extract_date", OnDay("delivery", moment=False)),
        ("bronze_crm_customers", "birth_date", Within(date(1940, 1, 1), date(2008, 12, 31), moment=False)),
        ("bronze_pos_orders", "line_no", Ordinal(1, 5)),
        ("bronze_pos_orders", "order_ts", OnDay("event", moment=True)),
        ("bronze_pos_orders", "business_date", OnDay("event", moment=False)),
        ("bronze_pos_orders", "delivered_on", OnDay("delivery", moment=False)),
        ("bronze_claims_system_claims", "op", Operation(("I", "U", "U", "U", "D"), frozenset("D"))),
        ("bronze_claims_system_claims", "reported_on", OnDay("birth", moment=False)),
        ("bronze_policy_admin_policies", "term_months", Choice((12, 24, 36))),
    ],
)
def test_a_column_gets_the_strategy_that_its_contract_describes(
    example: dict[str, Feed], table: str, column: str, strategy: Strategy
) -> None:
    assert example[table].by_name[column].strategy == strategy


def test_a_text_column_holds_what_the_table_downstream_reads_it_as(spark: SparkSession, tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        landing("bronze_trips", {"name": "trip_id"}, {"name": "fare"}, {"name": "done"}, {"name": "began"}),
        reading(
            "silver_trips",
            "bronze_trips",
            {"name": "trip_no", "type": "string"},
            {"name": "fare", "type": "float", "min": 3, "max": 80},
            {"name": "done", "type": "boolean"},
            {"name": "began", "type": "timestamp"},
            primary_key=["trip_no"],
            transformations=[{"rename": {"from": "trip_id", "to": "trip_no"}}, {"trim": ["fare"]}],
        ),
    )
    feed = feeds["bronze_trips"]
    assert feed.key == ("trip_id",)
    assert isinstance(feed.by_name["fare"].strategy, Number)
    for row in rows_of(spark, feeds, "bronze_trips"):
        assert 3 <= float(row["fare"]) <= 80
        assert row["done"] in ("true", "false")
        assert row["began"].startswith("2026-02-03T")


def test_what_a_step_makes_is_not_in_the_file(tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        landing(
            "silver_things",
            {"name": "thing_id"},
            {"name": "label"},
            {"name": "twice", "type": "int"},
            {"name": "stamp", "type": "long", "generated": True},
            transformations=[
                {"rename": {"from": "title", "to": "label"}},
                {"derive": {"field": "twice", "sql": "2 * 2"}},
            ],
        ),
    )
    assert [column.name for column in feeds["silver_things"].columns] == ["thing_id", "title"]


def test_a_reference_to_what_has_no_rows_falls_back_on_made_up_ids(tmp_path: Path) -> None:
    hint = {"contract": "elsewhere", "column": "id"}
    feeds = feeds_of(tmp_path, landing("bronze_a", {"name": "id"}, {"name": "thing_id", "foreign_key": hint}))
    assert feeds["bronze_a"].by_name["thing_id"].strategy == Pattern("THING-########")


def test_contracts_that_refer_to_each_other_in_a_circle_still_get_rows(spark: SparkSession, tmp_path: Path) -> None:
    feeds = feeds_of(
        tmp_path,
        landing(
            "bronze_a", {"name": "id"}, {"name": "b_id", "foreign_key": {"contract": "bronze_b", "column": "a_id"}}
        ),
        landing(
            "bronze_b", {"name": "id"}, {"name": "a_id", "foreign_key": {"contract": "bronze_a", "column": "b_id"}}
        ),
    )
    assert not isinstance(feeds["bronze_a"].by_name["b_id"].strategy, Reference)
    assert all(row["b_id"] for row in rows_of(spark, feeds, "bronze_a"))


def test_a_row_may_refer_to_one_of_its_own_kind(spark: SparkSession, tmp_path: Path) -> None:
    hint = {"contract": "bronze_staff", "column": "staff_id"}
    feeds = feeds_of(tmp_path, landing("bronze_staff", {"name": "staff_id"}, {"name": "boss_id", "foreign_key": hint}))
    rows = rows_of(spark, feeds, "bronze_staff")
    assert {row["boss_id"] for row in rows} <= {row["staff_id"] for row in rows}


def test_a_key_of_listed_values_never_comes_twice(spark: SparkSession, tmp_path: Path) -> None:
    fields = [{"name": "size", "accepted_values": ["s", "m", "l"]}, {"name": "tone", "accepted_values": ["a", "b"]}]
    feeds = feeds_of(tmp_path, landing("bronze_sizes", *fields, primary_key=["size", "tone"]))
    rows = rows_of(spark, feeds, "bronze_sizes")
    assert len(rows) == len({(row["size"], row["tone"]) for row in rows}) == 6


def test_moments_of_a_row_follow_each_other(spark: SparkSession, tmp_path: Path) -> None:
    names = ("requested_at", "pickup_at", "dropoff_at")
    fields = [{"name": name, "type": "timestamp"} for name in names]
    feeds = feeds_of(tmp_path, landing("bronze_trips", {"name": "trip_id"}, *fields))
    for row in rows_of(spark, feeds, "bronze_trips"):
        moments = [row[name] for name in names]
        assert moments == sorted(set(moments))
        assert {moment.date() for moment in moments} == {DAY}


def test_texts_are_no_longer_than_they_may_be(spark: SparkSession, tmp_path: Path) -> None:
    feeds = feeds_of(tmp_path, landing("bronze_a", {"name": "id"}, {"name": "full_name", "max_length": 4}))
    assert {len(row["full_name"]) for row in rows_of(spark, feeds, "bronze_a")} == {4}


def test_a_bound_beyond_what_is_usual_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    fields = [{"name": "rating", "type": "int", "min": 90}, {"name": "age", "type": "int", "max": 3}]
    feeds = feeds_of(tmp_path, landing("bronze_a", {"name": "id"}, *fields))
    for row in rows_of(spark, feeds, "bronze_a"):
        assert row["rating"] >= 90
        assert row["age"] <= 3


def test_texts_match_the_expression_that_a_rule_asks_for(spark: SparkSession, tmp_path: Path) -> None:
    rule = {"regex_match": {"field": "code", "pattern": "^[A-Z]{2}-[0-9]{3,4}$"}}
    fields = ({"name": "id"}, {"name": "code"})
    feeds = feeds_of(tmp_path, landing("silver_a", *fields, quality={"row_rules": [rule]}))
    codes = {row["code"] for row in rows_of(spark, feeds, "silver_a")}
    assert len(codes) > 20
    assert all(re.fullmatch("[A-Z]{2}-[0-9]{3,4}", code) for code in codes)


def test_ids_that_must_match_an_expression_are_still_all_different(spark: SparkSession, tmp_path: Path) -> None:
    rule = {"regex_match": {"field": "id", "pattern": "^[A-F][0-9]{2}[xyz]$"}}
    feeds = feeds_of(tmp_path, landing("silver_a", {"name": "id"}, primary_key=["id"], quality={"row_rules": [rule]}))
    ids = [row["id"] for row in rows_of(spark, feeds, "silver_a", rows=400)]
    assert len(set(ids)) == len(ids) == 400
    assert all(re.fullmatch("[A-F][0-9]{2}[xyz]", each) for each in ids)


def test_rules_narrow_what_is_usual(spark: SparkSession, tmp_path: Path) -> None:
    rules = [
        {"name": "positive", "sql": "weight > 0 AND weight < 0.05"},
        {"name": "known", "sql": "tone IN ('red', 'blue')"},
        {"name": "not_grey", "sql": "shade <> 'grey'"},
        {"name": "recent", "sql": "opened >= DATE'2024-06-01' AND opened < '2024-06-04'"},
        {"name": "long_enough", "sql": "length(label) BETWEEN 5 AND 6"},
    ]
    fields = [
        {"name": "id"}, {"name": "weight", "type": "decimal(6,2)"}, {"name": "tone"}, {"name": "label"},
        {"name": "shade", "accepted_values": ["grey", "green"]}, {"name": "opened", "type": "date"}, {"name": "updated_at", "type": "timestamp"},
    ]  # fmt: skip
    feeds = feeds_of(tmp_path, landing("silver_a", *fields, quality={"enforce_field_hints": False, "row_rules": rules}))
    rows = rows_of(spark, feeds, "silver_a")
    assert {str(row["weight"]) for row in rows} == {"0.01", "0.02", "0.03", "0.04"}
    assert {row["tone"] for row in rows} == {"red", "blue"}
    assert {row["shade"] for row in rows} == {"green"}
    assert {str(row["opened"]) for row in rows} == {"2024-06-01", "2024-06-02", "2024-06-03"}
    assert {len(row["label"]) for row in rows} == {5, 6}


def test_a_value_that_a_rule_puts_above_another_is_above_it(spark: SparkSession, tmp_path: Path) -> None:
    rules = [{"name": "order", "sql": "valid_from < valid_to"}, {"name": "net", "sql": "net <= gross"}]
    fields = [
        {"name": "id"}, {"name": "valid_to", "type": "date"}, {"name": "valid_from", "type": "date"},
        {"name": "gross", "type": "double"}, {"name": "net", "type": "double"},
    ]  # fmt: skip
    feeds = feeds_of(tmp_path, landing("silver_a", *fields, quality={"row_rules": rules}))
    for row in rows_of(spark, feeds, "silver_a"):
        assert row["valid_from"] < row["valid_to"]
        assert row["net"] <= row["gross"]


def test_a_place_on_the_map_that_is_kept_as_text_is_a_number(spark: SparkSession, tmp_path: Path) -> None:
    heading = {"name": "heading", "description": "Heading in degrees (0-360)"}
    feeds = feeds_of(tmp_path, landing("bronze_pings", {"name": "id"}, {"name": "gps_lat"}, {"name": "lng"}, heading))
    for row in rows_of(spark, feeds, "bronze_pings"):
        assert 36 <= float(row["gps_lat"]) <= 60
        assert -9 <= float(row["lng"]) <= 24
        assert 0 <= int(row["heading"]) <= 360


def test_what_a_rule_cannot_do_without_is_there_whatever_a_description_says(tmp_path: Path) -> None:
    described = [{"name": name, "type": "int", "description": "A size (nullable)"} for name in ("width", "height")]
    rules = [{"name": "wide", "sql": "width >= 0"}, {"name": "high", "sql": "height IS NULL OR height >= 0"}]
    feeds = feeds_of(tmp_path, landing("silver_a", {"name": "id"}, *described, quality={"row_rules": rules}))
    assert {column.name: column.empty > 0 for column in feeds["silver_a"].columns} == {
        "id": False, "width": False, "height": True,
    }  # fmt: skip


def test_an_expression_that_any_text_matches_leaves_a_name_a_name(tmp_path: Path) -> None:
    rules = [
        {"regex_match": {"field": field, "pattern": pattern}}
        for field, pattern in (("full_name", ".+"), ("customer_name", "^[A-Z]{3}$"))
    ]
    fields = ({"name": "id"}, {"name": "full_name"}, {"name": "customer_name"})
    (feed,) = feeds_of(tmp_path, landing("silver_a", *fields, quality={"row_rules": rules})).values()
    assert feed.by_name["full_name"].strategy == Pooled("person")
    assert isinstance(feed.by_name["customer_name"].strategy, Choice)
