"""Rules that can be understood without running them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lakelogic_assets.authoring.synthetic.comparisons import Comparison, comparisons


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("fare >= 0", [("fare", ">=", (Decimal(0),))]),
        ("fare > -1.5", [("fare", ">", (Decimal("-1.5"),))]),
        ("a > 0 AND (b < 9)", [("a", ">", (Decimal(0),)), ("b", "<", (Decimal(9),))]),
        ("pct BETWEEN 0 AND 100", [("pct", ">=", (Decimal(0),)), ("pct", "<=", (Decimal(100),))]),
        ("status <> 'voided'", [("status", "<>", ("voided",))]),
        ("NOT status = 'voided'", [("status", "<>", ("voided",))]),
        ("tier IN ('a', 'b')", [("tier", "in", ("a", "b"))]),
        ("lower(name) NOT IN ('test', 'tbd')", [("name", "not in", ("test", "tbd"))]),
        ("id IS NOT NULL", [("id", "not null", ())]),
        ("email LIKE '%@%'", [("email", "like", ("%@%",))]),
        ("CAST(fare AS DOUBLE) >= 0", [("fare", ">=", (Decimal(0),))]),
    ],
)
def test_columns_held_against_literals_are_understood(sql: str, expected: list[tuple[Any, ...]]) -> None:
    assert list(comparisons(sql)) == [Comparison(*each) for each in expected]


@pytest.mark.parametrize(
    "sql",
    [
        "a IS NULL OR a > 0",
        "a > b",
        "a > 0 AND b > c",
        "NOT a > 0",
        "a + 1 > 0",
        "name NOT LIKE 'x%'",
        "id IS NULL",
        "a BETWEEN b AND 9",
        "a IN (SELECT x FROM y)",
        "a >",
    ],
)
def test_everything_else_is_left_alone(sql: str) -> None:
    assert comparisons(sql) == ()


@pytest.mark.parametrize(
    "sql", ["a > 0", "a >= 0", "a < 0", "a <= 0", "a = 'x'", "a <> 'x'", "a IN ('x')", "a NOT IN ('x')", "a LIKE 'x%'"]
)
def test_what_is_meant_to_break_a_rule_breaks_it(sql: str) -> None:
    (comparison,) = comparisons(sql)
    assert comparison.breaking()
    assert not any(comparison.holds(value) for value in comparison.breaking())


def test_text_that_is_no_number_does_not_pass_a_bound() -> None:
    assert not Comparison("a", ">", (Decimal(0),)).holds("many")
    assert Comparison("a", ">", (Decimal(0),)).holds("12")
    assert not Comparison("a", "not null").holds(None)
