"""Which expressions could raise for some row."""

import pytest

from lakelogic_assets.spark.raising import can_raise

TYPES = {
    "a": "int",
    "d": "double",
    "s": "string",
    "day": "date",
    "b": "boolean",
    "x": "decimal(10,2)",
    "ts": "timestamp",
    "p": "string",
}


@pytest.mark.parametrize(
    "text",
    [
        "a > 1", "d >= 0 AND d <= 5.5", "s = 'ok'", "s LIKE '%@%.%'", "LENGTH(s) > 2", "day >= DATE'2023-01-01'",
        "day >= '2023-01-01'", "d + 1 > 0", "s IN ('a', 'b')", "a IN (1, 2)", "s RLIKE '^x'", "NOT b", "x > 1.5",
        "a IS NULL OR (a >= 1.0 AND a <= 5.0)", "a BETWEEN 1 AND 2", "COALESCE(s, '') <> ''", "TRIM(s) <> ''",
        "ts > day", "A > 1", r"s LIKE 'a\\_b'", r"s RLIKE '^\\d{4}-\\d{2}$'", "s RLIKE '^[A-Z][^a-z,]{2,}(?:x|y)+(z)?$'",
        r"s RLIKE '^[\\w.+-]+@[\\w-]+\\.[A-Za-z]{2,}$'", "s RLIKE '(?i)^abc'",
    ],
)  # fmt: skip
def test_comparing_values_of_one_kind_is_harmless(text: str) -> None:
    assert not can_raise(text, TYPES)


@pytest.mark.parametrize(
    "text",
    [
        "s > 0", "a > 'x'", "a / d > 1", "a + 1 > 0", "CAST(s AS INT) > 1", "unknown > 1", "day > 'soon'",
        "ELEMENT_AT(SPLIT(s, ','), 3) = 'x'", "TO_DATE(s) > day", "a IN (1, 'x')", "s BETWEEN 1 AND 2", "a >",
        "s LIKE p", "s RLIKE p", "s LIKE CONCAT(p, '%')", r"s LIKE 'a\\'", r"s LIKE 'a\\b'", "s RLIKE '('", r"s RLIKE '\('",
        "s RLIKE '(?P<x>a)'", "s RLIKE 'a{'", "s RLIKE '[[]'", "s RLIKE '[a&&[b]]'", r"s RLIKE '\\q'", "s RLIKE 'b{2,1}'",
    ],
)  # fmt: skip
def test_what_makes_spark_cast_divide_or_look_up_is_not(text: str) -> None:
    assert can_raise(text, TYPES)
