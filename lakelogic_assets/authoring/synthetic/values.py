"""Draws that need no row: strategy and dice → value, and how a value is held by a type."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from lakelogic_assets.authoring.synthetic import pools
from lakelogic_assets.authoring.synthetic.dice import Dice
from lakelogic_assets.authoring.synthetic.hints import INTEGERS
from lakelogic_assets.authoring.synthetic.strategies import Choice, Nothing, Number, Pattern, Pool, Pooled, Within

DAY_SECONDS: Final = 24 * 60 * 60
_STOCKS: Final[dict[Pool, tuple[str, ...]]] = {
    "first_name": pools.FIRST_NAMES, "last_name": pools.LAST_NAMES, "city": pools.CITIES, "country": pools.COUNTRIES,
    "currency": pools.CURRENCIES, "sentence": pools.SENTENCES, "word": pools.WORDS,
}  # fmt: skip
_PATTERNS: Final[dict[Pool, str]] = {"phone": "+49 ### #######", "postcode": "#####"}


def drawn(strategy: Choice | Pattern | Number | Within | Nothing, dice: Dice, numbers: tuple[int, ...]) -> Any:
    """A value that depends on the dice alone."""
    match strategy:
        case Choice(values):
            return values[dice.below(len(values), *numbers)]
        case Pattern(text):
            return digits(text, dice.roll(*numbers))
        case Number(low, high, scale):
            unit = Decimal(1).scaleb(-scale)
            steps = int((high - low) / unit)
            return low.quantize(unit) + unit * dice.below(steps + 1, *numbers)
        case Within(first, last, moment):
            day = first + timedelta(days=dice.below((last - first).days + 1, *numbers))
            if not moment:
                return day
            return datetime.combine(day, time(), UTC) + timedelta(seconds=dice.below(DAY_SECONDS, *numbers, 1))
        case Nothing():
            return None


def drawn_text(strategy: Pooled, dice: Dice, numbers: tuple[int, ...]) -> str:
    """A text of a pool, of nobody in particular."""

    def one_of(words: tuple[str, ...], salt: int = 0) -> str:
        return words[dice.below(len(words), *numbers, salt)]

    pool, number = strategy.pool, dice.roll(*numbers)
    if pool in _STOCKS:
        return one_of(_STOCKS[pool])
    if pool in _PATTERNS:
        return digits(_PATTERNS[pool], number)
    if pool == "uuid":
        return str(uuid.UUID(int=(number << 64) | dice.roll(*numbers, 1), version=4))
    return _phrase(pool, one_of, number)


def _phrase(pool: Pool, one_of: Callable[[tuple[str, ...], int], str], number: int) -> str:
    match pool:
        case "url":
            return f"https://{one_of(pools.MAIL_DOMAINS, 0)}/{one_of(pools.WORDS, 1)}"
        case "ip":
            return f"192.0.2.{number % 254 + 1}"
        case "street":
            return f"{one_of(pools.STREETS, 0)} {number % 120 + 1}"
        case "company":
            return f"{one_of(pools.COMPANY_WORDS, 0)} {one_of(pools.COMPANY_FORMS, 1)}"
        case "product":
            return f"{one_of(pools.PRODUCT_MANNERS, 0)} {one_of(pools.PRODUCT_KINDS, 1)}".capitalize()
        case _:
            return f"{one_of(pools.FIRST_NAMES, 0)} {one_of(pools.LAST_NAMES, 1)}"


def fitted(value: Any, spark_type: str, max_length: int | None = None) -> Any:
    """The value as its column's type holds it."""
    if value is None or isinstance(value, list):
        return value
    if spark_type == "STRING":
        return as_text(value)[:max_length]
    if spark_type in INTEGERS:
        return int(value)
    if spark_type in ("DOUBLE", "FLOAT"):
        return float(value)
    if spark_type.startswith("DECIMAL"):
        scale = int(spark_type.removesuffix(")").split(",")[1])
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-scale))
    if spark_type == "TIMESTAMP_NTZ" and isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value


def as_text(value: Any) -> str:
    """How a value is written where everything is text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        zone = "Z" if value.tzinfo else ""
        return f"{value:%Y-%m-%dT%H:%M:%S}{zone}"
    if isinstance(value, list | dict):
        return json.dumps(value, default=as_text)
    return str(value)


def digits(pattern: str, number: int) -> str:
    """A pattern with digits that a number decides."""
    width = pattern.count("#")
    # A first digit of 0 would be lost wherever the text is taken for a number.
    first = str(number % 9 + 1)
    return filled(pattern, (first + str(number // 9).rjust(width, "0")[1 - width :])[:width])


def filled(pattern: str, figures: str) -> str:
    """A pattern with these digits."""
    waiting = iter(figures)
    return "".join(next(waiting) if letter == "#" else letter for letter in pattern)
