"""Time windows: half-open, aware of their zone, and named so that a rerun finds its own traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Window:
    """The instants from `start` up to, not including, `end`; without bounds it is all there is.

    `values` narrow it to rows whose columns hold these texts, as in the window `2026-02-03|eu`. `zone` is where its
    days are counted: a column of dates, which knows no zone, is compared with the days of this one.
    """

    key: str
    start: datetime | None = None
    end: datetime | None = None
    values: tuple[tuple[str, str], ...] = ()
    zone: str = "UTC"

    @property
    def is_full(self) -> bool:
        return self.start is None and self.end is None and not self.values

    @staticmethod
    def full() -> Window:
        return FULL

    @staticmethod
    def day(day: str | date, timezone: str = "UTC") -> Window:
        """One calendar day of a zone: 23 or 25 hours where clocks change."""
        first = date.fromisoformat(day) if isinstance(day, str) else day
        return Window.days(first, first + timedelta(days=1), timezone, key=first.isoformat())

    @staticmethod
    def days(first: date, after: date, timezone: str = "UTC", key: str | None = None) -> Window:
        """The calendar days from `first` up to, not including, `after`."""
        zone = ZoneInfo(timezone)
        start, end = (datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC) for day in (first, after))
        return Window(key or f"{first.isoformat()}..{after.isoformat()}", start, end, zone=timezone)

    @staticmethod
    def range(start: str, end: str, timezone: str = "UTC") -> Window:
        """From one day to another, both included, as people say it."""
        return Window.days(date.fromisoformat(start), date.fromisoformat(end) + timedelta(days=1), timezone)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Window:
        """The window that `as_dict` gave."""
        start, end = (datetime.fromisoformat(text) if (text := data.get(name)) else None for name in ("start", "end"))
        return Window(
            str(data["key"]), start, end, tuple(data.get("values", {}).items()), str(data.get("zone") or "UTC")
        )

    @property
    def local_start(self) -> datetime | None:
        return _wall_clock(self.start, self.zone)

    @property
    def local_end(self) -> datetime | None:
        return _wall_clock(self.end, self.zone)

    @property
    def local_days(self) -> tuple[date | None, date | None] | None:
        """First day and the day after the last in the window's zone; None where it does not consist of whole days."""
        days = [None if moment is None else _day_beginning(moment, self.zone) for moment in (self.start, self.end)]
        if any(day is None and moment is not None for day, moment in zip(days, (self.start, self.end), strict=True)):
            return None
        return days[0], days[1]

    def overlaps(self, other: Window) -> bool:
        """Whether some row may belong to both; windows that ask different values of one column share none."""
        mine, theirs = dict(self.values), dict(other.values)
        if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
            return False
        begins = self.start is None or other.end is None or self.start < other.end
        ends = self.end is None or other.start is None or other.start < self.end
        return begins and ends

    def covers(self, other: Window) -> bool:
        """Whether every row of the other belongs to this one too."""
        theirs = dict(other.values)
        if any(theirs.get(name) != value for name, value in self.values):
            return False
        begins = self.start is None or (other.start is not None and self.start <= other.start)
        ends = self.end is None or (other.end is not None and other.end <= self.end)
        return begins and ends

    def widened(self, seconds: float) -> Window:
        """The same window with an earlier start, for a read that looks back."""
        return self if self.start is None else replace(self, start=self.start - timedelta(seconds=seconds))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; values and zone only where they say something."""
        shown: dict[str, Any] = {
            "key": self.key,
            "start": self.start.isoformat() if self.start else None,
            "end": self.end.isoformat() if self.end else None,
        }
        if self.values:
            shown["values"] = dict(self.values)
        if self.zone != "UTC":
            shown["zone"] = self.zone
        return shown


def _day_beginning(moment: datetime, zone: str) -> date | None:
    """The day that begins at this moment; where clocks change at midnight it begins at another hour."""
    place = ZoneInfo(zone)
    day = moment.astimezone(place).date()
    return day if datetime.combine(day, time(), place).astimezone(UTC) == moment else None


def _wall_clock(moment: datetime | None, zone: str) -> datetime | None:
    return None if moment is None else moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


FULL = Window("full")
