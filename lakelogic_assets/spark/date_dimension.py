"""A calendar, one row a day, for contracts whose generator expects `lakelogic.core.dim_date`."""

from __future__ import annotations

import calendar
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lakelogic_assets.contract.external_logic import CALENDAR_ARGS
from lakelogic_assets.errors import EngineError

_FISCAL = "fiscal_year_start_month"
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


class Calendar(list[dict[str, Any]]):
    """Rows as plain dictionaries, with the few calls by which frames of other libraries are asked for theirs."""

    @property
    def columns(self) -> list[str]:
        return list(self[0]) if self else []

    @property
    def height(self) -> int:
        return len(self)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    def rows(self, *, named: bool = False) -> list[Any]:
        return list(self.iter_rows(named=named))

    def iter_rows(self, *, named: bool = False) -> Iterator[Any]:
        return iter(self) if named else (tuple(row.values()) for row in self)

    def select(self, *names: str | Sequence[str]) -> Calendar:
        wanted = [name for each in names for name in ([each] if isinstance(each, str) else each)]
        return Calendar({name: row[name] for name in wanted} for row in self)

    def rename(self, mapping: Mapping[str, str]) -> Calendar:
        return Calendar({mapping.get(name, name): value for name, value in row.items()} for row in self)

    def to_dicts(self) -> list[dict[str, Any]]:
        return list(self)

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_pylist(list(self))

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas(date_as_object=True)


def generate_date_dimension(
    start_date: str | date = "2020-01-01",
    end_date: str | date = "2030-12-31",
    fiscal_year_start_month: int = 1,
    *,
    engine: str | None = None,
    custom_holidays: Mapping[str, str] | None = None,
    **_others: Any,
) -> Any:
    """The days from start to end, both included.

    They come as the frame of the `engine` that is asked for where it is installed, and as a `Calendar` otherwise: no
    library is needed for them. Public holidays are known only where `custom_holidays` names them; the national ones
    stay empty.
    """
    first, last = _day(start_date), _day(end_date)
    holidays = {_day(text): name for text, name in (custom_holidays or {}).items()}
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    rows = Calendar(_row(day, fiscal_year_start_month, holidays) for day in days)
    make = _FRAMES.get((engine or "").lower())
    return make(rows) if make else rows


def from_args(args: Mapping[str, Any]) -> Any:
    """The days that a contract's `external_logic.args` ask for."""
    named = {name: args[name] for name in (*CALENDAR_ARGS, _FISCAL) if args.get(name) is not None}
    try:
        return generate_date_dimension(**{**named, _FISCAL: int(named.get(_FISCAL, 1))})
    except (TypeError, ValueError, OverflowError):
        shown = ", ".join(f"{name}: {value}" for name, value in named.items())
        raise EngineError(
            f"`external_logic.args` ({shown}) are no calendar: write days such as 2026-01-31, and a month's number."
        ) from None


def _as_spark(rows: Calendar) -> Any:
    # A file runs in a thread of its own, which has no active session yet.
    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    return session.createDataFrame(rows.to_arrow()) if rows else rows


def _as_polars(rows: Calendar) -> Any:
    return importlib.import_module("polars").from_arrow(rows.to_arrow()) if _is_installed("polars") else rows


def _as_pandas(rows: Calendar) -> Any:
    return rows.to_pandas() if _is_installed("pandas") else rows


def _is_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


_FRAMES: dict[str, Callable[[Calendar], Any]] = {
    "spark": _as_spark,
    "pyspark": _as_spark,
    "polars": _as_polars,
    "pandas": _as_pandas,
}


def _day(value: str | date) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])


def _row(day: date, fiscal_start: int, holidays: Mapping[date, str]) -> dict[str, Any]:
    iso_year, iso_week, iso_weekday = day.isocalendar()
    quarter = (day.month + 2) // 3
    fiscal_month = (day.month - fiscal_start) % 12 + 1
    fiscal_year = day.year - (day.month < fiscal_start)
    last_of_month = calendar.monthrange(day.year, day.month)[1]
    is_weekend = iso_weekday > 5
    return {
        "date_key": day.year * 10_000 + day.month * 100 + day.day,
        "full_date": day,
        "year": day.year,
        "quarter": quarter,
        "month": day.month,
        "month_name": MONTHS[day.month - 1],
        "month_abbrev": MONTHS[day.month - 1][:3],
        "day": day.day,
        "day_of_week": iso_weekday - 1,
        "day_name": DAYS[iso_weekday - 1],
        "day_abbrev": DAYS[iso_weekday - 1][:3],
        "day_of_year": day.timetuple().tm_yday,
        "is_weekend": is_weekend,
        "iso_year": iso_year,
        "iso_week": iso_week,
        "iso_weekday": iso_weekday,
        "year_month": f"{day:%Y-%m}",
        "year_quarter": f"{day.year}-Q{quarter}",
        "is_month_start": day.day == 1,
        "is_month_end": day.day == last_of_month,
        "fiscal_year": fiscal_year,
        "fiscal_quarter": (fiscal_month + 2) // 3,
        "fiscal_month": fiscal_month,
        "is_holiday": day in holidays,
        "holiday_name": holidays.get(day),
        "is_business_day": not is_weekend and day not in holidays,
        "is_holiday_us": None,
        "is_holiday_uk": None,
    }
