"""`schedule:` as the five fields that every scheduler reads; contracts also write words and Quartz's six or seven."""

from __future__ import annotations

import re

_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_QUARTZ_ONLY = re.compile(r"L|W|#", re.I)
_MONTHS_AND_DAYS = re.compile(r"[a-z]{3}", re.I)
_WEEKDAY = re.compile(r"(?<![\d/])\d")
_WEEKDAYS = re.compile(r"(\d)-(\d)")


def five_fields(cron: str) -> str | None:
    """Minute, hour, day, month, weekday; None where a schedule cannot be said so, as with the last Friday."""
    word = _WORDS.get(cron.strip().lower())
    if word:
        return word
    fields = cron.split()
    if len(fields) < 5:
        return None
    if len(fields) > 5:
        seconds, *fields = fields
        year = fields[5] if len(fields) > 5 else "*"
        if not seconds.isdigit() or year not in ("*", "?"):
            return None
        # Quartz counts the days of the week from 1, which is Sunday.
        fields = [*fields[:4], _WEEKDAY.sub(lambda day: str((int(day.group()) - 1) % 7), fields[4])]
    if any(first > last for first, last in _WEEKDAYS.findall(fields[4])):
        return None  # from Saturday to Monday: a week that others do not have
    if any(_QUARTZ_ONLY.search(_MONTHS_AND_DAYS.sub("", field)) for field in fields):
        return None
    return " ".join("*" if field == "?" else field for field in fields)
