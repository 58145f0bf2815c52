"""The stamps: which are written, what they say, and what becomes of those that came from upstream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark import lineage
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.tables import Lakehouse

STARTED = datetime(2026, 2, 3, 4, 5, 6, 789000, tzinfo=UTC)
EVERY_STAMP = [
    "_lakelogic_source", "_lakelogic_processed_at", "_lakelogic_run_id", "_lakelogic_contract_name",
    "_lakelogic_domain", "_lakelogic_system", "_lakelogic_created_at", "_lakelogic_created_by",
]  # fmt: skip


def scope(
    spark: SparkSession, started: datetime = STARTED, model: list[dict[str, Any]] | None = None, **said: Any
) -> Scope:
    contract = Contract.model_validate(
        {
            "info": {"table_name": "trips", "domain": "marketplace"},
            "model": {"fields": model or []},
            "lineage": {"enabled": True, **said},
        }
    )
    return Scope(spark, contract, Lakehouse(Path("lake")), "run-1", "pipeline-1", started, print)


def test_all_stamps_stand_last_and_say_where_the_row_came_from(spark: SparkSession) -> None:
    out = lineage.stamp(spark.range(1), scope(spark, created_by_override="night job"), None, "bronze.trips")
    assert out.columns == ["id", *EVERY_STAMP]
    row = out.select("*", F.unix_micros("_lakelogic_processed_at").alias("at")).collect()[0]
    assert row[1:2] + row[3:7] == ("bronze.trips", "run-1", "trips", "marketplace", None)
    assert (row._lakelogic_created_by, row._lakelogic_created_at) == ("night job", row._lakelogic_processed_at)
    assert row["at"] == int(STARTED.timestamp() * 1_000_000)
    assert dict(out.dtypes)["_lakelogic_system"] == "string"


def test_moments_are_the_same_in_every_time_zone(spark: SparkSession) -> None:
    elsewhere = STARTED.astimezone(timezone(timedelta(hours=-7)))
    out = lineage.stamp(spark.range(1), scope(spark, elsewhere), None, "s")
    assert out.select(F.col("_lakelogic_created_at").cast("string")).collect()[0][0] == "2026-02-03 04:05:06.789"
    with pytest.raises(ValueError, match="time zone"):
        lineage.stamp(spark.range(1), scope(spark, STARTED.replace(tzinfo=None)), None, "s")


def test_the_source_is_told_row_by_row_where_it_can_be(spark: SparkSession) -> None:
    frame = spark.range(2).withColumn("_lakelogic_source", F.concat(F.lit("file-"), F.col("id").cast("string")))
    out = lineage.stamp(frame, scope(spark, capture_source_path=True), F.col("_lakelogic_source"), "fallback")
    assert out.columns == ["id", "_lakelogic_source"]
    assert {row[1] for row in out.collect()} == {"file-0", "file-1"}


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ({"capture_domain": False, "capture_system": False}, EVERY_STAMP[:4] + EVERY_STAMP[6:]),
        ({"capture_run_id": True}, ["_lakelogic_run_id"]),
        ({"capture_run_id": True, "run_id_column_name": "load id"}, ["load id"]),
        ({"enabled": False}, []),
    ],
)
def test_only_the_wanted_stamps_are_written(spark: SparkSession, said: dict[str, Any], written: list[str]) -> None:
    assert lineage.stamp(spark.range(1), scope(spark, **said), None, "s").columns == ["id", *written]


def test_stamps_of_upstream_are_replaced_and_those_nobody_writes_dropped(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("old", "old", True, 1)],
        "_lakelogic_run_id string, _LAKELOGIC_domain string, _lakelogic_is_deleted boolean, id int",
    )
    out = lineage.stamp(frame, scope(spark, capture_run_id=True), None, "s")
    assert out.columns == ["_lakelogic_is_deleted", "id", "_lakelogic_run_id"]
    assert out.collect() == [(True, 1, "run-1")]


def test_stamps_of_upstream_can_be_kept_under_another_name(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("old", "b7", "older")], "_lakelogic_run_id string, batch string, _upstream_lakelogic_run_id string"
    )
    said = {"preserve_upstream": ["_lakelogic_run_id", "batch", "absent"], "capture_run_id": True}
    out = lineage.stamp(frame, scope(spark, run_id_source="pipeline_run_id", **said), None, "s")
    assert out.columns == ["_upstream_lakelogic_run_id", "_upstream_batch", "_lakelogic_run_id"]
    assert out.collect() == [("old", "b7", "pipeline-1")]


def test_a_declared_stamp_is_the_same_column(spark: SparkSession) -> None:
    declared = [{"name": "_lakelogic_processed_at", "type": "timestamp"}, {"name": "id", "type": "long"}]
    frame = spark.createDataFrame([(None, 1)], "_lakelogic_processed_at timestamp, id long")
    out = lineage.stamp(frame, scope(spark, model=declared, capture_timestamp=True), None, "s")
    assert out.columns == ["id", "_lakelogic_processed_at"]
    assert out.where("_lakelogic_processed_at is null").count() == 0
    unstamped = lineage.stamp(frame, scope(spark, model=declared, enabled=False), None, "s")
    assert unstamped.columns == ["_lakelogic_processed_at", "id"]


def test_who_created_a_row_comes_from_the_environment() -> None:
    assert lineage.created_by({"LAKELOGIC_CREATED_BY": "ada", "USER": "bob"}) == "ada"
    assert lineage.created_by({"USER": "bob"}) == "bob"
    assert lineage.created_by({})
