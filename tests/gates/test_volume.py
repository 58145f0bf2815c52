"""As many rows as expected, and as usual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakelogic_assets.contract.objectives import VolumeObjective
from lakelogic_assets.contract.service_levels import Anomaly
from lakelogic_assets.gates.volume import judge_volume
from lakelogic_assets.report.run import Counts

unhurried = settings(deadline=None, derandomize=True, database=None)

ANY = VolumeObjective(None, None, False, "good", None, 3)
ROWS = st.integers(min_value=0, max_value=10**9)
METHODS = st.sampled_from(["median", "rolling_average", "seasonal_median"])


def bounded(low: int | None, high: int | None = None) -> VolumeObjective:
    return replace(ANY, min_rows=low, max_rows=high)


def usual(**anomaly: Any) -> VolumeObjective:
    return replace(ANY, anomaly=Anomaly(**anomaly))


def rows(number: int) -> Counts:
    return Counts(source=number, good=number)


@unhurried
@given(rows=ROWS, low=st.none() | ROWS, high=st.none() | ROWS)
def test_fixed_bounds_hold_exactly(rows: int, low: int | None, high: int | None) -> None:
    judged = judge_volume(bounded(low, high), Counts(good=rows), ())
    within = (low is None or rows >= low) and (high is None or rows <= high)
    assert judged.value == rows
    assert judged.passed is (None if low is None and high is None else within)
    assert (judged.note is None) is within


@pytest.mark.parametrize(("counter", "value"), [("source", 10), ("good", 6), ("total", 8)])
def test_each_counter_counts_its_own_rows(counter: Any, value: int) -> None:
    judged = judge_volume(replace(bounded(7), counter=counter), Counts(10, 6, 2, 2), ())
    assert (judged.value, judged.passed) == (value, value >= 7)


@unhurried
@given(history=st.lists(ROWS, max_size=4), rows=ROWS, method=METHODS)
def test_too_little_history_is_no_judgement(history: list[int], rows: int, method: Any) -> None:
    judged = judge_volume(usual(method=method), Counts(good=rows), history)
    assert judged.passed is None
    assert judged.note == f"{len(history)} earlier runs are known; 5 are needed to compare"


@unhurried
@given(history=st.lists(ROWS, max_size=4), low=ROWS, rows=ROWS)
def test_fixed_bounds_are_judged_also_without_history(history: list[int], low: int, rows: int) -> None:
    objective = replace(usual(), min_rows=low)
    assert judge_volume(objective, Counts(good=rows), history).passed is (rows >= low)


@unhurried
@given(rows=st.integers(1, 10**9), runs=st.integers(5, 40), method=METHODS)
def test_the_same_number_every_time_is_usual(rows: int, runs: int, method: Any) -> None:
    judged = judge_volume(usual(method=method), Counts(good=rows), [rows] * runs)
    assert judged.passed is True
    assert judged.note is None


@unhurried
@given(history=st.lists(st.integers(1, 10**6), min_size=5, max_size=60), method=METHODS)
def test_what_is_usual_lies_between_the_least_and_the_most(history: list[int], method: Any) -> None:
    exact = usual(method=method, lookback_runs=60, min_ratio=1, max_ratio=1)
    assert judge_volume(exact, rows(max(history) + 1), history).passed is False
    assert judge_volume(exact, rows(min(history) - 1), history).passed is False


@unhurried
@given(
    history=st.lists(st.integers(1, 10**6), min_size=20, max_size=40),
    older=st.lists(ROWS, max_size=20),
    number=ROWS,
    method=st.sampled_from(["median", "rolling_average"]),
)
def test_runs_beyond_the_lookback_do_not_count(history: list[int], older: list[int], number: int, method: Any) -> None:
    objective = usual(method=method, lookback_runs=len(history))
    assert judge_volume(objective, rows(number), older + history) == judge_volume(objective, rows(number), history)


@pytest.mark.parametrize(
    ("method", "passing", "failing"),
    [
        # One great day moves the average, not the median.
        ("median", 100, 1_000),
        ("rolling_average", 1_000, 100),
    ],
)
def test_the_methods_differ(method: Any, passing: int, failing: int) -> None:
    history = [100, 100, 100, 100, 5_000]
    objective = usual(method=method)
    assert judge_volume(objective, rows(passing), history).passed is True
    assert judge_volume(objective, rows(failing), history).passed is False


def test_a_sunday_is_compared_with_sundays() -> None:
    weeks = [10, 100, 100, 100, 100, 100, 100] * 3
    seasonal, plain = usual(method="seasonal_median", lookback_runs=21), usual(lookback_runs=21)
    assert judge_volume(seasonal, rows(10), weeks).passed is True
    assert judge_volume(seasonal, rows(100), weeks).passed is False
    assert judge_volume(plain, rows(10), weeks).passed is False


def test_one_week_alone_is_no_season() -> None:
    week = [10, 100, 100, 100, 100, 100, 100]
    assert judge_volume(usual(method="seasonal_median"), rows(100), week).passed is True


def test_nothing_is_a_multiple_of_no_rows() -> None:
    judged = judge_volume(usual(), rows(5), [0] * 6)
    assert judged.passed is None
    assert judged.note == "no rows came so far, so nothing is a multiple of them"


def test_the_bounds_say_all_that_is_expected() -> None:
    judged = judge_volume(replace(usual(), min_rows=1, max_rows=5_000), rows(300), [100] * 6)
    assert judged.bounds == "at least 1 and at most 5,000 and 0.5 to 2 times the median of 100"
    assert judged.passed is False
    assert judged.note == "300 rows are 3.00 times the median of 100"


def test_a_broken_bound_is_told_before_an_unusual_number() -> None:
    judged = judge_volume(replace(usual(), min_rows=1), rows(0), [100] * 6)
    assert judged.note == "0 rows; at least 1 are expected"
