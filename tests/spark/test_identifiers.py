from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.spark.identifiers import column, find_column, find_name, quoted, text_literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRANGE = [
    "a.b",
    "a b",
    "a`b",
    "``",
    "naïve",
    "🦆",
    "a.`b`.c",
    "select",
    "1",
    "a-b",
    "a'b",
    'a"b',
    "\u200b",
    "a,b;{}()\n\t=",
]


@pytest.mark.parametrize("name", STRANGE)
def test_a_column_is_found_by_its_exact_name(spark: SparkSession, name: str) -> None:
    frame = spark.range(1).toDF(name)
    assert frame.select(column(name)).columns == [name]
    assert spark.sql(f"SELECT 7 AS {quoted(name)}").select(column(name)).first() == (7,)


def test_a_dot_does_not_reach_into_a_struct(spark: SparkSession) -> None:
    frame = spark.sql("SELECT named_struct('b', 1) AS a, 2 AS `a.b`")
    assert frame.select(column("a.b")).first() == (2,)


def test_names_are_found_in_any_case_and_the_exact_spelling_wins(spark: SparkSession) -> None:
    assert find_column(spark.range(1).toDF("Order.Id"), "order.id") == "Order.Id"
    assert find_column(spark.range(1), "other") is None
    assert find_name(["ID", "id"], "id") == "id"


@pytest.mark.parametrize("text", ["it's", "back\\slash", "\\'", "'; DROP TABLE x --", "é🦆", "line\nbreak", ""])
def test_a_text_literal_means_the_text(spark: SparkSession, text: str) -> None:
    assert spark.sql(f"SELECT {text_literal(text)} AS t").first() == (text,)
