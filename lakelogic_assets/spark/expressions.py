"""Columns that cannot end a run: an error in one row is that row's problem."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.spark.driver import driver_of

ERROR_ISOLATION = {"spark.sql.subexpressionElimination.enabled": "false"}
"""Needed wherever `guarded` is used: a subexpression shared by two rules would be hoisted out of its guard."""


def guarded(spark: SparkSession, tested: Column) -> Column:
    """NULL where evaluating the column raises."""
    return driver_of(spark).guarded(spark, tested)


def any_of(tests: list[Column]) -> Column:
    """TRUE where one of the tests is; FALSE without any."""
    joined = F.lit(False)
    for test in tests:
        joined = joined | test
    return joined
