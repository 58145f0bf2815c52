"""The small values of the language: periods, dates, patterns, schedules."""

from __future__ import annotations

import time

import pytest
from pydantic import TypeAdapter, ValidationError

from lakelogic_assets.contract.base import Cron, DateText, Names, Pattern, Period, period_seconds


def code_of(kind: object, value: object) -> str | None:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        return error.errors()[0]["type"]
    return None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3d", 259_200),
        ("12 hours", 43_200),
        ("1 month", 2_592_000),
        ("30m", 1800),
        ("90 min", 5400),
        ("1.5h", 5400),
        ("2 Weeks", 1_209_600),
        ("1mo", 2_592_000),
        ("1y", 31_536_000),
        ("45s", 45),
    ],
)
def test_a_period_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert period_seconds(text) == seconds
    assert code_of(Period, text) is None


@pytest.mark.parametrize("text", ["", "soon", "3", "d", "-3d", "3 fortnights", "3d 4h", "P3D"])
def test_anything_else_is_no_period(text: str) -> None:
    assert period_seconds(text) is None
    assert code_of(Period, text) == "LL110"


@pytest.mark.parametrize(
    "text", ["2026-02-03", "2024-02-29", "2026-02-03T10:00:00Z", "2026-02-03 10:00", "1900-01-01", "9999-12-31"]
)
def test_a_date_is_written_as_iso_8601(text: str) -> None:
    assert code_of(DateText, text) is None


@pytest.mark.parametrize("text", ["", "01/02/2026", "2026-13-01", "2026-02-30", "2026-2-3", "yesterday", "٢٠٢٦-٠٢-٠٣"])
def test_a_date_that_does_not_exist_is_no_date(text: str) -> None:
    assert code_of(DateText, text) == "LL115"


@pytest.mark.parametrize(
    "text",
    ["0 6 * * *", "*/15 0-6 1,15 * MON-FRI", "0 0 6 ? * MON", "0 0 12 1/5 * ? 2026", "0 0 L * *", "@daily", "@Hourly"],
)
def test_a_schedule_has_five_fields_or_those_of_quartz(text: str) -> None:
    assert code_of(Cron, text) is None


@pytest.mark.parametrize(
    "text", ["", "daily", "@sometimes", "0 6 * *", "every day at six sharp", "0 6 * * * * * *", "a b c d e"]
)
def test_words_are_no_schedule(text: str) -> None:
    assert code_of(Cron, text) == "LL117"


@pytest.mark.parametrize(
    "text",
    [r"^\d{4}$", r"\p{L}+", r"\pL", "(?<year>\\d+)", "^(?i)abc", "a++", "[a-z&&[^b]]", "(?<=a|bc)d", "[[:alpha:]]"],
)
def test_patterns_are_those_of_java(text: str) -> None:
    assert code_of(Pattern, text) is None


@pytest.mark.parametrize(
    "text", ["(", "[a", "*a", "a)", "x\\", "[z-a]", "(" * 3000 + ")" * 3000, "a{99999999999}", "x" * 20_000]
)
def test_a_pattern_that_no_dialect_reads_is_refused_quickly(text: str) -> None:
    started = time.process_time()
    assert code_of(Pattern, text) == "LL112"
    assert time.process_time() - started < 2


def test_one_name_is_a_list_of_one() -> None:
    names = TypeAdapter(Names)
    assert names.validate_python("a") == ("a",)
    assert names.validate_python(["a", "b"]) == ("a", "b")
    assert code_of(Names, 5) == "tuple_type"
