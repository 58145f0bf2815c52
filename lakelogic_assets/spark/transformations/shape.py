"""Steps that choose, name and turn columns."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets import names
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations.values import (
    alike,
    as_text,
    equals,
    fits,
    found,
    is_ordered,
    kind_of,
    literal,
    text_of,
    typed,
)

_PAIR = f"{HIDDEN_PREFIX}pair"


def arrange(frame: DataFrame, step: ops.Select | ops.Drop | ops.Rename, scope: Scope) -> DataFrame:
    match step:
        case ops.Select():
            return _selected(frame, step, scope)
        case ops.Drop():
            gone = {find_column(frame, name) for name in step.columns}
            return frame.select(*[column(name) for name in frame.columns if name not in gone])
        case ops.Rename():
            return _renamed(frame, step, scope)
        case _:
            assert_never(step)


def hidden(frame: DataFrame) -> list[str]:
    """The engine's own columns, which no step of a contract can see."""
    return [name for name in frame.columns if name.startswith(HIDDEN_PREFIX)]


def _selected(frame: DataFrame, step: ops.Select, scope: Scope) -> DataFrame:
    chosen = [(name, found(frame, name, scope, "select")) for name in step.columns]
    columns = [column(actual).alias(name) for name, actual in chosen if actual]
    if not columns:
        raise EngineError(f"The step `select` of {scope.contract.table} names no column that is there.")
    return frame.select(*columns, *[column(name) for name in hidden(frame)])


def _renamed(frame: DataFrame, step: ops.Rename, scope: Scope) -> DataFrame:
    """All at once, so that two columns may swap their names; an older column of a new name goes."""
    pairs = {actual: new for old, new in step.pairs.items() if (actual := found(frame, old, scope, "rename"))}
    taken = {new.lower() for new in pairs.values()}
    kept = [name for name in frame.columns if name in pairs or name.lower() not in taken]
    return frame.select(*[column(name).alias(pairs.get(name, name)) for name in kept])


def pivot(frame: DataFrame, step: ops.Pivot, scope: Scope) -> DataFrame:
    """A row for each combination of `id_vars`, a column for each value of the pivot column that the step lists."""
    ids = [name for name in (found(frame, each, scope, "pivot") for each in step.id_vars) if name]
    turned = [_needed(frame, name, scope, "pivot") for name in step.pivot_cols]
    columns = []
    for value in step.values:
        wanted = _parts(value, len(turned), step.separator)
        test = reduce(
            and_, [equals(column(n), kind_of(frame, n), part) for n, part in zip(turned, wanted, strict=True)]
        )
        for name in step.value_cols:
            actual = _needed(frame, name, scope, "pivot")
            cell = _aggregated(frame, actual, test, step.aggs.get(name, step.agg), step.fill_value, scope)
            columns.append(cell.alias(_pivot_name(step, name, wanted)))
    return frame.groupBy(*[column(name) for name in ids]).agg(*columns)


def _needed(frame: DataFrame, name: str, scope: Scope, step: str) -> str:
    actual = find_column(frame, name)
    if actual is None:
        raise EngineError(f"The step `{step}` of {scope.contract.table} needs the column `{name}`, which is not there.")
    return actual


def _parts(value: Any, count: int, separator: str) -> list[Any]:
    """One value for each pivot column: a list, or one text with the separator between them."""
    if count == 1:
        return [value[0] if isinstance(value, list | tuple) and len(value) == 1 else value]
    parts = list(value) if isinstance(value, list | tuple) else str(value).split(separator)
    if len(parts) != count:
        raise EngineError(f"The pivot value {value!r} has {len(parts)} parts for {count} pivot columns.")
    return parts


def _pivot_name(step: ops.Pivot, value_col: str, parts: list[Any]) -> str:
    written = step.separator.join(text_of(part) for part in parts)
    alias = step.value_aliases.get(written, written)
    if step.name_template is None:
        return f"{value_col}{step.separator}{alias}"
    name = step.name_template
    for token, text in (("{value_col}", value_col), ("{pivot_value}", written), ("{pivot_alias}", alias)):
        name = name.replace(token, text)
    return name


def _aggregated(frame: DataFrame, name: str, test: Column, aggregate: ops.Aggregate, fill: Any, scope: Scope) -> Column:
    value, kind = typed(frame, name, scope)
    if aggregate in ("sum", "avg", "mean") and isinstance(kind, T.StringType):
        value, kind = value.try_cast("double"), T.DoubleType()
    result = _aggregate(F.when(test, value), aggregate, frame)
    if fill is None or aggregate.startswith("count"):
        return result
    kind = T.DoubleType() if aggregate in ("avg", "mean") else kind
    kept, filled = (result, kind) if fits(fill, kind) else (as_text(result, kind), T.StringType())
    return F.coalesce(kept, literal(fill, filled))


def _aggregate(cell: Column, aggregate: ops.Aggregate, frame: DataFrame) -> Column:
    match aggregate:
        case "count":
            return F.count(cell)
        case "count_distinct":
            return F.count_distinct(cell)
        case "sum":
            return F.try_sum(cell)
        case "avg" | "mean":
            return F.try_avg(cell)
        case "min":
            return F.min(cell)
        case "max":
            return F.max(cell)
        case "first":
            return F.min_by(cell, F.when(cell.isNotNull(), _order(frame)))
        case "last":
            return F.max_by(cell, F.when(cell.isNotNull(), _order(frame)))
        case _:
            assert_never(aggregate)


def _order(frame: DataFrame) -> Column:
    """What comes first when nobody says so: the row processed earlier, then the smaller one; never chance."""
    processed = find_column(frame, names.PROCESSED_AT_COLUMN)
    others = [name for name in frame.columns if name != processed and is_ordered(kind_of(frame, name))]
    return F.struct(*[column(name) for name in ([processed] if processed else []) + others])


def unpivot(frame: DataFrame, step: ops.Unpivot, scope: Scope) -> DataFrame:
    """A row for each of the value columns, in one pass over the rows."""
    ids = [name for name in (found(frame, each, scope, "unpivot") for each in step.id_vars) if name]
    turned = [(name, actual) for name in step.value_vars if (actual := found(frame, name, scope, "unpivot"))]
    if not turned:
        raise EngineError(f"The step `unpivot` of {scope.contract.table} names no value column that is there.")
    values, _ = alike([(column(actual), kind_of(frame, actual)) for _, actual in turned])
    pairs = [
        F.struct(F.lit(step.value_aliases.get(name, name)).alias("key"), value.alias("value"))
        for (name, _), value in zip(turned, values, strict=True)
    ]
    kept = [column(name) for name in (*ids, *hidden(frame))]
    long = frame.select(*kept, F.explode(F.array(*pairs)).alias(_PAIR))
    pair = column(_PAIR)
    if not step.include_nulls:
        long = long.where(pair.getField("value").isNotNull())
    fields = (pair.getField("key").alias(step.key_field), pair.getField("value").alias(step.value_field))
    return long.select(*[column(name) for name in ids], *fields, *[column(name) for name in hidden(frame)])
