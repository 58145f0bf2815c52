"""Run-log rows as attempts, and which of them count when a window was run more than once."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

PUBLISHED = "success"
SETBACKS = ("failed", "blocked", "held")
JUDGED = ("success", "blocked")
"""Statuses of runs that evaluated their rows, whether or not they were published."""

DATA_CLOCK = "data"
"""The clock of the rows themselves, by the column that freshness is judged by."""

_QUOTED = re.compile(r"(?<!\w)'[^'\n]*'(?!\w)")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_LONGEST_REASON = 300
_UNDONE = "undone"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """A window as its report tells it: what `plan.window` wrote, read without it."""

    key: str = "full"
    start: datetime | None = None
    end: datetime | None = None
    values: frozenset[tuple[str, str]] = frozenset()

    @property
    def is_full(self) -> bool:
        return self.start is None and self.end is None and not self.values

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds() if self.start and self.end else math.inf

    def covers(self, other: Span) -> bool:
        """Whether every row of the other belongs to this one too."""
        begins = self.start is None or (other.start is not None and self.start <= other.start)
        ends = self.end is None or (other.end is not None and other.end <= self.end)
        return begins and ends and self.values <= other.values


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of one window; `first` and `last` are the days of its zone that it is shown under."""

    contract: str
    status: str
    ended: datetime
    window: Span
    identity: str
    first: date
    last: date
    good: int
    quarantined: int
    seconds: float
    row_rules: Sequence[Mapping[str, Any]] = ()
    dataset_rules: Sequence[Mapping[str, Any]] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    data_time: datetime = _LONG_AGO
    data_clock: str = "run"

    @property
    def is_setback(self) -> bool:
        return self.status in SETBACKS

    @property
    def is_judged(self) -> bool:
        return self.status in JUDGED

    @property
    def rows(self) -> int:
        return self.good + self.quarantined


def attempt_of(row: Mapping[str, Any]) -> Attempt:
    """An attempt from a row of the run log, with the parsed report under `report` where there is one."""
    report: Mapping[str, Any] = row.get("report") or {}
    ended = _moment(row.get("end_time") or row.get("timestamp")) or _LONG_AGO
    started = _moment(row.get("start_time")) or ended
    told: Mapping[str, Any] = report.get("window") or {}
    values: Mapping[str, str] = told.get("values") or {}
    window = Span(
        str(told.get("key") or "full"), _moment(told.get("start")), _moment(told.get("end")), frozenset(values.items())
    )
    first, last = _days(window, ended, str(told.get("zone") or "UTC"))
    state: Mapping[str, Any] = report.get("watermark") or {}
    data_time, clock = _data_time(row, report, window.end, ended)
    return Attempt(
        contract=str(row.get("contract") or ""),
        status=str(row.get("status") or "failed"),
        ended=ended,
        window=window,
        identity=str(state.get("identity") or row.get("run_id") or ended),
        first=first,
        last=last,
        good=int(row.get("counts_good") or 0),
        quarantined=int(row.get("counts_quarantined") or 0),
        seconds=float(row.get("run_duration_seconds") or max(0.0, (ended - started).total_seconds())),
        row_rules=report.get("row_rules") or (),
        dataset_rules=report.get("dataset_rules") or (),
        steps=report.get("timings") or {},
        reason=_reason(row, report),
        data_time=data_time,
        data_clock=clock,
    )


def latest_per_window(attempts: Iterable[Attempt], *, incremental: bool) -> list[Attempt]:
    """Of attempts in the order of time, those that no later one replaces.

    A rerun replaces its window. A run over a longer window replaces those inside it, unless it did not publish: then
    what it would have replaced still stands. An incremental run without a window starts after the last success, so it
    takes over what attempts since then left undone.
    """
    kept: dict[str, Attempt] = {}
    shortest, narrowest = math.inf, 0
    for attempt in attempts:
        if incremental and attempt.window.is_full:
            kept.pop(_UNDONE, None)
        elif attempt.status == PUBLISHED and _may_cover(attempt.window, shortest, narrowest):
            kept = {slot: old for slot, old in kept.items() if not attempt.window.covers(old.window)}
        shortest, narrowest = min(shortest, attempt.window.seconds), max(narrowest, len(attempt.window.values))
        slot = _slot(attempt, incremental)
        kept.pop(slot, None)
        kept[slot] = attempt
    return list(kept.values())


def latest_per_day(attempts: Iterable[Attempt], *, incremental: bool) -> list[Attempt]:
    """The history: what each day came to, so that a daily full load has a point for every day."""
    by_day: defaultdict[date, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_day[attempt.last].append(attempt)
    return [each for day in by_day.values() for each in latest_per_window(day, incremental=incremental)]


def _slot(attempt: Attempt, incremental: bool) -> str:
    if not (incremental and attempt.window.is_full):
        return attempt.window.key
    return f"batch:{attempt.identity}" if attempt.status == PUBLISHED else _UNDONE


def _may_cover(window: Span, shortest: float, narrowest: int) -> bool:
    """Windows of one kind do not hold each other, so that most need not be compared; a day may have 23 or 25 hours."""
    return window.is_full or window.seconds > 1.1 * shortest or len(window.values) < narrowest


def _days(window: Span, ended: datetime, zone: str) -> tuple[date, date]:
    """The calendar days of a window in its own zone; without bounds, the day of the run. No day is yet to come."""
    place = ZoneInfo(zone)
    today = ended.astimezone(place).date()
    first = window.start.astimezone(place).date() if window.start else None
    last = (window.end - timedelta.resolution).astimezone(place).date() if window.end else None
    first = first or last or today
    return first, max(first, min(last or today, today))


def _data_time(
    row: Mapping[str, Any], report: Mapping[str, Any], end: datetime | None, ended: datetime
) -> tuple[datetime, str]:
    """How new the data of a run is, from the best clock there is; nothing is newer than the run that read it."""
    mtime = row.get("max_source_mtime")
    clocks = (
        (DATA_CLOCK, _moment(report.get("newest"))),
        ("watermark", _moment(row.get("max_watermark_value"))),
        ("window", end),
        ("file", datetime.fromtimestamp(mtime, UTC) if isinstance(mtime, int | float) else None),
    )
    return next(((min(moment, ended), name) for name, moment in clocks if moment is not None), (ended, "run"))


def _moment(value: Any) -> datetime | None:
    """A point in time from whatever holds one; a time without a zone is UTC, as the log writes it."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _reason(row: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Why a run did not publish, in one line without anything that was in a row."""
    text = report.get("error") or "; ".join(report.get("reasons") or ()) or row.get("error_message") or ""
    for rule in report.get("dataset_rules") or ():
        found = rule.get("value")
        if isinstance(found, str) and found and number(found) is None:
            text = text.replace(found, "…")
    line = " ".join(_ADDRESS.sub("…", _QUOTED.sub("'…'", str(text))).split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def number(value: Any) -> float | None:
    """The value as a number, if it is one."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None
