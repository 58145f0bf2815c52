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
from lakelogic_assets.plan.synthetic import Choice, Number, Pattern, Pool, Pooled, Stage, Strategy, Within

if TYPE_CHECKING:
    from lakelogic_assets.authoring.synthetic.hints import Hints

_SHAPES: Final[dict[Pool, str]] = {
    "email": "ada.meyer12@example.com", "uuid": "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "ip": "192.0.2.17",
    "url": "https://example.com/word", "country": "DE", "currency": "EUR",
}  # fmt: skip
"""Pools whose texts all look alike, whatever the locale."""


def narrowed(strategy: Strategy, hints: Hints) -> Strategy:
    """The strategy with the values that the demands let pass; as it was where none would."""
    plain = [each for each in hints.demands if each.other is None and each.sign not in ("not null", "null")]
    match strategy:
        case Choice(values) | Stage(values):
            kept = tuple(value for value in values if all(each.holds(value) for each in plain))
            return replace(strategy, values=kept or _listed(plain) or values)
        case Number():
            return _bounded(strategy, plain)
        case Within():
            return _between(strategy, plain)
        case Pattern() | Pooled():
            if listed := _listed(plain):
                return Choice(listed)
            return _matching(strategy, hints)
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


def _year_before(day: date) -> date:
    return day - timedelta(days=365)


def _matching(strategy: Pattern | Pooled, hints: Hints) -> Strategy:
    regexes = hints.regexes
    if not regexes:
        return strategy
    example = strategy.text.replace("#", "7") if isinstance(strategy, Pattern) else _SHAPES.get(strategy.pool)
    if example is not None and all(_found(regex, example) for regex in regexes):
        return strategy
    found = samples(regexes, hints.max_length)
    return Choice(found) if found else strategy


def _found(regex: str, text: str) -> bool:
    try:
        return re.search(regex, text) is not None
    except re.error:
        return False
