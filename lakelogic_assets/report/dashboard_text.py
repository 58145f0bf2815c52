"""Figures as people read them; the same words in HTML and in markdown."""

from __future__ import annotations

from datetime import date, datetime

from lakelogic_assets.report.dashboard_records import ProductQuality

NOTHING = "\N{EN DASH}"

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))

STATE_WORDS = {
    "success": "published",
    "passing": "passing",
    "never": "never ran",
    "no_new_data": "nothing new",
    "unchanged": "unchanged",
}


def count(number: int) -> str:
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(value: float | None, digits: int = 2) -> str:
    """A share that is not all never reads 100 %, and one that is not nothing never reads 0 %."""
    if value is None:
        return NOTHING
    step = 10**-digits
    if 1 - step / 200 < value < 1:
        return f">{100 - step:.{digits}f}%"
    if 0 < value < step / 200:
        return f"<{step:.{digits}f}%"
    return f"{value:.{digits}%}" if value < 1 else "100%"


def points(value: float | None) -> str:
    """A change in percentage points, with its sign."""
    if value is None:
        return NOTHING
    rounded = round(value * 100, 2)
    return f"{rounded:+.2f}" if rounded else "±0"


def day(value: date) -> str:
    return f"{value.day} {_MONTHS[value.month - 1]}"


def moment(value: datetime | None) -> str:
    return f"{day(value)} {value:%H:%M}" if value else NOTHING


def period(seconds: float | None) -> str:
    """A length of time in its two largest units."""
    if seconds is None:
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    left = round(seconds)
    parts: list[tuple[int, str]] = []
    for name, size in _UNITS:
        number, left = divmod(left, size)
        if number or parts:
            parts.append((number, name))
    return " ".join(f"{number} {name}" for number, name in parts[:2] if number)


def state_word(state: str | None) -> str:
    return STATE_WORDS.get(state, state) if state else NOTHING


def why(quality: ProductQuality) -> str:
    """What is the matter with a product, in one line."""
    said = []
    if quality.state == "never":
        said.append("declared, and no run in the log")
    elif quality.open_windows:
        latest = quality.open_windows[-1]
        more = f" and {len(quality.open_windows) - 1} more" if len(quality.open_windows) > 1 else ""
        where = "" if latest == "full" and not more else f"{latest}{more}: "
        said.append(f"{where}{(quality.reason or 'no reason was given').rstrip('.')}")
    if quality.freshness.is_stale:
        age, objective = quality.freshness.age_seconds, quality.freshness.objective_seconds
        said.append(f"data is {period(age)} old, {period(objective)} are allowed")
    return "; ".join(said)
