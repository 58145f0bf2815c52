"""Is the data as new as promised? Judged by the age of the newest row, not by when a run ended."""

from __future__ import annotations

from datetime import UTC, datetime

from lakelogic_assets.contract.objectives import FreshnessObjective
from lakelogic_assets.gates.judgement import Judgement

_HOUR = 3_600


def judge_freshness(
    objective: FreshnessObjective, newest: datetime | None, now: datetime, window_end: datetime | None
) -> Judgement:
    """The lag in hours; a time without a zone is UTC.

    A window that has closed is judged as of its end: a backfill of an old day brings old rows and is not late for that.
    """
    bounds = f"at most {spoken(objective.seconds)}"
    if objective.column is None:
        return Judgement(None, None, bounds, "no column tells how old a row is; name one in service_levels.freshness")
    if newest is None:
        return Judgement(None, None, bounds, f"there is no row with a value in {objective.column}")
    now, newest = _utc(now), _utc(newest)
    end = _utc(window_end) if window_end else None
    has_closed = end is not None and end < now
    lag = ((end if end is not None and has_closed else now) - newest).total_seconds()
    if lag > objective.seconds:
        since = f"the end of its window, {end:%Y-%m-%d %H:%M} UTC" if has_closed else "now"
        note = f"the newest {objective.column} is {spoken(lag)} before {since}"
        return Judgement(False, lag / _HOUR, bounds, note)
    ahead = None if lag >= 0 or has_closed else f"the newest {objective.column} is {spoken(-lag)} ahead of the clock"
    return Judgement(True, max(lag, 0.0) / _HOUR, bounds, ahead)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def spoken(seconds: float) -> str:
    """A length of time as people say it."""
    for unit, size in (("days", 86_400), ("hours", _HOUR), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{round(seconds / size, 1):,g} {unit}"
    return f"{round(seconds):,} seconds"
