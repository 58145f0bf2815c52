"""What a description tells about the values: `Format: C######`, `Format: YYYY-MM-DD, 1940 to 2008`, `Empty when …`."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from lakelogic_assets.plan.synthetic import Pattern, Pool, Pooled, Strategy, Within

_FORMAT = re.compile(r"\bformat:\s*(.+?)\s*(?:\.(?=\s|\Z)|\Z)", re.I | re.S)
_DATE = re.compile(r"yyyy-mm-dd(?P<time>[t ]hh:mm(:ss)?)?", re.I)
_YEARS = re.compile(r"\b(\d{4})(?:-(\d\d)-(\d\d))?(?:\s*(?:to|until|-|–|\.\.)\s*(\d{4})(?:-(\d\d)-(\d\d))?)?")  # noqa: RUF001
_EMPTY = re.compile(
    r"\b(empty|null|missing|blank|left out)\s+(when|if|unless|for)\b|\boptional\b"
    r"|(?<!not )\bnullable\b|\b(may|can) be (null|empty)\b",
    re.I,
)
_PARENT = re.compile(r"\b(?:FK|foreign key) (?:in)?to (?:(?:the|a|an|its) )?(\w+(?: \w+){0,2})", re.I)
_LATE = re.compile(r"\bup to (\w+) days? late\b", re.I)
_RANGE = re.compile(r"\((-?\d+(?:\.\d+)?)\s*(?:-|–|to)\s*(-?\d+(?:\.\d+)?)\)")  # noqa: RUF001
_LISTED = re.compile(r"(?:.*\()?\s*([\w-]+(?:, ?(?:or )?[\w-]+)+)\s*\)?\.?", re.S)
_WORDS: Final[dict[str, Pool]] = {
    "email": "email", "e-mail": "email", "mail": "email", "phone": "phone", "telephone": "phone", "uuid": "uuid",
    "guid": "uuid", "url": "url", "uri": "url", "ip": "ip", "postcode": "postcode", "zip": "postcode", "city": "city",
    "country": "country", "currency": "currency",
}  # fmt: skip
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven")
EMPTY_SHARE: Final = 0.2


def described_format(description: str) -> Strategy | None:
    """The strategy that a `Format:` names; None without one, or when nobody knows what it means."""
    found = _FORMAT.search(description)
    if not found:
        return None
    text = found[1]
    if "#" in text:
        return Pattern(text)
    if day := _DATE.match(text):
        window = _window(text[day.end() :])
        return Within(*window, moment=day["time"] is not None) if window else None
    pool = _WORDS.get(text.lower().split(",")[0].strip())
    return Pooled(pool) if pool else None


def _window(text: str) -> tuple[date, date] | None:
    """`2025`, `1940 to 2008`, `2025-03-01 to 2025-06-30`."""
    found = _YEARS.search(text)
    if not found:
        return None
    year, month, day, last_year, last_month, last_day = found.groups()
    try:
        first = date(int(year), int(month or 1), int(day or 1))
        if last_year is None and month:
            return first, first
        last = date(int(last_year or year), int(last_month or 12), int(last_day or 31))
    except ValueError:
        return None
    return (first, last) if first <= last else None


def described_range(description: str) -> tuple[float, float] | None:
    """`Rating given by the rider (1-5)`."""
    found = _RANGE.search(description)
    return (float(found[1]), float(found[2])) if found and float(found[1]) < float(found[2]) else None


def described_values(description: str) -> tuple[str, ...]:
    """`card, apple_pay, cash`, alone or in brackets; a list of plain words and nothing else."""
    found = _LISTED.fullmatch(description)
    if not found:
        return ()
    words = tuple(word.strip().removeprefix("or ") for word in found[1].split(","))
    return words if len(words) > 2 or "(" in description else ()


def described_parent(description: str) -> tuple[str, ...]:
    """`FK to rider_profiles`, `FK to parent charge`: the words that name a table; the last ones name it best."""
    found = _PARENT.search(description)
    return tuple(found[1].lower().split()) if found else ()


def empty_share(description: str) -> float:
    """`Empty when no card was shown.`, `Day it was closed (nullable)`"""
    return EMPTY_SHARE if _EMPTY.search(description) else 0.0


def days_late(description: str) -> int:
    """`delivers it up to three days late`."""
    found = _LATE.search(description)
    if not found:
        return 0
    word = found[1].lower()
    return _NUMBERS.index(word) if word in _NUMBERS else int(word) if word.isdecimal() else 0
