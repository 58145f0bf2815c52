"""Dates in folder names: a landing layout such as `y_%Y/m_%m/d_%d/h_%H`, read from paths and never enumerated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Final

_DIRECTIVES: Final = {
    "Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{1,2}", "d": r"\d{1,2}", "H": r"\d{1,2}", "M": r"\d{1,2}", "S": r"\d{1,2}",
    "j": r"\d{1,3}", "b": r"[A-Za-z]+", "B": r"[A-Za-z]+", "F": r"\d{4}-\d{1,2}-\d{1,2}",
}  # fmt: skip
_DIRECTIVE = re.compile(r"%-?(.)")
_DAY: Final = timedelta(days=1)
_LENGTHS: Final = (("S", timedelta(seconds=1)), ("M", timedelta(minutes=1)), ("H", timedelta(hours=1)))


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of time; None is open."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.start is None and self.end is None

    def narrowed(self, other: Span) -> Span:
        starts = [each for each in (self.start, other.start) if each is not None]
        ends = [each for each in (self.end, other.end) if each is not None]
        return Span(max(starts, default=None), min(ends, default=None))

    def overlaps(self, start: datetime, end: datetime) -> bool:
        return (self.start is None or end > self.start) and (self.end is None or start < self.end)

    def contains(self, start: datetime, end: datetime) -> bool:
        return (self.start is None or start >= self.start) and (self.end is None or end <= self.end)


def span_of(start: date | datetime | str | None, end: date | datetime | str | None) -> Span:
    """A stretch of time from what people write: a day as end includes that day."""
    return Span(_moment(start), _moment(end, is_end=True))


def _moment(value: date | datetime | str | None, *, is_end: bool = False) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value) if len(value) > len("2026-02-03") else date.fromisoformat(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    midnight = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return midnight + _DAY if is_end else midnight


@dataclass(frozen=True)
class DateLayout:
    """A strftime layout of folders."""

    format: str

    def span(self, path: str) -> tuple[datetime, datetime] | None:
        """The time that a relative path stands for; None when it does not follow the layout."""
        return _parsed(self.format, path)

    @cached_property
    def _day_format(self) -> str | None:
        """The part of the layout down to the day, where it goes further."""
        segments = self.format.split("/")
        for count in range(1, len(segments)):
            letters = set(_DIRECTIVE.findall("/".join(segments[:count])))
            if letters >= {"Y", "m", "d"} or "F" in letters or letters >= {"Y", "j"}:
                return "/".join(segments[:count])
        return None

    def admits(self, path: str, bounds: Span) -> bool:
        """Whether a path lies within the bounds; one that follows no layout lies within none but the open ones.

        A folder such as `h_99`, of a day but of no hour of it, counts when all of its day is asked for.
        """
        if bounds.is_open:
            return True
        exact = self.span(path)
        if exact is not None:
            return bounds.overlaps(*exact)
        day = _parsed(self._day_format, path) if self._day_format else None
        return day is not None and bounds.contains(*day)


def _parsed(layout: str, path: str) -> tuple[datetime, datetime] | None:
    expanded = layout.replace("%-", "%").replace("%F", "%Y-%m-%d")
    for found in re.finditer(rf"(?:\A|(?<=/))(?:{_pattern(expanded)})(?=/|\.|\Z)", path):
        try:
            # A year alone, or a year and a month, is parsed as its first day.
            start = datetime.strptime(found.group(), expanded).replace(tzinfo=UTC)
        except ValueError:
            continue
        return start, _end(start, set(_DIRECTIVE.findall(expanded)))
    return None


def _pattern(layout: str) -> str:
    parts, last = [], 0
    for directive in _DIRECTIVE.finditer(layout):
        parts += [re.escape(layout[last : directive.start()]), _DIRECTIVES.get(directive.group(1), r"[^/]+?")]
        last = directive.end()
    return "".join([*parts, re.escape(layout[last:])])


def _end(start: datetime, letters: set[str]) -> datetime:
    for letter, length in _LENGTHS:
        if letter in letters:
            return start + length
    if letters & {"d", "j"}:
        return start + _DAY
    if letters & {"m", "b", "B"}:
        return (start.replace(day=1) + timedelta(days=32)).replace(day=1)
    return start.replace(year=start.year + 1)
