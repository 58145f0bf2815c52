"""Strategies that keep what rules ask for: usual values, narrowed to those that pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from lakelogic_assets.authoring.synthetic.comparisons import Comparison, as_day
from lakelogic_assets.authoring.synthetic.regexes import samples
from lakelogic_assets.plan.synthetic import Choice, Number, OnDay, Pattern, Pool, Pooled, Stage, Strategy, Within

if TYPE_CHECKING:
    from lakelogic_assets.authoring.synthetic.hints import Hints

_SHAPES: Final[dict[Pool, str]] = {
    "email": "ada.meyer12@example.com", "uuid": "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "ip": "192.0.2.17",
    "url": "https://example.com/word", "country": "DE", "currency": "EUR",
}  # fmt: skip
"""Pools whose texts all look alike, whatever the locale."""
_FREE_TEXTS: Final = ("Ada Meyer", "Zoë O'Brien-Müller 12, 3rd floor", "山田 太郎")
"""What finds a match in all of these finds one in any text that people know."""
_DAY_FORMATS: Final = (
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y",
)  # fmt: skip
_FIRST_DAY, _LAST_DAY, _MANY_DAYS = date(2020, 1, 1), date(2025, 12, 31), 300


def narrowed(strategy: Strategy, hints: Hints) -> Strategy:
    """The strategy with the values that the demands let pass; as it was where none would."""
    plain = [each for each in hints.demands if each.other is None and each.sign not in ("not null", "null")]
    match strategy:
        case Choice(values) | Stage(values):
            kept = tuple(value for value in values if all(each.holds(value) for each in plain))
            return replace(strategy, values=kept or _listed(plain) or values)
        case Number():
            return _bounded(strategy, plain)
        case Within() if hints.type != "STRING" or not hints.regexes:
            return _between(strategy, plain)
        case Within() | OnDay():
            return _day_as_written(strategy, hints)
        case Pattern() | Pooled():
            if listed := _listed(plain):
                return Choice(listed)
            return _matching(strategy, hints)
        case _:
            return strategy


def _listed(demands: Sequence[Comparison]) -> tuple[Any, ...]:
    named = [each for each in demands if each.sign in ("=", "in") and not each.of_length]
    values = [value for each in named[:1] for value in each.values]
    return tuple(value for value in values if all(each.holds(value) for each in demands))


def _bounded(strategy: Number, demands: Sequence[Comparison]) -> Strategy:
    if listed := _listed(demands):
        return Choice(listed)
    low, high, unit = strategy.low, strategy.high, Decimal(1).scaleb(-strategy.scale)
    for each in demands:
        bound = each.values[0]
        if isinstance(bound, Decimal) and not each.of_length:
            low = max(low, {">=": bound, ">": bound + unit}.get(each.sign, low))
            high = min(high, {"<=": bound, "<": bound - unit}.get(each.sign, high))
    if low > high:
        # What is usual lies outside of what is allowed.
        lows = [bound for each in demands for bound in each.values if each.sign in (">", ">=")]
        highs = [bound for each in demands for bound in each.values if each.sign in ("<", "<=")]
        low = max(map(Decimal, lows), default=min(map(Decimal, highs), default=low) - 100) + (unit if lows else 0)
        high = min(map(Decimal, highs), default=low + 100) - (unit if highs else 0)
    return replace(strategy, low=low, high=high) if low <= high else strategy


def _between(strategy: Within, demands: Sequence[Comparison]) -> Strategy:
    first, last = strategy.first, strategy.last
    for each in demands:
        day = as_day(each.values[0])
        if day is not None:
            first = max(first, {">=": day, ">": day + timedelta(days=1)}.get(each.sign, first))
            last = min(last, {"<=": day, "<": day - timedelta(days=1)}.get(each.sign, last))
    if first > last:
        first, last = (first, first + timedelta(days=365)) if first > strategy.last else (_year_before(last), last)
    return replace(strategy, first=first, last=last)


def _day_as_written(strategy: Within | OnDay, hints: Hints) -> Strategy:
    """The day as the expressions want it written, where another way than the usual one is asked for."""
    if hints.type != "STRING" or not hints.regexes or _all_found(hints.regexes, "2021-05-17"):
        return strategy
    first, last = (strategy.first, strategy.last) if isinstance(strategy, Within) else (_FIRST_DAY, _LAST_DAY)
    days = [first + (last - first) * number // _MANY_DAYS for number in range(_MANY_DAYS)]
    for written in _DAY_FORMATS:
        if all(_all_found(hints.regexes, f"{day:{written}}") for day in days):
            return Choice(tuple(f"{day:{written}}" for day in days))
    found = samples(hints.regexes, hints.max_length)
    return Choice(found) if found else strategy


def _year_before(day: date) -> date:
    return day - timedelta(days=365)


def _matching(strategy: Pattern | Pooled, hints: Hints) -> Strategy:
    regexes = hints.regexes
    if not regexes:
        return strategy
    example = strategy.text.replace("#", "7") if isinstance(strategy, Pattern) else _SHAPES.get(strategy.pool)
    examples = _FREE_TEXTS if example is None else (example,)
    if all(_all_found(regexes, each) for each in examples):
        return strategy
    found = samples(regexes, hints.max_length)
    return Choice(found) if found else strategy


def _all_found(regexes: Sequence[str], text: str) -> bool:
    try:
        return all(re.search(regex, text) for regex in regexes)
    except re.error:
        return False
