"""A window as a test of rows: on the way in as columns, for what a write replaces as text."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import SourceError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.identifiers import column, find_name, quoted, text_literal

REPLACING = ("overwrite", "partition", "snapshot")
_TIMES = ("date", "timestamp", "timestamp_ntz", "string")
_A_DAY = 10
"""The letters of `2026-02-03`."""


def window_id(name: str) -> int:
    """The number by which appended rows carry their window: a text in every row would cost a tenth of the write."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


def time_candidates(contract: Contract, window: Window) -> tuple[str, ...]:
    """The columns that may cut the window out, best first.

    What a replacing write is bounded by comes first there, so that it replaces what was read.
    """
    materialization, source = contract.materialization, contract.source
    fixed = {name.casefold() for name, _ in window.values}
    written = (materialization.reprocess_date_column, *materialization.partition_by)
    read = (source.watermark_field,) if source else ()
    last = (source.cdc_timestamp_field,) if source else ()
    named = (*written, *read, *last) if materialization.strategy in REPLACING else (*read, *written, *last)
    return tuple(dict.fromkeys(name for name in named if name and name.casefold() not in fixed))


def is_cut_by_place(contract: Contract) -> bool:
    """Whether a window is cut out of the source by date folders, or by parts of a date: no column tells its rows."""
    source = contract.source
    by_folder = source is not None and source.table is None and source.partition is not None
    return source is not None and (by_folder or bool(source.watermark_date_parts))


def cut_column(contract: Contract, window: Window, source: Mapping[str, str]) -> str | None:
    """The column of time that cuts the window out of the source's columns; None where something else does."""
    return None if is_cut_by_place(contract) else time_column(source, time_candidates(contract, window))


def time_column(types: Mapping[str, str], candidates: Sequence[str]) -> str | None:
    """The first candidate that is there and can be a time."""
    found = (find_name(types, name) for name in candidates)
    return next((name for name in found if name and types[name] in _TIMES), None)


def rows_of_window(frame: DataFrame, candidates: Sequence[str], window: Window, where: str) -> list[Column]:
    """Tests that keep the window's rows of a frame; `where` is what the frame is called in an error."""
    tests = []
    for name, value in window.values:
        found = find_name(frame.columns, name)
        if found is None:
            raise SourceError(f"The window {window.key} is cut by `{name}`, which is not a column of {where}.")
        tests.append(column(found).cast("string") == F.lit(value))
    if (window.start is None and window.end is None) or not candidates:
        return tests
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    found = time_column(types, candidates)
    if found is None:
        named = " nor ".join(f"`{name}`" for name in candidates)
        raise SourceError(f"The window {window.key} is cut by {named}, which is no column of time of {where}.")
    return [*tests, *_moments(column(found), frame.schema[found].dataType, window)]


def _moments(value: Column, kind: T.DataType, window: Window) -> list[Column]:
    days = window.local_days
    moment = value.try_cast("timestamp")
    moments = _between(moment, window.start, window.end)
    if days is None:
        return moments
    if isinstance(kind, T.DateType):
        return _between(value, *days)
    if isinstance(kind, T.StringType) and window.zone != "UTC":
        # A day without a clock is a day of the window's zone.
        is_day = F.length(F.trim(value)) <= _A_DAY
        by_day = _between(value.try_cast("date"), *days)
        return [F.when(is_day, one).otherwise(other) for one, other in zip(by_day, moments, strict=True)]
    return moments


def _between(value: Column, first: date | None, after: date | None) -> list[Column]:
    tests: list[tuple[Any, Callable[[Any], Column]]] = [(first, value.__ge__), (after, value.__lt__)]
    return [test(F.lit(bound)) for bound, test in tests if bound is not None]


def window_sql(
    types: Mapping[str, str], candidates: Sequence[str], window: Window, table: str | None = None
) -> str | None:
    """The window's rows of a table as SQL; None where the table has nothing to tell them by.

    `table` is what its columns are called by, where they would be ambiguous.
    """
    prefix = f"{table}." if table else ""
    if window.is_full:
        return None
    tests = []
    for name, value in window.values:
        found = find_name(types, name)
        if found is None:
            return None
        tests.append(f"CAST({prefix}{quoted(found)} AS STRING) = {text_literal(value)}")
    if window.start is not None or window.end is not None:
        found = time_column(types, candidates)
        if found is None:
            return None
        tests += _bounds(f"{prefix}{quoted(found)}", types[found], window)
    return " AND ".join(tests)


def _bounds(name: str, kind: str, window: Window) -> list[str]:
    days = window.local_days
    if kind == "date" and days is not None:
        first, after = (f"DATE'{day.isoformat()}'" if day else None for day in days)
    else:
        said = name
        name = name if kind == "timestamp" else f"TRY_CAST({name} AS TIMESTAMP)"
        first, after = (_timestamp(moment) if moment else None for moment in (window.start, window.end))
        if kind == "string" and days is not None and window.zone != "UTC":
            return [
                _bound_of_text(said, sign, day, moment)
                for sign, day, moment in zip((">=", "<"), days, (first, after), strict=True)
                if day and moment
            ]
    return [f"{name} {sign} {bound}" for sign, bound in ((">=", first), ("<", after)) if bound]


def _bound_of_text(name: str, sign: str, day: date, moment: str) -> str:
    """A text that is a mere day is a day of the window's zone, as it is when it is read."""
    is_day = f"LENGTH(TRIM({name})) <= {_A_DAY}"
    return (
        f"CASE WHEN {is_day} THEN TRY_CAST({name} AS DATE) {sign} DATE'{day.isoformat()}'"
        f" ELSE TRY_CAST({name} AS TIMESTAMP) {sign} {moment} END"
    )


def window_filter(types: Mapping[str, str], candidates: Sequence[str], window: Window) -> pads.Expression | None:
    """The same as `window_sql` for a reader without Spark; None where it cannot be said there."""
    if window.is_full or window.values:
        return None
    found = time_column(types, candidates)
    days, moments = window.local_days, (window.start, window.end)
    if found is None or types[found] not in ("date", "timestamp") or (types[found] == "date" and days is None):
        return None
    first, after = (
        [pa.scalar(day, pa.date32()) if day else None for day in days]
        if types[found] == "date" and days
        else [pa.scalar(moment, pa.timestamp("us", "UTC")) if moment else None for moment in moments]
    )
    tests = [*([pads.field(found) >= first] if first else []), *([pads.field(found) < after] if after else [])]
    return reduce(operator.and_, tests)


def _timestamp(moment: datetime) -> str:
    return f"TIMESTAMP'{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%fZ}'"
