"""Time windows."""

from datetime import UTC, datetime, timedelta

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
