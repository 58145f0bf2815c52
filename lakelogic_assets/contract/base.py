"""What all sections share: frozen, closed models and the small value types of the language."""

from __future__ import annotations

import re
import warnings
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from lakelogic_assets.contract.problems import shown


class Section(BaseModel):
    """A mapping of the language: immutable, and closed to keys that it does not know."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        protected_namespaces=(),
        hide_input_in_errors=True,
    )


class OpenSection(Section):
    """A mapping that keeps keys of other tools as they are."""

    model_config = ConfigDict(extra="allow")


LENIENT: dict[str, Any] = {"x-lenient": True}
"""Marks a key that public contracts use but the canonical OLC schema does not have."""

Phase = Literal["pre", "post"]
Bag = dict[str, Any]


def problem(code: str, message: str, **context: Any) -> PydanticCustomError:
    """A validation error that carries a code of the catalogue."""
    return PydanticCustomError(code, message, context)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""One name or a list of names."""

_PERIOD = re.compile(
    r"\s*(\d+(?:\.\d+)?)\s*(s|sec|secs|seconds?|m|min|mins|minutes?|h|hr|hrs|hours?|d|days?|w|weeks?|mo|months?|y|years?)\s*\Z",
    re.I,
)
_LONGEST_PERIOD = 100 * 31_536_000
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "mo": 2_592_000, "y": 31_536_000}


def period_seconds(text: str) -> float | None:
    """`3d`, `12 hours`, `1 month` → seconds; None when it is not a period, or one that no clock can be set by."""
    match = _PERIOD.match(text)
    if not match:
        return None
    unit = match.group(2).lower()
    short = "mo" if unit.startswith("mo") else unit[0]
    seconds = float(match.group(1)) * _UNIT_SECONDS[short]
    return seconds if seconds <= _LONGEST_PERIOD else None


def is_in_days(text: str) -> bool:
    """Whether a period is counted in whole days: `30d` and `1 week`, not `36h`."""
    match = _PERIOD.match(text)
    unit = match.group(2).lower() if match else ""
    return (unit[:1] in ("d", "w", "y") or unit.startswith("mo")) and (period_seconds(text) or 0) % 86_400 == 0


def _check_period(value: str) -> str:
    if period_seconds(value) is None:
        raise problem("LL110", f"{shown(value)} is not a period such as 3d, 12 hours or 1 month.")
    return value


_BROKEN_PATTERN = re.compile(
    r"unterminated|unbalanced|nothing to repeat|bad character range|bad escape \(end|missing \)"
)


def _check_regex(value: str) -> str:
    """Patterns are Java's, so only what no dialect of regular expressions accepts is a fault."""
    if len(value) > 10_000:
        raise problem("LL112", f"The pattern has {len(value):,} characters; at most 10,000 are read.")
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(value)
    except re.error as error:
        if _BROKEN_PATTERN.search(error.msg):
            raise problem("LL112", f"The pattern {shown(value)} does not compile: {error}.") from None
    except (RecursionError, OverflowError):
        raise problem("LL112", f"The pattern {shown(value)} is nested too deeply or repeats too often.") from None
    return value


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\Z", re.ASCII)


def _check_date(value: str) -> str:
    try:
        real = _DATE.match(value) and datetime.fromisoformat(value)
    except ValueError:
        real = None
    if not real:
        raise problem("LL115", f"{shown(value)} is not a date such as 2026-02-03.")
    return value


_NO_LABEL = re.compile(r"[/\\\x00-\x1f\x7f]|\A\.*\Z")
_LONGEST_LABEL = 200


def _check_label(value: str) -> str:
    """Folders are called by it, so it leads nowhere else."""
    if _NO_LABEL.search(value) or len(value) > _LONGEST_LABEL:
        raise problem("LL104", f"{shown(value)} cannot name a table or a folder: write letters, digits, `_` and `-`.")
    return value


_CRON_VALUE = (
    r"(?:\*|\?|L|LW|\d{1,4}[LW]?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)L?)"
)
_CRON_PART = rf"{_CRON_VALUE}(?:-{_CRON_VALUE})?(?:/\d{{1,4}})?(?:\#\d)?"
_CRON_FIELD = re.compile(rf"{_CRON_PART}(?:,{_CRON_PART})*\Z", re.IGNORECASE)
_CRON_WORDS = frozenset("@yearly @annually @monthly @weekly @daily @midnight @hourly".split())


def _check_cron(value: str) -> str:
    """Five fields, or the six or seven of Quartz, which public contracts use."""
    fields = value.split()
    if value.strip().lower() in _CRON_WORDS or (5 <= len(fields) <= 7 and all(map(_CRON_FIELD.match, fields))):
        return value
    raise problem("LL117", f"{shown(value)} is not a cron expression.")


Period = Annotated[str, AfterValidator(_check_period)]
Pattern = Annotated[str, AfterValidator(_check_regex)]
DateText = Annotated[str, AfterValidator(_check_date)]
Cron = Annotated[str, AfterValidator(_check_cron)]
Name = Annotated[str, Field(min_length=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=10**12)]
Days = Annotated[int, Field(ge=0, le=100 * 366)]
Label = Annotated[str, AfterValidator(_check_label)]
"""What becomes the name of a table, a folder and an asset."""


def exactly_one(section: BaseModel, names: tuple[str, ...], what: str) -> str:
    """The one of `names` that is set; anything else is a problem."""
    written = section.model_fields_set
    given = [name for name in names if name in written and getattr(section, name) is not None]
    if len(given) == 1:
        return given[0]
    if given:
        raise problem("LL107", f"This entry says {' and '.join(given)}; {what} says one thing.", allowed=list(names))
    raise problem("LL107", f"This entry says nothing; {what} is one of {', '.join(names)}.", allowed=list(names))
