"""A row rule as a column that is TRUE where the row passes. No actions, no side effects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, assert_never

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.base import is_in_days, period_seconds
from lakelogic_assets.contract.rules import AcceptedLength, Hint, RowRule
from lakelogic_assets.contract.sql import current_frame, expression_facts, to_spark
from lakelogic_assets.spark.expressions import guarded
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.quality.likes import without_slow_likes
from lakelogic_assets.spark.raising import can_raise

_NUMBERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType, T.DecimalType)
_MOMENTS = (T.DateType, T.TimestampType, T.TimestampNTZType)


def predicate(  # noqa: C901 - one arm for every kind of rule
    rule: RowRule, schema: T.StructType, started_at: datetime, flags: Mapping[str, str]
) -> Column:
    """What must be TRUE for a row; `flags` names the columns that hold the answers of joins."""
    test = rule.test
    match test:
        case str():
            texts = frozenset(f.name.casefold() for f in schema.fields if isinstance(f.dataType, T.StringType))
            return _with_bounds(F.expr(without_slow_likes(to_spark(current_frame(test)), texts)), rule.bounds)
        case forms.NotNull():
            return column(rule.columns[0]).isNotNull()
        case forms.AcceptedValues():
            return accepted(column(test.field), _type(schema, test.field), test.values)
        case forms.RegexMatch():
            return column(test.field).cast("string").rlike(test.pattern)
        case forms.Range():
            return in_range(column(test.field), _type(schema, test.field), test.min, test.max, inclusive=test.inclusive)
        case Hint():
            return _hint(rule, test, schema)
        case AcceptedLength():
            return F.length(column(rule.columns[0]).cast("string")) <= test.max_length
        case forms.ReferentialIntegrity():
            return column(flags[rule.name])
        case forms.LifecycleWindow():
            if test.window is None:
                return column(flags[rule.name])
            oldest = F.lit(_oldest(test.window, started_at))
            return column(rule.columns[0]).try_cast("timestamp") >= oldest
        case _:
            assert_never(test)


def passes(
    rule: RowRule, frame: DataFrame, spark: SparkSession, started_at: datetime, flags: Mapping[str, str]
) -> tuple[Column, bool]:
    """TRUE, FALSE or NULL for every row, and whether the rule had to be guarded against raising.

    NULL of a guarded rule means that it raised: what it says about NULL is decided inside of its guard.
    """
    schema = frame.schema
    tested = predicate(rule, schema, started_at, flags)
    if not isinstance(rule.test, str) or not _can_raise(rule.test, schema):
        return tested, False
    return guarded(spark, F.coalesce(tested.cast("boolean"), F.lit(rule.null_passes))), True


def _oldest(window: str, started_at: datetime) -> datetime:
    """Days are counted from the start of today: a date is the whole of its day."""
    now = started_at.astimezone(UTC)
    since = now.replace(hour=0, minute=0, second=0, microsecond=0) if is_in_days(window) else now
    return since - timedelta(seconds=period_seconds(window) or 0)


def _can_raise(text: str, schema: T.StructType) -> bool:
    if expression_facts(current_frame(text)).has_subquery:
        return False  # a guard cannot reach into a subquery, and Catalyst cannot plan one inside a guard
    return can_raise(current_frame(text), {f.name: f.dataType.simpleString() for f in schema.fields})


def _hint(rule: RowRule, hint: Hint, schema: T.StructType) -> Column:
    name = rule.columns[0]
    if hint.values is not None:
        return accepted(column(name), _type(schema, name), hint.values)
    return in_range(column(name), _type(schema, name), hint.min, hint.max, inclusive=True)


def accepted(value: Column, kind: T.DataType, values: tuple[Any, ...]) -> Column:
    """One of the values, compared in the column's own type: 1 and "1" are the same to a text column."""
    if isinstance(kind, _NUMBERS):
        numbers = [number for each in values if (number := _number(each)) is not None]
        return value.isin(*numbers) if numbers else _never(value)
    if isinstance(kind, T.BooleanType):
        words = {"true": True, "false": False, "1": True, "0": False}
        known = [each if isinstance(each, bool) else words.get(str(each).lower()) for each in values]
        return value.isin(*[each for each in known if each is not None])
    if isinstance(kind, _MOMENTS):
        tests = [value == F.lit(str(each)).try_cast(kind) for each in values]
        return F.when(value.isNotNull(), F.coalesce(F.greatest(*tests) if len(tests) > 1 else tests[0], F.lit(False)))
    return value.cast("string").isin(*[text_of(each) for each in values if each is not None])


def in_range(value: Column, kind: T.DataType, low: Any, high: Any, *, inclusive: bool) -> Column:
    """Between the bounds; numbers in text are compared as numbers."""
    tests = []
    for bound, above in ((low, True), (high, False)):
        if bound is None:
            continue
        left, right = _comparable(value, kind, bound)
        if above:
            tests.append(left >= right if inclusive else left > right)
        else:
            tests.append(left <= right if inclusive else left < right)
    return tests[0] & tests[1] if len(tests) > 1 else tests[0]


def _comparable(value: Column, kind: T.DataType, bound: Any) -> tuple[Column, Column]:
    if isinstance(kind, _MOMENTS):
        return value, F.lit(str(bound)).try_cast(kind)
    number = _number(bound)
    if number is None:
        return value.cast("string"), F.lit(str(bound))
    if isinstance(kind, _NUMBERS):
        return value, F.lit(number)
    return value.try_cast("double"), F.lit(number)


def _with_bounds(value: Column, bounds: forms.Bounds | None) -> Column:
    """Bounds on a number; a boolean is judged by itself."""
    if bounds is None:
        return value
    number = value.try_cast("double")
    tests = []
    if bounds.must_be_between is not None:
        tests.append(number.between(*bounds.must_be_between))
    if bounds.must_be_less_than is not None:
        tests.append(number < bounds.must_be_less_than)
    if bounds.must_be_greater_than is not None:
        tests.append(number > bounds.must_be_greater_than)
    joined = tests[0]
    for test in tests[1:]:
        joined = joined & test
    # `typeof` is folded away at analysis, so a boolean costs nothing here.
    return F.when(F.typeof(value) == "boolean", value.try_cast("boolean")).otherwise(joined)


def _type(schema: T.StructType, name: str) -> T.DataType:
    folded = name.casefold()
    return next((field.dataType for field in schema.fields if field.name.casefold() == folded), T.StringType())


def _number(value: Any) -> int | float | Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        return None


def text_of(value: Any) -> str:
    """A YAML value as it stands in a text column: `true`, `1`, `1.5`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _never(value: Column) -> Column:
    return F.when(value.isNotNull(), F.lit(False))


def shown_rule(rule: RowRule) -> str:
    """The rule as one line of SQL-like text for people."""
    test = rule.test
    if isinstance(test, str):
        return re.sub(r"\s+", " ", test).strip()
    name = rule.columns[0] if rule.columns else ""
    match test:
        case forms.NotNull():
            return f"{name} IS NOT NULL"
        case forms.AcceptedValues():
            return f"{name} IN ({_few(test.values)})"
        case forms.RegexMatch():
            return f"{name} RLIKE '{test.pattern}'"
        case forms.Range():
            return f"{name} IN [{test.min}, {test.max}]"
        case Hint():
            return f"{name} IN ({_few(test.values)})" if test.values else f"{name} IN [{test.min}, {test.max}]"
        case AcceptedLength():
            return f"LENGTH({name}) <= {test.max_length}"
        case forms.ReferentialIntegrity():
            return f"{name} IN {test.reference or test.contract}.{test.key_column}"
        case forms.LifecycleWindow():
            return f"{name} WITHIN {test.window or test.reference}"
        case _:
            assert_never(test)


def _few(values: tuple[Any, ...], limit: int = 8) -> str:
    shown = ", ".join(repr(value) for value in values[:limit])
    return shown + (", …" if len(values) > limit else "")
