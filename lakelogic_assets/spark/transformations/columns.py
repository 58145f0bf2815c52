"""Steps that rewrite or add columns and leave every row where it is."""

from __future__ import annotations

import re
from typing import Any, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.datatypes import spark_type
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.schema import cast, data_type, uncast_column
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations.expressions import computed
from lakelogic_assets.spark.transformations.values import (
    TEXT,
    alike,
    as_text,
    equals,
    fits,
    found,
    kind_of,
    literal,
    literal_kind,
    moment,
    typed,
)

ColumnStep = (
    ops.Cast | ops.Trim | ops.Lower | ops.Upper | ops.Coalesce | ops.Split | ops.MapValues | ops.Derive | ops.Bucket
    | ops.JsonExtract | ops.DateDiff
)  # fmt: skip


_ANY_NUMBER = T.DecimalType(38, 9)


def change_columns(frame: DataFrame, step: ColumnStep, scope: Scope) -> DataFrame:
    match step:
        case ops.Cast():
            return _cast(frame, step, scope)
        case ops.Trim():
            function = {"both": F.trim, "left": F.ltrim, "right": F.rtrim}[step.side]
            return _texts(frame, step.fields, "trim", function, scope)
        case ops.Lower():
            return _texts(frame, step.fields, "lower", F.lower, scope)
        case ops.Upper():
            return _texts(frame, step.fields, "upper", F.upper, scope)
        case ops.Derive():
            return computed(frame, step.field, step.expression, scope)
        case ops.Coalesce():
            return frame.withColumn(step.output or step.field, _coalesced(frame, step, scope))
        case ops.Split() | ops.MapValues():
            name = found(frame, step.field, scope, "split" if isinstance(step, ops.Split) else "map_values")
            return frame.withColumn(step.output or step.field, _rewritten(frame, name, step)) if name else frame
        case ops.Bucket() | ops.JsonExtract():
            name = found(frame, step.source, scope, "bucket" if isinstance(step, ops.Bucket) else "json_extract")
            return frame.withColumn(step.field, _read_off(frame, name, step, scope)) if name else frame
        case ops.DateDiff():
            start, end = (found(frame, name, scope, "date_diff") for name in (step.from_col, step.to_col))
            return frame.withColumn(step.field, _difference(frame, start, end, step.unit)) if start and end else frame
        case _:
            assert_never(step)


def _rewritten(frame: DataFrame, name: str, step: ops.Split | ops.MapValues) -> Column:
    return _split(frame, name, step.delimiter) if isinstance(step, ops.Split) else _mapped(frame, name, step)


def _read_off(frame: DataFrame, name: str, step: ops.Bucket | ops.JsonExtract, scope: Scope) -> Column:
    return _bucket(frame, name, step, scope) if isinstance(step, ops.Bucket) else _extracted(frame, name, step)


def _cast(frame: DataFrame, step: ops.Cast, scope: Scope) -> DataFrame:
    """What cannot be cast is NULL from here on, and kept beside it: the next split holds its row back."""
    values: dict[str, Column] = {}
    for name, type_name in step.columns.items():
        if actual := found(frame, name, scope, "cast"):
            kind, wanted = kind_of(frame, actual), data_type(spark_type(type_name) or "STRING")
            values[actual] = _asked(column(actual), kind, wanted)
            if not isinstance(wanted, T.StringType):
                lost = column(actual).isNotNull() & values[actual].isNull()
                hidden = uncast_column(actual, type_name)
                before = [column(hidden)] if hidden in frame.columns else []
                values[hidden] = F.coalesce(*before, F.when(lost, as_text(column(actual), kind)))
    return frame.withColumns(values) if values else frame


def _asked(value: Column, kind: T.DataType, wanted: T.DataType) -> Column:
    """The cast that somebody wrote: who asks for whole numbers has fractions cut off, in text files as well."""
    if isinstance(kind, T.StringType) and isinstance(wanted, T.IntegralType):
        number = cast(value, kind, _ANY_NUMBER)
        return F.coalesce(cast(value, kind, wanted), number.try_cast(wanted))
    return cast(value, kind, wanted, truncating=True)


def _texts(frame: DataFrame, names: tuple[str, ...], step: str, function: Any, scope: Scope) -> DataFrame:
    """Applies to text only: a number has no case and no blanks around it."""
    actual = [name for name in (found(frame, each, scope, step) for each in names) if name]
    texts = {name: function(column(name)) for name in actual if isinstance(kind_of(frame, name), T.StringType)}
    return frame.withColumns(texts) if texts else frame


def _coalesced(frame: DataFrame, step: ops.Coalesce, scope: Scope) -> Column:
    named = step.sources or (step.field,)
    sources = [name for name in (found(frame, each, scope, "coalesce") for each in named) if name]
    values = [(column(name), kind_of(frame, name)) for name in sources]
    columns, kind = alike(values)
    if step.default is not None:
        if not fits(step.default, kind) or not columns:
            kind = TEXT if columns else literal_kind(step.default)
            columns = [as_text(value, own) for value, own in values]
        columns.append(literal(step.default, kind))
    return F.coalesce(*columns) if columns else F.lit(None).cast("string")


def _split(frame: DataFrame, name: str, delimiter: str) -> Column:
    # Spark splits at a pattern; every sign that means something in one is made to mean itself.
    return F.split(as_text(column(name), kind_of(frame, name)), re.escape(delimiter))


def _mapped(frame: DataFrame, name: str, step: ops.MapValues) -> Column:
    value, kind = column(name), kind_of(frame, name)
    results: list[tuple[Column, T.DataType]] = [(_own(each), literal_kind(each)) for each in step.mapping.values()]
    results.append((_own(step.default), literal_kind(step.default)) if step.has_default else (value, kind))
    voids = [*step.mapping.values(), step.default if step.has_default else "kept"]
    typed_results = [
        (each, T.NullType() if void is None else own) for (each, own), void in zip(results, voids, strict=True)
    ]
    columns, _ = alike(typed_results)
    chosen: Column | None = None
    for key, result in zip(step.mapping, columns, strict=False):
        test = equals(value, kind, key)
        chosen = F.when(test, result) if chosen is None else chosen.when(test, result)
    return columns[-1] if chosen is None else chosen.otherwise(columns[-1])


def _own(value: Any) -> Column:
    return literal(value, literal_kind(value))


def _bucket(frame: DataFrame, name: str, step: ops.Bucket, scope: Scope) -> Column:
    value, kind = typed(frame, name, scope)
    number = value.try_cast("double") if isinstance(kind, T.NumericType | T.StringType) else F.lit(None).cast("double")
    labels = [bin_.label for bin_ in step.bins] + ([step.default] if step.default is not None else [])
    columns, _ = alike([(_own(label), literal_kind(label)) for label in labels])
    chosen: Column | None = None
    for bin_, label in zip(step.bins, columns, strict=False):
        test = _within(value, kind, number, bin_)
        chosen = F.when(test, label) if chosen is None else chosen.when(test, label)
    if chosen is None:
        return F.lit(None).cast("string")
    return chosen.otherwise(columns[-1]) if step.default is not None else chosen


def _within(value: Column, kind: T.DataType, number: Column, bin_: ops.Bin) -> Column:
    test = F.lit(True)
    for bound, compared in (
        (bin_.lt, number < F.lit(bin_.lt)),
        (bin_.lte, number <= F.lit(bin_.lte)),
        (bin_.gt, number > F.lit(bin_.gt)),
        (bin_.gte, number >= F.lit(bin_.gte)),
    ):
        if bound is not None:
            test = test & compared
    if "eq" in bin_.model_fields_set:
        test = test & (value.isNull() if bin_.eq is None else equals(value, kind, bin_.eq))
    return F.coalesce(test, F.lit(False))


def _extracted(frame: DataFrame, name: str, step: ops.JsonExtract) -> Column:
    path = step.path if step.path.startswith("$") else f"$.{step.path}"
    text = F.get_json_object(as_text(column(name), kind_of(frame, name)), path)
    return text if step.cast is None else cast(text, TEXT, data_type(spark_type(step.cast) or "STRING"))


def _difference(frame: DataFrame, start: str, end: str, unit: str) -> Column:
    first, last = (moment(column(name), kind_of(frame, name)) for name in (start, end))
    match unit:
        case "seconds" | "minutes" | "hours":
            size = {"seconds": 1, "minutes": 60, "hours": 3600}[unit]
            elapsed = F.unix_micros(last) - F.unix_micros(first)
            return (elapsed / (size * 1_000_000)).cast("bigint")
        case "days" | "weeks":
            days = F.datediff(last.cast("date"), first.cast("date"))
            return (days / (7 if unit == "weeks" else 1)).cast("bigint")
        case _:
            months = F.months_between(last, first, roundOff=False)
            return (months / {"months": 1, "quarters": 3, "years": 12}[unit]).cast("bigint")
