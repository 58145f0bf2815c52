"""A column of a file → the strategy for its values, from all that contracts say about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Final

from lakelogic_assets.authoring.synthetic.comparisons import Comparison, like_as_regex
from lakelogic_assets.authoring.synthetic.descriptions import (
    described_format,
    described_range,
    described_values,
)
from lakelogic_assets.authoring.synthetic.narrowing import narrowed
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.plan.synthetic import (
    CODES,
    Choice,
    Kind,
    Nothing,
    Number,
    OnDay,
    Pattern,
    Pool,
    Pooled,
    Several,
    Stage,
    Strategy,
    Within,
)

INTEGERS: Final = {"TINYINT": 2, "SMALLINT": 4, "INT": 9, "BIGINT": 15}
"""Whole number types and how many digits surely fit."""
TIMES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"})
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

STAMPED = re.compile(r"updated|modified|changed|refreshed|synced|last_seen|last_change", re.I)
"""Names of columns that say when a record was last touched."""
_DELIVERY_NAME = re.compile(r"extract|deliver|load|ingest|snapshot|export|landed|as_of|batch|file_date", re.I)
_DELIVERY_TEXT = re.compile(r"\bfolder\b|\bday of (the |each )?(delivery|export|extract|load)", re.I)
IDENTIFIER = re.compile(r"(\A|_)(id|no|nr|number|key|code|sku|ref|reference)\Z", re.I)
"""Names of columns that tell things apart."""
_BIRTH = re.compile(r"birth|dob\b", re.I)
_FUTURE = re.compile(r"expir|valid_(to|until)|due|end_date|maturity|sunset|retire", re.I)
_STATUS = re.compile(r"status|state|stage|phase", re.I)
_MOMENT_NAME = re.compile(r"(_at|_ts|_time|timestamp|datetime)\Z", re.I)
_DATE_NAME = re.compile(r"(\A|_)(date|day|dob)(_|\Z)|_on\Z", re.I)


def _word(alternatives: str) -> re.Pattern[str]:
    """Whole words of a snake_case name: `count` is in `item_count`, not in `country`."""
    return re.compile(rf"(?:\A|_)(?:{alternatives})(?:\Z|_)")


_POOL_NAMES: Final[tuple[tuple[str, Pool], ...]] = (
    ("e?_?mail", "email"), ("phone|mobile|fax|telephone", "phone"), ("first_?name|given_?name", "first_name"),
    ("last_?name|surname|family_?name", "last_name"), ("uuid|guid", "uuid"), ("url|link|website", "url"),
    ("ip|ip_address", "ip"), ("currency", "currency"), ("country", "country"), ("city|town|city_name", "city"),
    ("post_?code|zip", "postcode"), ("address|street", "street"), ("company|employer|merchant", "company"),
    ("product|article|item", "product"),
    ("(?:full|holder|customer|driver|rider|contact|owner|agent|patient|person|employee)_?name", "person"),
    ("notes?|comments?|description|message|text|reason|title|subject|label", "sentence"),
)  # fmt: skip
_POOLS: Final = tuple((_word(words), pool) for words, pool in _POOL_NAMES)
_RANGE_NAMES: Final = (
    ("lat|latitude", 36.0, 60.0), ("lng|lon|longitude", -9.0, 24.0), ("rating|score|stars", 1.0, 5.0),
    ("multiplier", 1.0, 3.0), ("pct|percent|share", 0.0, 100.0), ("rate|ratio", 0.0, 1.0),
    ("quantity|qty|units|count", 1.0, 10.0), ("price|amount|fare|cost|fee|total|premium|revenue", 1.0, 500.0),
    ("distance|km", 1.0, 40.0), ("minutes|seconds|duration|days|hours", 1.0, 60.0), ("year", 2000.0, 2025.0),
    ("quarter", 1.0, 4.0), ("month", 1.0, 12.0), ("day", 1.0, 28.0), ("age", 18.0, 90.0),
)  # fmt: skip
_COORDINATE: Final = _word("lat|latitude|lng|lon|longitude")
_RANGES: Final = tuple((_word(words), low, high) for words, low, high in _RANGE_NAMES)


@dataclass(frozen=True, slots=True)
class Hints:
    """All that is known about one column of a file."""

    name: str
    type: str
    """Its type in the file."""
    reads_as: str
    """The type it is read as further down; for a text column that may be a number or a date."""
    description: str = ""
    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    max_length: int | None = None
    is_json: bool = False
    demands: tuple[Comparison, ...] = ()
    """What rules ask of the values."""

    @property
    def is_required(self) -> bool:
        return any(each.sign == "not null" for each in self.demands)

    @property
    def regexes(self) -> tuple[str, ...]:
        """Expressions that a text must match."""
        said = [str(each.values[0]) for each in self.demands if each.sign == "regex"]
        said += [like_as_regex(each.values[0]) for each in self.demands if each.sign == "like"]
        return (*said, *_lengths(self.demands))

    def with_more(self, field: FieldDefinition) -> Hints:
        """Completed by what another contract says about the same values; what is known already stays."""
        low, high = field.range or (None, None)
        return replace(
            self,
            reads_as=field.spark_type if self.reads_as == "STRING" else self.reads_as,
            description=self.description or field.description or "",
            values=self.values or tuple(field.accepted_values or ()),
            low=_first(self.low, field.min, low),
            high=_first(self.high, field.max, high),
            max_length=self.max_length if self.max_length is not None else field.max_length,
        )


def hints_of(name: str, field: FieldDefinition, others: Iterable[FieldDefinition] = ()) -> Hints:
    """What the field of the contract that reads the file says, then what `others` add."""
    is_json = field.type.lower() == "json" or name.lower().endswith("_json")
    hints = Hints(name, field.spark_type, field.spark_type, is_json=is_json).with_more(field)
    for other in others:
        hints = hints.with_more(other)
    return hints


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def strategy_for(hints: Hints, kind: Kind) -> Strategy:
    """How the values are made, whatever other columns do; keys and references are decided by who knows them."""
    return narrowed(_usual(hints, kind), hints) if hints.demands else _usual(hints, kind)


def _usual(hints: Hints, kind: Kind) -> Strategy:
    if hints.values:
        return _choice(hints, kind)
    described = described_format(hints.description)
    if described is not None:
        return described
    if hints.reads_as.startswith("ARRAY<"):
        return _several(hints, kind)
    if is_time(hints):
        return _day(hints, kind)
    if hints.reads_as == "BOOLEAN":
        return Choice((True, False))
    if is_number(hints.reads_as):
        return _number(hints)
    return _text(hints) if hints.reads_as == "STRING" else Nothing()


def _lengths(demands: Sequence[Comparison]) -> tuple[str, ...]:
    """The lengths that a text may have, as an expression; nothing where it may be short."""
    least, most = 0, 0
    for each in demands:
        if each.of_length and isinstance(each.values[0], Decimal):
            bound = int(each.values[0])
            least = max(least, {">=": bound, "=": bound, ">": bound + 1}.get(each.sign, 0))
            top = {"<=": bound, "=": bound, "<": bound - 1}.get(each.sign, most)
            most = min(most, top) if most else top
    return (f"^\\w{{{least},{most or least + 8}}}$",) if least > 1 else ()


def serial_pattern(name: str) -> str:
    """A pattern for the ids of a column that has none: `trip_id` → `TRIP-########`."""
    stem = IDENTIFIER.sub("", name).strip("_") or "id"
    return f"{stem.upper()[:12]}-{'#' * 8}"


def is_number(spark_type: str) -> bool:
    return spark_type in INTEGERS or spark_type in ("DOUBLE", "FLOAT") or spark_type.startswith("DECIMAL")


def is_time(hints: Hints) -> bool:
    if hints.reads_as in TIMES:
        return True
    named = _MOMENT_NAME.search(hints.name) or _DATE_NAME.search(hints.name)
    return hints.reads_as == "STRING" and named is not None


def _choice(hints: Hints, kind: Kind) -> Strategy:
    values = tuple(json.dumps(each) if isinstance(each, dict | list) else each for each in hints.values)
    return Stage(values) if kind == "changes" and _STATUS.search(hints.name) else Choice(values)


def _several(hints: Hints, kind: Kind) -> Strategy:
    inner = hints.reads_as.removeprefix("ARRAY<").removesuffix(">")
    each = strategy_for(replace(hints, type=inner, reads_as=inner), kind)
    return Nothing() if isinstance(each, Nothing) else Several(each, most=3)


def _day(hints: Hints, kind: Kind) -> Strategy:
    moment = hints.reads_as.startswith("TIMESTAMP")
    if hints.reads_as == "STRING":
        moment = _MOMENT_NAME.search(hints.name) is not None
    if _BIRTH.search(hints.name):
        return Within(date(1940, 1, 1), date(2005, 12, 31), moment)
    if _is_delivery(hints):
        return OnDay("delivery", moment)
    if kind == "changes":
        return OnDay("delivery" if moment else "birth", moment)
    if kind == "events":
        return OnDay("event", moment)
    if STAMPED.search(hints.name):
        return OnDay("delivery", moment)
    # What comes back every day keeps its dates, so they cannot be those of the file.
    first, last = (2027, 2030) if _FUTURE.search(hints.name) else (2020, 2025)
    return Within(date(first, 1, 1), date(last, 12, 31), moment)


def _is_delivery(hints: Hints) -> bool:
    return _DELIVERY_NAME.search(hints.name) is not None or _DELIVERY_TEXT.search(hints.description) is not None


def _number(hints: Hints) -> Strategy:
    digits, scale = INTEGERS.get(hints.reads_as, 9), 0 if hints.reads_as in INTEGERS else 2
    if decimal := _DECIMAL.fullmatch(hints.reads_as):
        scale = int(decimal[2])
        digits = int(decimal[1]) - scale
    said = described_range(hints.description)
    usual = said or next(((a, b) for words, a, b in _RANGES if words.search(snake(hints.name))), (0.0, 1000.0))
    low = usual[0] if hints.low is None else hints.low
    high = usual[1] if hints.high is None else hints.high
    if low > high:
        # Only one bound was written, and it lies outside of what is usual.
        low, high = (low, low * 2 or 1.0) if hints.high is None else (high - abs(high), high)
    fits = Decimal(10) ** digits - Decimal(1).scaleb(-scale)
    return Number(max(Decimal(str(low)), -fits), min(Decimal(str(high)), fits), scale)


def _text(hints: Hints) -> Strategy:
    if hints.is_json:
        return Choice(('{"origin": "made up"}', "{}"))
    listed = described_values(hints.description)
    if listed:
        return Choice(listed)
    if not hints.regexes and (described_range(hints.description) or _COORDINATE.search(snake(hints.name))):
        return _number_as_text(hints)
    pool = next((pool for words, pool in _POOLS if words.search(snake(hints.name))), None)
    if hints.name.lower() == "name" or "first and last name" in hints.description.lower():
        pool = "person"
    if IDENTIFIER.search(hints.name) and pool not in CODES:
        return Pattern(serial_pattern(hints.name))
    return Pooled(pool or "word")


def _number_as_text(hints: Hints) -> Strategy:
    """A number that the contracts keep as text: a place on the map, or what a description bounds."""
    bounds = described_range(hints.description)
    exact = bounds is not None and all(bound.is_integer() for bound in bounds)
    return _number(replace(hints, reads_as="INT" if exact else "DECIMAL(18,4)"))


def snake(name: str) -> str:
    """`customerName` → `customer_name`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
