"""Rollup: groups with their measures, and the keys and runs they were made of."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.lint_sql import current_frame
from lakelogic_assets.contract.sql import expression_facts, to_spark
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.expressions import guarded
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations.arguments import guarded_arguments
from lakelogic_assets.spark.transformations.expressions import isolate_errors, refusing, safe
from lakelogic_assets.spark.transformations.values import as_text, declared_kind, found, kind_of, typed

_KEY = f"{HIDDEN_PREFIX}rollup_key"
KEY_SEPARATOR = "||"


def roll_up(frame: DataFrame, step: ops.Rollup, scope: Scope) -> DataFrame:
    """A row for each group: its measures, then the distinct keys of its rows, how many, and the runs they came from."""
    groups = [name for name in (found(frame, each, scope, "rollup") for each in step.group_by) if name]
    if len(groups) < len(step.group_by):
        raise EngineError(f"{scope.contract.table} rolls up by a column that is not there: {', '.join(step.group_by)}.")
    frame = _in_declared_types(frame, step, groups, scope)
    measures: dict[str, Column] = {}
    for name, text in step.aggregations.items():
        with refusing(text):
            frame, measures[name] = _measure(frame, text, scope, len(measures))
    frame, keys = _with_key(frame, step, scope)
    measures |= keys | _runs(frame, step)
    if not measures:
        return frame.select(*[column(name) for name in groups]).distinct()
    grouped = frame.groupBy(*[column(name) for name in groups])
    with refusing(", ".join(step.aggregations.values())):
        return grouped.agg(*[value.alias(name) for name, value in measures.items()])


def _in_declared_types(frame: DataFrame, step: ops.Rollup, groups: list[str], scope: Scope) -> DataFrame:
    """Text that is declared as a number is added up as one; what is no number does not count."""
    texts = [current_frame(text) for text in step.aggregations.values()]
    read = {name for text in texts for name in expression_facts(text).columns}
    actual = {name for name in (find_column(frame, each) for each in read) if name and name not in groups}
    values = {name: typed(frame, name, scope)[0] for name in sorted(actual) if declared_kind(scope, name) is not None}
    return frame.withColumns(values) if values else frame


def _measure(frame: DataFrame, text: str, scope: Scope, index: int) -> tuple[DataFrame, Column]:
    """The aggregate, safe inside (what it is given) and outside (what is made of it)."""
    spark_text, arguments = guarded_arguments(to_spark(current_frame(text)), f"{HIDDEN_PREFIX}argument_{index}_")
    values = {name: safe(frame, argument, scope) for name, argument in arguments.items()}
    isolate_errors(scope)
    made = frame.withColumns(values) if values else frame
    return made, guarded(scope.spark, F.expr(spark_text))


def _with_key(frame: DataFrame, step: ops.Rollup, scope: Scope) -> tuple[DataFrame, dict[str, Column]]:
    if not step.traces_keys:
        return frame, {}
    if step.key_expr:
        with refusing(step.key_expr):
            frame = frame.withColumn(_KEY, safe(frame, step.key_expr, scope).cast("string"))
    else:
        actual = [name for name in (found(frame, each, scope, "rollup") for each in step.keys or ()) if name]
        frame = frame.withColumn(_KEY, _joined([as_text(column(name), kind_of(frame, name)) for name in actual]))
    gathered = F.collect_set(column(_KEY)) if step.distinct else F.collect_list(column(_KEY))
    traced = F.sort_array(gathered)
    made = {step.rollup_keys_column: traced, step.rollup_keys_count_column: F.size(traced).cast("bigint")}
    return frame, {name: value for name, value in made.items() if name}


def _joined(parts: list[Column]) -> Column:
    """`a||b`; a part that is NULL is empty, a key without any part is none."""
    if not parts:
        return F.lit(None).cast("string")
    if len(parts) == 1:
        return parts[0]
    texts = [F.coalesce(part, F.lit("")) for part in parts]
    return F.when(F.coalesce(*parts).isNotNull(), F.concat_ws(KEY_SEPARATOR, *texts))


def _runs(frame: DataFrame, step: ops.Rollup) -> dict[str, Column]:
    name = find_column(frame, step.upstream_run_id_column) if step.upstream_run_id_column else None
    if name is None or not step.upstream_run_ids_column:
        return {}
    return {step.upstream_run_ids_column: F.sort_array(F.collect_set(column(name)))}
