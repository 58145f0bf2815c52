"""Time windows."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from lakelogic_assets.plan.window import Window


def test_a_day_is_half_open_in_its_zone() -> None:
    day = Window.day("2026-02-03")
    assert (day.start, day.end) == (datetime(2026, 2, 3, tzinfo=UTC), datetime(2026, 2, 4, tzinfo=UTC))
    assert day.key == "2026-02-03"


def test_days_on_which_clocks_change_are_23_and_25_hours_long() -> None:
    spring, autumn = Window.day("2026-03-29", "Europe/Paris"), Window.day("2026-10-25", "Europe/Paris")
    assert spring.end - spring.start == timedelta(hours=23)
    assert autumn.end - autumn.start == timedelta(hours=25)


def test_a_range_includes_both_of_its_days() -> None:
    week = Window.range("2026-02-01", "2026-02-05")
    assert (week.start, week.end) == (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 6, tzinfo=UTC))


def test_a_window_without_bounds_is_all_there_is() -> None:
    assert Window.full().is_full
    assert Window.full().as_dict() == {"key": "full", "start": None, "end": None}


def test_windows_that_only_touch_do_not_overlap() -> None:
    assert not Window.day("2026-02-03").overlaps(Window.day("2026-02-04"))
    assert Window.day("2026-02-03").overlaps(Window.range("2026-02-01", "2026-02-03"))
    assert Window.full().overlaps(Window.day("2026-02-03"))
    assert Window.day("2026-02-03").overlaps(Window.full())


def of_region(region: str) -> Window:
    return replace(Window.day("2026-02-03"), key=f"2026-02-03|{region}", values=(("region", region),))


def test_windows_of_different_values_share_no_row() -> None:
    assert not of_region("eu").overlaps(of_region("us"))
    assert of_region("eu").overlaps(Window.day("2026-02-03"))
    assert not of_region("eu").is_full
    assert Window("eu", values=(("region", "eu"),)).overlaps(of_region("eu"))


def test_a_window_covers_only_what_lies_wholly_in_it() -> None:
    assert Window.full().covers(of_region("eu"))
    assert Window.day("2026-02-03").covers(of_region("eu"))
    assert not of_region("eu").covers(Window.day("2026-02-03"))
    assert not Window.day("2026-02-03").covers(Window.full())
    assert Window.range("2026-02-01", "2026-02-05").covers(Window.day("2026-02-05"))
    assert not Window.range("2026-02-01", "2026-02-05").covers(Window.day("2026-02-06"))


def test_a_window_comes_back_from_its_json_as_it_was() -> None:
    paris = replace(Window.day("2026-02-03", "Europe/Paris"), values=(("region", "eu"),))
    for window in (Window.full(), of_region("eu"), paris):
        assert Window.from_dict(window.as_dict()) == window


def test_days_are_those_of_the_windows_zone() -> None:
    assert Window.day("2026-02-03", "America/New_York").local_days == (date(2026, 2, 3), date(2026, 2, 4))
    assert replace(Window.day("2026-02-03"), zone="Europe/Paris").local_days is None


@pytest.mark.parametrize(("zone", "day"), [("America/Santiago", "2026-09-06"), ("Atlantic/Azores", "2026-03-29")])
def test_a_day_without_a_midnight_is_a_whole_day_all_the_same(zone: str, day: str) -> None:
    first = date.fromisoformat(day)
    for number in (-1, 0, 1):
        begun = first + timedelta(days=number)
        assert Window.day(begun, zone).local_days == (begun, begun + timedelta(days=1))
