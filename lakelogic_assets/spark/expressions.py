"""Columns that cannot end a run: an error in one row is that row's problem."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

ERROR_ISOLATION = {"spark.sql.subexpressionElimination.enabled": "false"}
"""Needed wherever `guarded` is used: a subexpression shared by two rules would be hoisted out of its guard."""


def guarded(spark: SparkSession, tested: Column) -> Column:
    """NULL where evaluating the column raises.

    Catalyst has this as an internal expression only; Spark's version is pinned and a test holds on to it.
    """
    jvm: Any = spark._jvm
    utils = getattr(getattr(jvm.org.apache.spark.sql.classic, "ExpressionUtils$"), "MODULE$")
    wrapped = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(utils.expression(tested._jc))
    return Column(utils.column(wrapped))


def any_of(tests: list[Column]) -> Column:
    """TRUE where one of the tests is; FALSE without any."""
    joined = F.lit(False)
    for test in tests:
        joined = joined | test
    return joined
