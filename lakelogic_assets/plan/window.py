"""Time windows: half-open, aware of their zone, and named so that a rerun finds its own traces."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Window:
    """The instants from `start` up to, not including, `end`; without bounds it is all there is."""

    key: str
    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_full(self) -> bool:
        return self.start is None and self.end is None

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
        return Window(key or f"{first.isoformat()}..{after.isoformat()}", start, end)

    @staticmethod
    def range(start: str, end: str, timezone: str = "UTC") -> Window:
        """From one day to another, both included, as people say it."""
        return Window.days(date.fromisoformat(start), date.fromisoformat(end) + timedelta(days=1), timezone)

    def as_dict(self) -> dict[str, str | None]:
        return {
            "key": self.key,
            "start": self.start.isoformat() if self.start else None,
            "end": self.end.isoformat() if self.end else None,
        }


FULL = Window("full")
