"""The language's semantics in plain Python: slow, small, and sharing no code with the engine."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

_BLANK = " \t\n\x0b\x0c\r"
_LIMITS = {"int": 2**31, "bigint": 2**63}
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


class NotOfTypeError(Exception):
    """The text is not a value of the type."""


def cast(text: str | None, kind: str) -> Any:
    """A text as a value of a type; NULL stays NULL."""
    if text is None or kind == "string":
        return text
    return _CASTS[kind](text)


def _whole(kind: str) -> Callable[[str], int]:
    def convert(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]+", text.strip(_BLANK)):
            raise NotOfTypeError
        number = int(text)
        if not -_LIMITS[kind] <= number < _LIMITS[kind]:
            raise NotOfTypeError
        return number

    return convert


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text.strip(_BLANK)))


def _double(text: str) -> float:
    if not _is_number(text) or math.isinf(float(text)):
        raise NotOfTypeError
    return float(text)


def _decimal(text: str) -> Decimal:
    if not _is_number(text):
        raise NotOfTypeError
    try:
        number = Decimal(text.strip(_BLANK)).quantize(Decimal("0.01"), ROUND_HALF_UP)
    except InvalidOperation:
        raise NotOfTypeError from None
    if abs(number) >= 10**8:
        raise NotOfTypeError
    return number


def _date(text: str) -> dt.date:
    found = re.fullmatch(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})", text.strip(_BLANK))
    if not found:
        raise NotOfTypeError
    try:
        return dt.date(*map(int, found.groups()))
    except ValueError:
        raise NotOfTypeError from None


def _boolean(text: str) -> bool:
    word = text.strip(_BLANK).lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise NotOfTypeError


_CASTS: dict[str, Callable[[str], Any]] = {
    "int": _whole("int"),
    "bigint": _whole("bigint"),
    "double": _double,
    "decimal(10,2)": _decimal,
    "date": _date,
    "boolean": _boolean,
}


@dataclass(frozen=True)
class Rule:
    """A rule as YAML says it and as Python judges it; `test` gives TRUE, FALSE or NULL."""

    name: str
    yaml: dict[str, Any]
    field: str
    test: Callable[[Any], bool | None]
    severity: str = "error"
    null_passes: bool = False

    def fails(self, value: Any) -> bool:
        result = self.test(value)
        return not (self.null_passes if result is None else result)


def judged(row: dict[str, str | None], kinds: dict[str, str], rules: list[Rule]) -> tuple[set[str], set[str]]:
    """What is wrong with a row: the fields that are not of their type, and the rules it breaks."""
    values: dict[str, Any] = {}
    mismatched = set()
    for name, kind in kinds.items():
        try:
            values[name] = cast(row[name], kind)
        except NotOfTypeError:
            values[name] = None
            mismatched.add(name)
    return mismatched, {rule.name for rule in rules if rule.fails(values[rule.field])}
