"""LIKE with several words, searched for one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.spark.quality.likes import without_slow_likes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = frozenset({"email", "note"})


@pytest.mark.parametrize(
    "text",
    [
        "email LIKE '%@%'",
        "email LIKE 'a%b%c'",
        "email LIKE '%a_%b%'",
        "email NOT LIKE '%a%b%'",
        "email LIKE '%a%b%' ESCAPE '/'",
        "s.email LIKE '%a%b%'",
        "number LIKE '%1%2%'",
        "lower(email) LIKE '%a%b%'",
        "note = 'email LIKE ''%a%b%'''",
        r"email LIKE '%a\\%%b%'",
    ],
)
def test_what_is_not_plainly_a_column_and_its_words_stays_as_it_is(text: str) -> None:
    assert without_slow_likes(text, TEXTS) == text


def test_only_the_like_itself_is_spelled_anew() -> None:
    text = "id > 1 AND (`email` LIKE '%@%.%' OR note IS NULL)"
    found = without_slow_likes(text, TEXTS)
    assert found.startswith("id > 1 AND ((CASE WHEN `email` IS NOT NULL THEN locate(")
    assert found.endswith("OR note IS NULL)")
    assert "LIKE" not in found


def test_every_row_gets_the_answer_that_like_gives(spark: SparkSession) -> None:
    cells = [
        "",
        "@",
        "@.",
        ".@",
        "a@b.c",
        "a.b@c",
        "ää@ö.ü",
        "..@@..",
        "aab",
        "aba",
        "abab",
        "@.@",
        "\n@\n.\n",
        "😀@😀.",
    ]
    rows = spark.createDataFrame([(cell,) for cell in cells] + [(None,)], "email string")
    for pattern in ("%@%.%", "%a%b%", "%ab%ab%", "%a%a%b%", "%😀%.%"):
        like = f"email LIKE '{pattern}'"
        found = rows.selectExpr("email", f"{like} AS slow", f"{without_slow_likes(like, TEXTS)} AS fast").collect()
        assert [row for row in found if row.slow != row.fast] == [], pattern
