"""Rules over all good rows, answered by one aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, assert_never

from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    IllegalArgumentException,
    NumberFormatException,
    PySparkException,
    SparkRuntimeException,
)
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.columns import added_columns, engine_columns
from lakelogic_assets.contract.rules import DatasetRule
from lakelogic_assets.contract.sql import current_frame, expression_facts, is_query, to_spark
from lakelogic_assets.report.run import DatasetRuleOutcome
from lakelogic_assets.spark.failures import one_line
from lakelogic_assets.spark.identifiers import column, find_name
from lakelogic_assets.spark.scope import Scope

_OF_VALUES = (
    ArithmeticException, ArrayIndexOutOfBoundsException, DateTimeException, IllegalArgumentException,
    NumberFormatException, SparkRuntimeException,
)  # fmt: skip
"""What an expression raises about the values that it met; a disk that fails is something else."""


def judge(
    frame: DataFrame, rules: Sequence[DatasetRule], scope: Scope, *, measured_on: DataFrame | None = None,
    as_stored: bool = False,
) -> tuple[DatasetRuleOutcome, ...]:  # fmt: skip
    """What the rules find in the frame: one aggregation for those about columns, one query each for free SQL.

    `measured_on` are the same rows with an observation on them: they are run through even if no rule needs it.
    Rows `as_stored` have the columns that the engine adds.
    """
    engine = sorted(engine_columns(scope.contract) - (added_columns(scope.contract) if as_stored else frozenset()))
    outcomes: dict[str, DatasetRuleOutcome] = {}
    measured: dict[str, tuple[DatasetRule, Column]] = {}
    for rule in rules:
        unknown = _unknown(rule, frame.columns, engine)
        if unknown:
            outcomes[rule.name] = _outcome(rule, None, None, f"not evaluated: {unknown}")
        elif isinstance(rule.test, str) and is_query(rule.test):
            outcomes[rule.name] = _judged(rule, _query_value(frame, rule.test, scope), None)
        else:
            measured[f"r{len(measured)}"] = (rule, _measure(rule))
    measures = {key: value for key, (_, value) in measured.items()}
    values = _measured(measured_on or frame, measures) if measures or measured_on else {}
    for key, (rule, _) in measured.items():
        outcomes[rule.name] = _judged(rule, values[key], values["rows"])
    return tuple(outcomes[rule.name] for rule in rules)


def _unknown(rule: DatasetRule, present: Sequence[str], engine: Sequence[str]) -> str | None:
    """Why a rule cannot be judged here: what the engine adds afterwards is unknown even where such a column arrived."""
    named = _columns(rule)
    absent = next((name for name in named if not find_name(present, name) and not find_name(engine, name)), None)
    if absent:
        return f"{absent} is not a column of the result"
    late = next((name for name in named if find_name(engine, name)), None)
    return f"{late} is added by the engine afterwards" if late else None


def columns_of(rules: Sequence[DatasetRule]) -> frozenset[str] | None:
    """The columns that rules read; None where free SQL may read any."""
    if any(isinstance(rule.test, str) and is_query(rule.test) for rule in rules):
        return None
    return frozenset(name for rule in rules for name in _columns(rule))


def _columns(rule: DatasetRule) -> tuple[str, ...]:
    if isinstance(rule.test, str):
        return () if is_query(rule.test) else tuple(sorted(expression_facts(current_frame(rule.test)).columns))
    return rule.columns


def _measure(rule: DatasetRule) -> Column:
    test = rule.test
    match test:
        case forms.Unique():
            return F.count(F.lit(1)) - F.count_distinct(_key(test.fields))
        case forms.NullRatio():
            return F.count_if(column(test.field).isNull())
        case forms.RowCountBetween():
            return F.count(F.lit(1))
        case str():
            expression = F.expr(to_spark(current_frame(test)))
            return expression if expression_facts(current_frame(test)).aggregates else F.min(expression)
        case _:
            assert_never(test)


def _key(names: Sequence[str]) -> Column:
    """What must be there once, as a merge compares it: beside other parts of a key a NULL is a value like any other.

    COUNT(DISTINCT …) leaves out what is NULL, which makes each row without any part of its key a violation.
    """
    parts = [column(name) for name in names]
    if len(parts) == 1:
        return parts[0]
    return F.when(reduce(or_, [part.isNotNull() for part in parts]), F.struct(*parts))


def _measured(frame: DataFrame, measures: dict[str, Column]) -> dict[str, Any]:
    """All measures by one job; where one of them raises, each by a job of its own, so that the others are known."""
    try:
        return _aggregated(frame, measures)
    except _OF_VALUES:
        return {**_aggregated(frame, {}), **{key: _alone(frame, value) for key, value in measures.items()}}


def _alone(frame: DataFrame, measure: Column) -> Any:
    try:
        return _aggregated(frame, {"value": measure})["value"]
    except _OF_VALUES as error:
        return error


def _aggregated(frame: DataFrame, measures: dict[str, Column]) -> dict[str, Any]:
    row = frame.agg(F.count(F.lit(1)).alias("rows"), *[value.alias(key) for key, value in measures.items()]).first()
    return row.asDict() if row else {}


def _query_value(frame: DataFrame, text: str, scope: Scope) -> Any:
    for name in scope.frame_names:
        frame.createOrReplaceTempView(name)
    try:
        row = scope.spark.sql(to_spark(current_frame(text))).first()
    except (AnalysisException, *_OF_VALUES) as error:
        return error
    return row[0] if row else None


def _judged(rule: DatasetRule, value: Any, rows: int | None) -> DatasetRuleOutcome:
    test = rule.test
    if isinstance(value, AnalysisException):
        return _outcome(rule, None, None, f"not evaluated: {_first_line(value)}")
    if isinstance(value, PySparkException):
        return _outcome(rule, False, None, f"it raised {one_line(value)}")
    match test:
        case forms.Unique():
            return _outcome(rule, value < 1, value, bounds="duplicates = 0")
        case forms.NullRatio():
            ratio = value / rows if rows else None
            note = None if rows else "no rows"
            return _outcome(rule, ratio is None or ratio <= test.fraction, ratio, note, f"<= {test.fraction:g}")
        case forms.RowCountBetween():
            low, high = test.min or 0, test.max
            passed = value >= low and (high is None or value <= high)
            return _outcome(rule, passed, value, bounds=f"[{low}, {'∞' if high is None else high}]")
        case str():
            return _judged_sql(rule, value)
        case _:
            assert_never(test)


def _judged_sql(rule: DatasetRule, value: Any) -> DatasetRuleOutcome:
    """A boolean must be true, a number must be within its bounds; NULL fails."""
    if value is None:
        return _outcome(rule, False, None, "the result is NULL")
    if isinstance(value, bool):
        return _outcome(rule, value, value)
    bounds = rule.bounds
    try:
        number = float(value)
    except (TypeError, ValueError):
        # A text may be out of somebody's row, and reports are read by many.
        return _outcome(rule, False, None, "the result is neither a number nor a boolean")
    if bounds is None:
        return _outcome(rule, True, number, "a number without bounds always passes")
    tests = {
        f"in {list(bounds.must_be_between or ())}": bounds.must_be_between is None
        or bounds.must_be_between[0] <= number <= bounds.must_be_between[1],
        f"< {bounds.must_be_less_than}": bounds.must_be_less_than is None or number < bounds.must_be_less_than,
        f"> {bounds.must_be_greater_than}": bounds.must_be_greater_than is None or number > bounds.must_be_greater_than,
    }
    shown = " and ".join(text for text in tests if "None" not in text and "[]" not in text)
    return _outcome(rule, all(tests.values()), number, bounds=shown)


def _outcome(
    rule: DatasetRule, passed: bool | None, value: Any, note: str | None = None, bounds: str | None = None
) -> DatasetRuleOutcome:
    shown = float(value) if value is not None and not isinstance(value, bool | str) else value
    return DatasetRuleOutcome(rule.name, rule.severity, rule.category, passed, shown, bounds, note, rule.description)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
