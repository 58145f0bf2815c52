"""Rules that can be understood without running them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lakelogic_assets.authoring.synthetic.comparisons import Comparison, demands, ways


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
    assert list(demands(sql)) == [Comparison(*each) for each in expected]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a IS NULL OR a > 0", [("a", ">", (Decimal(0),))]),
        ("a > b", [("a", ">", (), "b")]),
        ("NOT a > 0", [("a", "<=", (Decimal(0),))]),
        ("name NOT LIKE 'x%'", [("name", "not like", ("x%",))]),
        ("5 <= a", [("a", ">=", (Decimal(5),))]),
        ("a > 0 AND f(b) > 2", [("a", ">", (Decimal(0),))]),
        ("op = 'D' OR (a IS NOT NULL AND b > 0)", [("a", "not null"), ("b", ">", (Decimal(0),))]),
        ("length(a) <= 3", [("a", "<=", (Decimal(3),), None, True)]),
        ("a RLIKE '^x'", [("a", "regex", ("^x",))]),
        ("day <= current_date()", [("day", "<=", ("now",))]),
        ("a BETWEEN b AND 9", [("a", ">=", (), "b"), ("a", "<=", (Decimal(9),))]),
        ("CAST(a AS DATE) BETWEEN b AND DATE_ADD(b, 1)", [("a", ">=", (), "b")]),
        ("year(a) >= 2000", [("a", ">=", ("2000-01-01",))]),
        ("year(a) <= 2000", [("a", "<", ("2001-01-01",))]),
    ],
)
def test_of_several_ways_to_pass_the_one_that_forbids_least_is_taken(sql: str, expected: list[tuple[Any, ...]]) -> None:
    assert list(demands(sql)) == [Comparison(*each) for each in expected]


@pytest.mark.parametrize("sql", ["a + 1 > 0", "a BETWEEN b + 1 AND f(c)", "a IN (SELECT x FROM y)", "a >"])
def test_everything_else_is_left_alone(sql: str) -> None:
    assert demands(sql) == ()
    assert ways(sql, holding=False) == ()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a > 0 AND b > 0", [["a <="], ["b <="]]),
        ("a > 0 OR b > 0", [["a <=", "b <="]]),
        ("a > 0 AND f(b) > 2", [["a <="]]),
        ("a > 0 OR f(b) > 2", []),
        ("a IS NULL OR a BETWEEN 1 AND 5", [["a not null", "a <"], ["a not null", "a >"]]),
        ("NOT (a = 'x' OR b = 'y')", [["a ="], ["b ="]]),
    ],
)
def test_a_rule_fails_when_all_of_one_way_holds(sql: str, expected: list[list[str]]) -> None:
    assert [[f"{each.column} {each.sign}" for each in way] for way in ways(sql, holding=False)] == expected


@pytest.mark.parametrize(
    "sql",
    [
        "a > 0",
        "a >= 0",
        "a < 0",
        "a <= 0",
        "a = 'x'",
        "a <> 'x'",
        "a IN ('x')",
        "a NOT IN ('x')",
        "a LIKE 'x%'",
        "a RLIKE '^x'",
        "length(a) = 3",
        "a >= DATE'2020-01-01'",
    ],
)
def test_what_is_meant_to_break_a_rule_breaks_it(sql: str) -> None:
    (comparison,) = demands(sql)
    assert comparison.breaking()
    assert not any(comparison.holds(value) for value in comparison.breaking())


def test_text_that_is_no_number_does_not_pass_a_bound() -> None:
    assert not Comparison("a", ">", (Decimal(0),)).holds("many")
    assert Comparison("a", ">", (Decimal(0),)).holds("12")
    assert not Comparison("a", "not null").holds(None)
