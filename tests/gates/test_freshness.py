"""How old the newest row may be, seen from now or from the end of the day it belongs to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakelogic_assets.contract.objectives import FreshnessObjective
from lakelogic_assets.gates.freshness import judge_freshness

unhurried = settings(deadline=None, derandomize=True, database=None)

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
DAY = FreshnessObjective(86_400, "updated_at", "service_levels.freshness")
AGES = st.timedeltas(timedelta(days=-3), timedelta(days=3_000))
THRESHOLDS = st.floats(60, 10**8)


@unhurried
@given(age=AGES, seconds=THRESHOLDS)
def test_without_a_window_the_age_is_compared_with_the_threshold(age: timedelta, seconds: float) -> None:
    judged = judge_freshness(FreshnessObjective(seconds, "at", ""), NOW - age, NOW, None)
    assert judged.passed is (age.total_seconds() <= seconds)
    assert judged.value == max(age.total_seconds(), 0) / 3_600


@unhurried
@given(
    age=AGES, closed=st.timedeltas(timedelta(0), timedelta(days=3_000)), hours=st.integers(-12, 14), seconds=THRESHOLDS
)
def test_the_zone_of_a_clock_changes_nothing(age: timedelta, closed: timedelta, hours: int, seconds: float) -> None:
    objective = FreshnessObjective(seconds, "at", "")
    zone = timezone(timedelta(hours=hours))
    here = judge_freshness(objective, NOW - age, NOW, NOW - closed)
    there = judge_freshness(objective, (NOW - age).astimezone(zone), NOW.astimezone(zone), NOW - closed)
    naive = judge_freshness(objective, (NOW - age).replace(tzinfo=None), NOW.replace(tzinfo=None), NOW - closed)
    assert here == there == naive


@unhurried
@given(
    closed=st.timedeltas(timedelta(0), timedelta(days=3_000)),
    before=st.timedeltas(timedelta(0), timedelta(days=1)),
    seconds=THRESHOLDS,
)
def test_a_window_makes_nothing_staler_than_it_is(closed: timedelta, before: timedelta, seconds: float) -> None:
    objective = FreshnessObjective(seconds, "at", "")
    end = NOW - closed
    by_window = judge_freshness(objective, end - before, NOW, end)
    by_clock = judge_freshness(objective, end - before, NOW, None)
    assert by_window.value is not None
    assert by_clock.value is not None
    assert by_window.value <= by_clock.value
    assert by_window.passed or not by_clock.passed


def test_a_backfill_of_an_old_day_is_judged_at_that_days_end() -> None:
    end = datetime(2024, 3, 2, tzinfo=UTC)
    assert judge_freshness(DAY, end - timedelta(hours=1), NOW, end).passed is True
    stale = judge_freshness(DAY, end - timedelta(hours=30), NOW, end)
    assert stale.passed is False
    assert stale.note == "the newest updated_at is 30 hours before the end of its window, 2024-03-02 00:00 UTC"


def test_a_window_that_is_still_open_is_judged_now() -> None:
    judged = judge_freshness(DAY, NOW - timedelta(hours=25), NOW, NOW + timedelta(hours=4))
    assert judged.passed is False
    assert judged.value == 25
    assert judged.note == "the newest updated_at is 25 hours before now"


def test_days_run_together_are_judged_alike() -> None:
    ends = [NOW - timedelta(days=days) for days in (1, 2, 3)]
    assert len({judge_freshness(DAY, end - timedelta(hours=20), NOW, end).value for end in ends}) == 1


def test_what_is_written_now_into_an_old_window_is_fresh() -> None:
    judged = judge_freshness(DAY, NOW, NOW, datetime(2024, 3, 2, tzinfo=UTC))
    assert (judged.passed, judged.value, judged.note) == (True, 0, None)


def test_a_row_from_the_future_is_told() -> None:
    judged = judge_freshness(DAY, NOW + timedelta(hours=3), NOW, None)
    assert judged.passed is True
    assert judged.note == "the newest updated_at is 3 hours ahead of the clock"


def test_no_row_is_no_judgement() -> None:
    judged = judge_freshness(DAY, None, NOW, None)
    assert (judged.passed, judged.value) == (None, None)
    assert judged.note == "there is no row with a value in updated_at"


def test_no_column_is_no_judgement() -> None:
    judged = judge_freshness(FreshnessObjective(60, None, ""), NOW, NOW, None)
    assert judged.passed is None
    assert judged.note
    assert "no column" in judged.note


@pytest.mark.parametrize(
    ("seconds", "bounds"),
    [(90, "90 seconds"), (5_400, "90 minutes"), (93_600, "26 hours"), (172_800, "2 days"), (6e9, "69,444.4 days")],
)
def test_the_bound_is_said_as_people_say_it(seconds: float, bounds: str) -> None:
    assert judge_freshness(FreshnessObjective(seconds, "at", ""), NOW, NOW, None).bounds == f"at most {bounds}"
