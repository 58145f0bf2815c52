"""Steps that drop, choose or multiply rows."""

from __future__ import annotations

import re
from typing import assert_never

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets import names
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations.expressions import kept
from lakelogic_assets.spark.transformations.values import found, is_ordered, kind_of, moment, typed

RowStep = ops.Filter | ops.Deduplicate | ops.DeduplicateByLatest | ops.Explode | ops.DateRangeExplode

_RANK = f"{HIDDEN_PREFIX}rank"
_INTERVAL = re.compile(r"\s*(\d+)\s*(\w+)\s*\Z")


def change_rows(frame: DataFrame, step: RowStep, scope: Scope) -> DataFrame:
    match step:
        case ops.Filter():
            return kept(frame, step.sql, scope)
        case ops.Deduplicate():
            return _deduplicated(frame, step, scope)
        case ops.DeduplicateByLatest():
            plain = ops.Deduplicate(on=step.key_columns, sort_by=(step.timestamp_column,), order="desc")
            return _deduplicated(frame, plain, scope)
        case ops.Explode():
            return _exploded(frame, step, scope)
        case ops.DateRangeExplode():
            return _dates(frame, step, scope)
        case _:
            assert_never(step)


def _deduplicated(frame: DataFrame, step: ops.Deduplicate, scope: Scope) -> DataFrame:
    """One row for each key: the first in the order asked for, and among equals always the same one."""
    keys = [_key_column(frame, name, scope) for name in step.on]
    window = Window.partitionBy(*[column(key) for key in keys]).orderBy(*_order(frame, step, scope))
    ranked = frame.withColumn(_RANK, F.row_number().over(window))
    first = column(_RANK) == 1
    if step.blank_keys == "quarantine":
        # Rows without a key are not copies of each other; a rule on the key sends each of them away.
        first = first | _any_blank(frame, keys)
    return ranked.where(first).drop(_RANK)


def _key_column(frame: DataFrame, name: str, scope: Scope) -> str:
    """Without a part of the key, rows that are none of each other's copies would be thrown away."""
    actual = find_column(frame, name)
    if actual is None:
        there = ", ".join(each for each in frame.columns[:20] if not each.startswith(HIDDEN_PREFIX))
        raise NotFoundError(
            f"{scope.contract.table} removes duplicates by `{name}`, which is not a column here: there are {there}."
        )
    return actual


def _any_blank(frame: DataFrame, keys: list[str]) -> Column:
    blank = F.lit(False)
    for key in keys:
        value = column(key)
        empty = F.trim(value) == "" if isinstance(kind_of(frame, key), T.StringType) else F.lit(False)
        blank = blank | value.isNull() | F.coalesce(empty, F.lit(False))
    return blank


def _order(frame: DataFrame, step: ops.Deduplicate, scope: Scope) -> list[Column]:
    asked = [name for name in (found(frame, each, scope, "deduplicate") for each in step.sort_by) if name]
    order = []
    for name in asked:
        value, _ = typed(frame, name, scope)
        order.append(value.asc_nulls_last() if step.order == "asc" else value.desc_nulls_last())
    processed = find_column(frame, names.PROCESSED_AT_COLUMN)
    others = sorted(frame.columns, key=lambda name: name.startswith(HIDDEN_PREFIX))
    rest = ([processed] if processed else []) + [name for name in others if name != processed]
    return order + [column(name).desc_nulls_last() for name in rest if is_ordered(kind_of(frame, name))]


def _exploded(frame: DataFrame, step: ops.Explode, scope: Scope) -> DataFrame:
    """A row for each element; rows without elements go."""
    name = found(frame, step.field, scope, "explode")
    if name is None:
        return frame
    value, kind = column(name), kind_of(frame, name)
    match kind:
        case T.ArrayType():
            elements = value
        case T.MapType():
            elements = F.map_entries(value)
        case T.StringType():
            elements = _elements(value)
        case _:
            elements = F.when(value.isNotNull(), F.array(value))
    return frame.withColumn(step.output or step.field, F.explode(elements))


def _elements(text: Column) -> Column:
    """The elements of a JSON array in text; a text that is none is its own only element."""
    is_array = F.json_array_length(text).isNotNull()
    alone = F.when(F.trim(text) != "", F.array(text))
    return F.when(is_array, F.from_json(text, "array<string>")).otherwise(alone)


def _dates(frame: DataFrame, step: ops.DateRangeExplode, scope: Scope) -> DataFrame:
    """A row for each date from start to end, both included; without an end up to the day of the run."""
    start = found(frame, step.start_col, scope, "date_range_explode")
    if start is None:
        return frame
    end = found(frame, step.end_col, scope, "date_range_explode") if step.end_col else None
    today = F.lit(scope.started_at.date())
    first = moment(column(start), kind_of(frame, start)).cast("date")
    last = F.coalesce(moment(column(end), kind_of(frame, end)).cast("date"), today) if end else today
    dates = F.when(first <= last, F.sequence(first, last, _interval(step.interval)))
    return frame.withColumn(step.output, F.explode(dates))


def _interval(text: str) -> Column:
    match = _INTERVAL.match(text)
    count, unit = (int(match.group(1)), match.group(2).lower()) if match else (1, "d")
    if unit.startswith("mo"):
        return F.make_interval(months=F.lit(count))
    keyword = {"d": "days", "w": "weeks", "y": "years"}[unit[0]]
    return F.make_interval(**{keyword: F.lit(count)})
