"""Rows are counted on their way; those that no job came by are counted by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.spark.tally import tallied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_job_counts_what_runs_through_it(spark: SparkSession) -> None:
    rows, tally = tallied(spark.range(10), F.count(F.lit(1)).alias("rows"), F.max("id").alias("most"))
    assert rows.where("id > 6").count() == 3
    assert tally.get == {"rows": 10, "most": 9}


def test_rows_that_no_job_came_by_are_counted_without_waiting_for_one(spark: SparkSession) -> None:
    _, tally = tallied(spark.range(4), F.count(F.lit(1)).alias("rows"))
    spark.range(2).count()
    assert tally.get == {"rows": 4}


def test_rows_that_a_job_left_aside_are_counted_as_well(spark: SparkSession) -> None:
    rows, tally = tallied(spark.range(5), F.count(F.lit(1)).alias("rows"))
    rows.createOrReplaceTempView("left_aside")
    assert spark.sql("SELECT 1 AS one WHERE FALSE AND EXISTS (SELECT * FROM left_aside)").collect() == []
    assert tally.get == {"rows": 5}
