"""Rows by the window they belong to, told from the few columns that say so; no Spark is needed."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.identifiers import find_name
from lakelogic_assets.spark.sources.delimited import Dialect

STAMP: Final = "__ll_stamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_A_DAY: Final = 10
"""The letters of `2026-02-03`."""
_MINUTE: Final = 60_000_000
_LOOSE_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(.*)", re.DOTALL)

Found = Counter[tuple[int, int | None]]
"""(number of the window, moment of the stamp in microseconds) → rows."""


class CannotTell(Exception):  # noqa: N818 - it is an answer, not a failure
    """Why rows cannot be told apart by window; the text is for people."""


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Cut:
    """The windows of a contract and the columns that its rows are told apart by."""

    windows: tuple[Window, ...]
    candidates: tuple[str, ...] = ()
    """Columns of time, best first."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Columns for year, month and day, where the date is spread over several."""
    filters: Mapping[str, Any] = field(default_factory=dict)
    """Column → the value or values that a run reads."""
    by_time: bool = True
    """Whether rows are asked for their time; folders may have told it."""

    def names(self, there: Sequence[str]) -> list[str]:
        """The columns to read, in the spelling of those that are there."""
        wanted = {*dict(self.windows[0].values if self.windows else ()), *self.filters}
        time = (*self.parts.values(),) if self.parts else self.candidates
        found = [
            name for each in (*sorted(wanted), *(time if self.by_time else ())) if (name := find_name(there, each))
        ]
        return list(dict.fromkeys(found))

    @cached_property
    def _slots(self) -> list[tuple[datetime, datetime]]:
        """The times of the windows in order; windows of different values share them."""
        return sorted({(each.start, each.end) for each in self.windows if each.start and each.end})

    @cached_property
    def _by_day(self) -> bool:
        return all(each.local_days is not None for each in self.windows)

    @cached_property
    def _moments(self) -> tuple[list[int], list[int]]:
        return [micros(start) for start, _ in self._slots], [micros(end) for _, end in self._slots]

    @cached_property
    def _days(self) -> tuple[list[int], list[int]]:
        found = (each.local_days for each in self.windows if each.local_days)
        days = sorted({(first.toordinal(), after.toordinal()) for first, after in found if first and after})
        return [first for first, _ in days], [after for _, after in days]

    @cached_property
    def _numbers(self) -> dict[tuple[int, tuple[str, ...]], int]:
        """(slot, values) → number of the window; -1 is the slot of windows without bounds."""
        place = {slot: index for index, slot in enumerate(self._slots)}
        return {
            (place.get((each.start, each.end), -1) if each.start and each.end else -1, _texts(each)): number
            for number, each in enumerate(self.windows)
        }

    def slot(self, value: Any) -> int:
        """The slot of a time: a moment in microseconds, a day, or a text that is either; -1 for none."""
        if isinstance(value, str):
            value = _parsed(value, days=self._by_day and self._zone != "UTC")
        if isinstance(value, date):
            if self._by_day:
                return _within(self._days, value.toordinal())
            value = micros(datetime(value.year, value.month, value.day, tzinfo=UTC))
        return -1 if value is None else _within(self._moments, value)

    @property
    def _zone(self) -> str:
        return self.windows[0].zone if self.windows else "UTC"

    @property
    def is_fine(self) -> bool:
        """Whether a bound lies within a minute, so that moments cannot be counted by the minute."""
        return any(moment % _MINUTE for bounds in self._moments for moment in bounds)

    def number(self, slot: int, values: tuple[str, ...]) -> int | None:
        return self._numbers.get((slot, values))


def _texts(window: Window) -> tuple[str, ...]:
    return tuple(value for _, value in window.values)


def _within(bounds: tuple[list[int], list[int]], value: int) -> int:
    starts, ends = bounds
    found = bisect_right(starts, value) - 1
    return found if found >= 0 and value < ends[found] else -1


def _parsed(text: str, *, days: bool) -> date | int | None:
    """A text as Spark reads it: a day of the window's zone where it has no clock, else a moment, UTC unless it says."""
    text = text.strip()
    found = _LOOSE_DAY.fullmatch(text)
    if not found:
        return None
    year, month, day, clock = found.groups()
    try:
        first = date(int(year), int(month), int(day))
        if not clock.strip(" T"):
            return first if days and len(text) <= _A_DAY else micros(datetime(*first.timetuple()[:3], tzinfo=UTC))
        moment = datetime.fromisoformat(f"{first.isoformat()}T{clock.strip(' T')}")
    except ValueError:
        return None
    return micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def count_rows(rows: pa.Table, cut: Cut, stamp: str | None = None) -> Found:
    """The rows of each window, by the moment in their stamp where there is one."""
    rows = _filtered(rows, cut)
    names, columns = [], []
    time = _time(rows, cut) if cut.by_time and (cut.candidates or cut.parts) else None
    if time is not None:
        names, columns = ["time"], [time]
    values = [_value_column(rows, name, cut) for name, _ in (cut.windows[0].values if cut.windows else ())]
    names += [f"value{index}" for index in range(len(values))]
    columns += values
    found = find_name(rows.column_names, stamp) if stamp else None
    names.append(STAMP)
    columns.append(_as_micros(rows.column(found)) if found else pa.nulls(rows.num_rows, pa.int64()))
    groups = pa.table(columns, names).group_by(names).aggregate([([], "count_all")]).to_pylist()
    counted: Found = Counter()
    for group in groups:
        slot = cut.slot(group["time"]) if time is not None else -1
        number = cut.number(slot, tuple(_text(group[f"value{index}"]) for index in range(len(values))))
        if number is not None and (slot >= 0 or time is None):
            counted[number, group[STAMP]] += group["count_all"]
    return counted


def _filtered(rows: pa.Table, cut: Cut) -> pa.Table:
    for name, value in cut.filters.items():
        found = find_name(rows.column_names, name)
        if found is None:
            raise CannotTell(f"`partition_filters` names `{name}`, which is not among the columns")
        values = value if isinstance(value, list | tuple) else [value]
        kept = [any(_same(each, one) for one in values) for each in rows.column(found).to_pylist()]
        rows = rows.filter(pa.array(kept, pa.bool_()))
    return rows


def _same(cell: Any, value: Any) -> bool:
    """Whether a cell holds a value that YAML spells, such as 7 for a column of 7.0."""
    if cell is None or value is None:
        return cell is value
    numbers = isinstance(cell, int | float | Decimal) and isinstance(value, int | float)
    return bool(cell == value) if numbers else _text(cell) == _text(value)


def _value_column(rows: pa.Table, name: str, cut: Cut) -> Any:
    found = find_name(rows.column_names, name)
    if found is None:
        raise CannotTell(f"`{name}`, by which the window {cut.windows[0].key} is cut, is not among the columns")
    return rows.column(found)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _time(rows: pa.Table, cut: Cut) -> Any:
    if cut.parts:
        return _joined_date(rows, cut.parts)
    for name in cut.candidates:
        found = find_name(rows.column_names, name)
        if found is None:
            continue
        column = rows.column(found)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_date(column.type):
            return column.cast(pa.date32())
        if pa.types.is_timestamp(column.type):
            moments = _as_micros(column)
            return moments if cut.is_fine else pc.subtract(moments, _remainder(moments))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return column
    named = " nor ".join(f"`{name}`" for name in cut.candidates)
    raise CannotTell(f"{named} is no column of time there")


def _remainder(moments: Any) -> Any:
    """What is left of a minute, also before 1970."""
    minutes = pc.divide(moments, _MINUTE)
    rest = pc.subtract(moments, pc.multiply(minutes, _MINUTE))
    return pc.if_else(pc.less(rest, 0), pc.add(rest, _MINUTE), rest)


def _as_micros(column: Any) -> Any:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    return pa.nulls(len(column), pa.int64())


def _joined_date(rows: pa.Table, parts: Mapping[str, str]) -> Any:
    """The date that is spread over columns for year, month and day."""
    columns = []
    for part in ("year", "month", "day"):
        found = find_name(rows.column_names, parts[part]) if part in parts else None
        if part in parts and found is None:
            raise CannotTell(f"`{parts[part]}`, a part of the date, is not among the columns")
        columns.append([_text(each) for each in rows.column(found).to_pylist()] if found else ["01"] * rows.num_rows)
    texts = [f"{year.zfill(4)}-{month.zfill(2)}-{day.zfill(2)}" for year, month, day in zip(*columns, strict=True)]
    return pa.array([_parsed(text, days=True) for text in texts], pa.date32())


def read_parquet(path: str, wanted: Mapping[str, str], fixed: Mapping[str, str | None]) -> pa.Table:
    """Columns of one file: their names → what they are called inside; `fixed` ones have one value for all rows."""
    file = parquet.ParquetFile(path, coerce_int96_timestamp_unit="us")
    inside = file.schema_arrow.names
    named = {name: found for name, stored in wanted.items() if (found := find_name(inside, stored))}
    rows = file.read(columns=list(dict.fromkeys(named.values())))
    columns = {name: rows.column(stored) for name, stored in named.items()}
    for name, value in fixed.items():
        columns[name] = pa.array([value] * file.metadata.num_rows, pa.string())
    if not columns:
        columns = {"": pa.nulls(file.metadata.num_rows)}
    return pa.table(columns)


def read_landed(
    path: str, file_format: str, cut: Cut, options: Mapping[str, str], fixed: Mapping[str, str]
) -> pa.Table:
    """The columns of one landed file that tell its windows; CannotTell where only Spark reads the format."""
    try:
        if file_format == "parquet":
            names = parquet.read_schema(path).names
            return read_parquet(path, {name: name for name in cut.names(names)}, fixed)
        if file_format in ("csv", "tsv"):
            return _with_fixed(
                _read_csv(path, Dialect(options, "\t" if file_format == "tsv" else ","), cut, fixed), fixed
            )
        if file_format in ("json", "jsonl"):
            return _with_fixed(_read_json(path, cut, fixed, lines=file_format == "jsonl"), fixed)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CannotTell(f"it cannot be read without Spark ({str(error).splitlines()[0]})") from error
    raise CannotTell(f"files of the format {file_format} cannot be read without Spark")


def _with_fixed(rows: pa.Table, fixed: Mapping[str, str]) -> pa.Table:
    for name, value in fixed.items():
        if find_name(rows.column_names, name) is None:
            rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.string()))
    return rows


def _wanted(there: Sequence[str], cut: Cut, fixed: Mapping[str, str]) -> list[str]:
    """The columns to read of a file; any, where the folders tell all that is needed of each row."""
    names = cut.names(there)
    if not names and not cut.names(list(fixed)):
        raise CannotTell("none of the columns that tell its windows is in it")
    return names or list(there[:1])


def _read_csv(path: str, dialect: Dialect, cut: Cut, fixed: Mapping[str, str]) -> pa.Table:
    if not dialect.has_header or len(dialect.delimiter) != 1:
        raise CannotTell("it has no header by which its columns could be found")
    parse = csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote or False,
        newlines_in_values=dialect.is_multiline,
        invalid_row_handler=lambda _: "skip",
    )
    read = csv.ReadOptions(encoding=dialect.encoding or "utf8")
    with csv.open_csv(path, read_options=read, parse_options=parse) as file:
        names = _wanted(file.schema.names, cut, fixed)
    texts = csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, pa.string()))
    return csv.read_csv(path, read_options=read, parse_options=parse, convert_options=texts)


def _read_json(path: str, cut: Cut, fixed: Mapping[str, str], *, lines: bool) -> pa.Table:
    text = Path(path).read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines() if line.strip()] if lines else _records(text)
    names = _wanted(list(dict.fromkeys(name for record in records for name in record)), cut, fixed)
    columns: dict[str, list[str | None]] = {name: [_json_text(each.get(name)) for each in records] for name in names}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _records(text: str) -> list[dict[str, Any]]:
    """One document, a list of them, or one on each line, as the engine reads `format: json`."""
    try:
        found = json.loads(text)
    except ValueError:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]


def _json_text(value: Any) -> str | None:
    return None if value is None else _text(value)
