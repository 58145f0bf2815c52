"""Forms in which values are made, and how they become columns of a type, or text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from lakelogic_assets.plan.synthetic import EPOCH, WHOLE, as_text, fitted
from lakelogic_assets.spark.identifiers import text_literal

DAY_SECONDS: Final = 24 * 60 * 60
EPOCH_SECONDS: Final = (EPOCH - date(1970, 1, 1)).days * DAY_SECONDS
UNITS, DAYS, SECONDS = "UNITS", "DAYS", "SECONDS"
"""A number in units of its last digit, a day counted from the epoch of this package, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Made:
    """A value as SQL, and the form it has: a type of Spark, or one of the three above, in which it is cheap to make."""

    sql: str
    form: str
    scale: int = 0

    @property
    def is_counted(self) -> bool:
        """Whether values can be compared and moved by whole steps."""
        return self.form in (UNITS, DAYS, SECONDS)

    def typed(self, spark_type: str) -> str:
        """The value as a column of a type."""
        if self.form == spark_type:
            return self.sql
        if spark_type == "STRING":
            return self.text()
        if self.form == UNITS:
            return _number(self, spark_type)
        return f"cast({self._plain()} as {spark_type})"

    def text(self) -> str:
        """The value where everything is text."""
        match self.form:
            case "STRING":
                return self.sql
            case "UNITS" if self.scale:
                return _decimal_text(self)
            case "DAYS" | "SECONDS":
                return _time_text(self)
            case "TIMESTAMP" | "TIMESTAMP_NTZ":
                zone = "'Z'" if self.form == "TIMESTAMP" else ""
                return f"date_format({self.sql}, \"yyyy-MM-dd'T'HH:mm:ss{zone}\")"
            case form if form.startswith(("ARRAY<", "MAP<", "STRUCT<")):
                return f"to_json({self.sql})"
            case "BINARY":
                return f"base64({self.sql})"
            case _:
                return f"cast({self.sql} as string)"

    @property
    def is_bare_in_json(self) -> bool:
        """Whether JSON has the value without quotes."""
        return self.form in (UNITS, "BOOLEAN", "DOUBLE", "FLOAT", *WHOLE) or self.form.startswith(
            ("DECIMAL", "ARRAY<", "MAP<", "STRUCT<")
        )

    def _plain(self) -> str:
        if self.form == DAYS:
            return _day(self.sql)
        return f"timestamp_seconds({self.sql})" if self.form == SECONDS else self.sql

    def moved(self, step: int) -> Made:
        """The value some steps further: units, days, or hours."""
        size = 3600 if self.form == SECONDS else 10**self.scale if self.form == UNITS else 1
        return Made(f"({self.sql} + {step * size})", self.form, self.scale)


def _day(sql: str) -> str:
    return f"date_add(DATE'{EPOCH}', cast({sql} as int))"


def _number(made: Made, spark_type: str) -> str:
    if spark_type in WHOLE:
        return f"cast({made.sql} div {10**made.scale} as {spark_type})"
    if spark_type in ("DOUBLE", "FLOAT"):
        return f"cast({made.sql} / {10**made.scale}D as {spark_type})"
    return f"cast(cast({made.sql} as decimal(20,0)) / cast({10**made.scale} as decimal(20,0)) as {spark_type})"


def _decimal_text(made: Made) -> str:
    power = 10**made.scale
    whole = f"cast(abs({made.sql}) div {power} as string)"
    behind = f"substring(cast(abs({made.sql}) % {power} + {power} as string), 2)"
    return f"concat(if({made.sql} < 0, '-', ''), {whole}, '.', {behind})"


def _time_text(made: Made) -> str:
    if made.form == DAYS:
        return f"cast({_day(made.sql)} as string)"
    day = f"cast(date_from_unix_date(cast({made.sql} div {DAY_SECONDS} as int)) as string)"
    second = f"pmod({made.sql}, {DAY_SECONDS}L)"

    def two(sql: str) -> str:
        return f"substring(cast({sql} + 100 as string), 2)"

    parts = (two(f"{second} div 3600"), two(f"{second} div 60 % 60"), two(f"{second} % 60"))
    clock = ", ':', ".join(parts)
    return f"concat({day}, 'T', {clock}, 'Z')"


def literal(value: Any, spark_type: str) -> str:
    """A value of Python as a literal of a type."""
    held = fitted(value, spark_type)
    if held is None:
        return f"cast(null as {spark_type})"
    if isinstance(held, list):
        inner = spark_type.removeprefix("ARRAY<").removesuffix(">")
        return f"array({', '.join(literal(each, inner) for each in held)})"
    text = text_literal(as_text(held))
    return text if spark_type == "STRING" else f"cast({text} as {spark_type})"
