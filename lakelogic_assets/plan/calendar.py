"""Windows of a calendar: the partitions of a declared set, and a range cut into days, weeks or months.

The partitions have the names and the bounds that Dagster gives them, without Dagster; a test compares the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Literal
from zoneinfo import ZoneInfo

from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.plan.window import Window

Granularity = Literal["day", "week", "month"]
Days = tuple[date, date]
"""A first and a last day, both included."""

FORMATS = {"hourly": "%Y-%m-%d-%H:%M", "daily": "%Y-%m-%d", "weekly": "%Y-%m-%d", "monthly": "%Y-%m-%d"}
_HOUR, _DAY, _WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
_A_MOMENT = timedelta(microseconds=1)


def partition_format(declared: PartitionSet) -> str:
    """How the keys of a set are written; an hour that happens twice needs its offset to have a name of its own."""
    form = declared.format or FORMATS[declared.cadence]
    return f"{form}%z" if declared.cadence == "hourly" and declared.timezone != "UTC" and "%z" not in form else form


def windows_between(
    declared: PartitionSet, first: date | None = None, last: date | None = None, now: datetime | None = None
) -> list[Window]:
    """The partitions that touch the days from `first` to `last` in the zone of the set and exist at this moment."""
    zone = ZoneInfo(declared.timezone)
    start = _midnight(first, zone) if first else None
    end = _midnight(last + _DAY, zone) if last else None
    found = [
        (begin, after)
        for begin, after in _existing(declared, zone, now or datetime.now(UTC))
        if (start is None or after > start) and (end is None or begin < end)
    ]
    return [window for begin, after in found for window in _named(declared, begin, after, zone)]


def _existing(declared: PartitionSet, zone: ZoneInfo, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The bounds of the set's partitions up to now; `end_offset` adds some that are not over, or takes some away."""
    final = _midnight(date.fromisoformat(declared.end), zone) if declared.end else None
    offset = declared.end_offset
    over: list[tuple[datetime, datetime]] = []
    for bounds in _endless(declared, zone):
        if bounds[1] > now:
            if offset <= 0:
                break
            offset -= 1
        over.append(bounds)
    kept = over if offset >= 0 else over[:offset]
    yield from (bounds for bounds in kept if final is None or bounds[1] <= final)


def _endless(declared: PartitionSet, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    first = date.fromisoformat(declared.start[:10])
    if declared.cadence == "hourly":
        hour = _midnight(first, zone)
        while True:
            yield hour, hour + _HOUR
            hour += _HOUR
    steps = _months(first) if declared.cadence == "monthly" else _days(first, declared.cadence)
    for begin, after in pairwise(steps):
        yield _midnight(begin, zone), _midnight(after, zone)


def _days(first: date, cadence: str) -> Iterator[date]:
    while True:
        yield first
        first += _WEEK if cadence == "weekly" else _DAY


def _months(first: date) -> Iterator[date]:
    """The same day of every month; months that are too short for it have none, as in a cron."""
    month = first.replace(day=1)
    while True:
        with contextlib.suppress(ValueError):
            yield month.replace(day=first.day)
        month = (month + timedelta(days=32)).replace(day=1)


def _named(declared: PartitionSet, begin: datetime, after: datetime, zone: ZoneInfo) -> Iterator[Window]:
    name = begin.astimezone(zone).strftime(partition_format(declared))
    if declared.static is None:
        yield Window(name, begin, after, zone=declared.timezone)
        return
    for value in declared.static.values:
        yield Window(f"{name}|{value}", begin, after, ((declared.static.column, value),), declared.timezone)


def cut(days: Days, by: Granularity, timezone: str = "UTC") -> list[Window]:
    """A range as windows of a day, a week from its first day on, or a month; the last one ends with the range."""
    first, last = days
    found: list[Window] = []
    while first <= last:
        after = min(_next(first, by), last + _DAY)
        found.append(Window.day(first, timezone) if by == "day" else Window.days(first, after, timezone))
        first = after
    return found


def days_of(window: Window) -> Days | None:
    """The first and the last day that a window touches in its zone; None where it has no bounds."""
    start, end = window.local_start, window.local_end
    return (start.date(), (end - _A_MOMENT).date()) if start and end else None


def spans(days: Iterable[Days]) -> list[Days]:
    """The same days, in order, those that follow each other as one span."""
    found: list[Days] = []
    for first, last in sorted(days):
        if found and first <= found[-1][1] + _DAY:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _next(day: date, by: Granularity) -> date:
    if by == "month":
        return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return day + (_WEEK if by == "week" else _DAY)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)
