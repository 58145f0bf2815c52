"""Steps that bring in columns of a link."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations.values import (
    TEXT,
    as_text,
    fits,
    found,
    is_ordered,
    kind_of,
    literal,
    matched,
    typed,
)

_KEY = f"{HIDDEN_PREFIX}key"
_VALUE = f"{HIDDEN_PREFIX}value"


def look_up(frame: DataFrame, step: ops.Lookup, scope: Scope) -> DataFrame:
    """One value for each row: of the link's row with the same key, or the default.

    Where the link has a key twice, its greatest value counts, so that no row is doubled and every run agrees.
    """
    link = _link(step.reference, scope, "lookup")
    key, value = (_column_of(link, name, step.reference) for name in (step.key, step.value))
    kind = kind_of(link, value)
    picked = F.max(column(value)) if is_ordered(kind) else F.any_value(column(value))
    own = found(frame, step.on, scope, "lookup")
    left, right = _sides(frame, own, scope, column(key), kind_of(link, key))
    single = link.where(right.isNotNull()).groupBy(right.alias(_KEY)).agg(picked.alias(_VALUE))
    joined = frame.join(_hinted(single, step.reference, scope), left == column(_KEY), "left")
    result = column(_VALUE)
    if step.default_value is not None:
        result = _or_default(column(_VALUE), kind, column(_KEY).isNull(), step.default_value)
    return joined.withColumn(step.field, result).drop(_KEY, _VALUE)


def join(frame: DataFrame, step: ops.Join, scope: Scope) -> DataFrame:
    """The fields of the link's matching rows beside the row's own columns; nothing else of the link."""
    link = _link(step.reference, scope, "join")
    key = _column_of(link, step.key, step.reference)
    fields = {name: _column_of(link, name, step.reference) for name in step.fields}
    brought = {name: f"{_VALUE}{index}" for index, name in enumerate(fields)}
    right = link.select(
        column(key).alias(_KEY), *[column(actual).alias(brought[name]) for name, actual in fields.items()]
    )
    own = found(frame, step.on, scope, "join")
    left, other = _sides(frame, own, scope, column(_KEY), kind_of(link, key))
    joined = frame.join(_hinted(right, step.reference, scope), left == other, step.type)
    values: dict[str, Column] = {}
    if own and step.type in ("right", "full"):
        # A row that only the link has is known by its key.
        values[own] = F.coalesce(column(own), column(_KEY).try_cast(kind_of(frame, own)))
    for name, output in step.outputs.items():
        value, kind = column(brought[name]), kind_of(link, fields[name])
        default = step.defaults.get(name, step.defaults.get(output))
        values[output] = value if default is None else _or_default(value, kind, value.isNull(), default)
    return joined.withColumns(values).drop(_KEY, *brought.values())


def _link(name: str, scope: Scope, step: str) -> DataFrame:
    if name not in scope.links:
        raise NotFoundError(
            f"The step `{step}` of {scope.contract.table} reads `{name}`, which is none of its links.",
            near=[each for each in scope.links if each.lower() == name.lower()],
        )
    return scope.links[name]


def _column_of(link: DataFrame, name: str, reference: str) -> str:
    actual = find_column(link, name)
    if actual is None:
        raise NotFoundError(f"The link `{reference}` has no column `{name}`; it has {', '.join(link.columns[:20])}.")
    return actual


def _hinted(frame: DataFrame, name: str, scope: Scope) -> DataFrame:
    asked = any(link.broadcast for link in scope.contract.links if link.name == name)
    return F.broadcast(frame) if asked else frame


def _sides(frame: DataFrame, own: str | None, scope: Scope, key: Column, key_kind: T.DataType) -> tuple[Column, Column]:
    """The row's key and the link's; a row without that column finds nothing."""
    if own is None:
        return F.lit(None).cast(key_kind), key
    value, kind = typed(frame, own, scope)
    return matched(value, kind, key, key_kind)


def _or_default(value: Column, kind: T.DataType, missing: Column, default: Any) -> Column:
    if fits(default, kind):
        return F.when(missing, literal(default, kind)).otherwise(value)
    return F.when(missing, literal(default, TEXT)).otherwise(as_text(value, kind))
