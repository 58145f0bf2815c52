"""Casts of a query, in every spelling, give NULL where they cannot give a value."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakelogic_assets.spark.transformations.forgiving import forgiving


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT cast(a AS int) FROM s", "SELECT TRY_CAST(a AS int) FROM s"),
        ("SELECT DATE(a) FROM s", "SELECT TRY_CAST(a AS DATE) FROM s"),
        ("SELECT coalesce(b, DATE(a)) FROM s", "SELECT coalesce(b, TRY_CAST(a AS DATE)) FROM s"),
        ("SELECT int(trim(a)) + 1 FROM s", "SELECT TRY_CAST(trim(a) AS INT) + 1 FROM s"),
        ("SELECT CAST(a AS DECIMAL(9, 2))", "SELECT TRY_CAST(a AS DECIMAL(9, 2))"),
        ("SELECT DATE '2026-01-01', date FROM s", "SELECT DATE '2026-01-01', date FROM s"),
        ("SELECT CAST(m AS MAP<STRING, DECIMAL(4, 2)>)", "SELECT TRY_CAST(m AS MAP<STRING, DECIMAL(4, 2)>)"),
        ("SELECT a::int FROM s", "SELECT TRY_CAST(a AS int) FROM s"),
        ("SELECT s.a::decimal(9, 2) AS x FROM s", "SELECT TRY_CAST(s.a AS decimal(9, 2)) AS x FROM s"),
        ("SELECT a::int::string FROM s", "SELECT TRY_CAST(TRY_CAST(a AS int) AS string) FROM s"),
        ("SELECT 1 WHERE x AND (a || b)::date > c", "SELECT 1 WHERE x AND TRY_CAST((a || b) AS date) > c"),
        ("SELECT trim(a)::date FROM s", "SELECT TRY_CAST(trim(a) AS date) FROM s"),
        ("SELECT date(a)::string FROM s", "SELECT TRY_CAST(TRY_CAST(a AS DATE) AS string) FROM s"),
        ("SELECT 'a::int', `a::int` FROM s", "SELECT 'a::int', `a::int` FROM s"),
        ("SELECT '(' || a::int, ')' FROM s", "SELECT '(' || TRY_CAST(a AS int), ')' FROM s"),
        ("SELECT split(a, '-')[1]::int FROM s", "SELECT TRY_CAST(split(a, '-')[1] AS int) FROM s"),
        ("SELECT m['a']['b']::int FROM s", "SELECT TRY_CAST(m['a']['b'] AS int) FROM s"),
        ("SELECT f(x).y::int, (a).b::int FROM s", "SELECT TRY_CAST(f(x).y AS int), TRY_CAST((a).b AS int) FROM s"),
        ("SELECT DATE '2026-01-01'::timestamp", "SELECT DATE '2026-01-01'::timestamp"),
        ("SELECT -1::int, .5::int, 5L::int", "SELECT -TRY_CAST(1 AS int), .5::int, TRY_CAST(5L AS int)"),
        ("SELECT CASE WHEN a THEN b END::int FROM s", "SELECT CASE WHEN a THEN b END::int FROM s"),
        (
            "SELECT CAST(x AS STRUCT<a DECIMAL(9, 2), b: DECIMAL(4, 2)>) FROM s",
            "SELECT TRY_CAST(x AS STRUCT<a DECIMAL(9, 2), b: DECIMAL(4, 2)>) FROM s",
        ),
        (
            "SELECT s.* FROM s WHERE x IN ('a') AND b::int = 1",
            "SELECT s.* FROM s WHERE x IN ('a') AND TRY_CAST(b AS int) = 1",
        ),
        ("SELECT sum(a) OVER (ORDER BY b)::int FROM s", "SELECT sum(a) OVER (ORDER BY b)::int FROM s"),
    ],
)
def test_only_casts_are_rewritten(text: str, expected: str) -> None:
    assert forgiving(text) == expected


def test_no_spelling_of_a_cast_ends_the_run_for_one_bad_value(spark: SparkSession) -> None:
    casts = ["CAST(a AS INT)", "INT(a)", "a::int", "DATE(a)", "a::decimal(9, 2)", "DOUBLE(a)", "(a || '')::date"]
    text = f"SELECT {', '.join(f'{cast} AS c{n}' for n, cast in enumerate(casts))} FROM VALUES ('x'), (NULL) AS s(a)"
    assert {tuple(row) for row in spark.sql(forgiving(text)).collect()} == {(None,) * len(casts)}
