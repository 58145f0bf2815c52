"""The steps of a contract, one after the other, as lazy frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pyspark.sql import DataFrame

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.sql import is_query
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations import columns, joins, rollup, rows, shape, sql

__all__ = ["apply_steps", "changes_row_count"]


def apply_steps(frame: DataFrame, steps: Sequence[ops.Transformation], scope: Scope) -> DataFrame:
    """The frame after all steps, each seeing what the one before it made."""
    for step in steps:
        frame = _applied(frame, step.operation, scope)
    return frame


def _applied(frame: DataFrame, operation: ops.Operation, scope: Scope) -> DataFrame:
    match operation:
        case str():
            return sql.run_sql(frame, operation, scope)
        case ops.Select() | ops.Drop() | ops.Rename():
            return shape.arrange(frame, operation, scope)
        case ops.Pivot():
            return shape.pivot(frame, operation, scope)
        case ops.Unpivot():
            return shape.unpivot(frame, operation, scope)
        case ops.Filter() | ops.Deduplicate() | ops.DeduplicateByLatest() | ops.Explode() | ops.DateRangeExplode():
            return rows.change_rows(frame, operation, scope)
        case ops.Lookup():
            return joins.look_up(frame, operation, scope)
        case ops.Join():
            return joins.join(frame, operation, scope)
        case ops.Rollup():
            return rollup.roll_up(frame, operation, scope)
        case (
            ops.Cast() | ops.Trim() | ops.Lower() | ops.Upper() | ops.Coalesce() | ops.Split() | ops.MapValues()
            | ops.Derive() | ops.Bucket() | ops.JsonExtract() | ops.DateDiff()
        ):  # fmt: skip
            return columns.change_columns(frame, operation, scope)
        case _:
            assert_never(operation)


def changes_row_count(operation: ops.Operation) -> bool:
    """Whether the step may leave more or fewer rows than it was given."""
    match operation:
        case str():
            return is_query(operation) or sql.makes_rows(operation)
        case ops.Filter() | ops.Deduplicate() | ops.DeduplicateByLatest() | ops.Explode() | ops.DateRangeExplode():
            return True
        case ops.Rollup() | ops.Pivot() | ops.Unpivot() | ops.Join():
            # A join of any type has a row for each match, and a key may match several times.
            return True
        case _:
            return False
