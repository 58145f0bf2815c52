"""A window whose files were all taken back: rebuilt, it holds nothing, and that replaces what it held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EmptySourceError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.publishing import KEYED_STRATEGIES, Attempt
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.schema import conform, steering_columns
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.selection import keeps_files
from lakelogic_assets.spark.tables import fixed_prefix, is_uri


def may_be_withdrawn(request: RunRequest, contract: Contract) -> bool:
    """Whether files that are not there were taken back; those that a run has moved away are done with."""
    return request.reprocess and not request.window.is_full and keeps_files(contract)


def was_written(scope: Scope, attempt: Attempt, place: str) -> bool:
    """Whether there is something to replace: a window that never held a row needs no commit.

    Of a folder that is not there itself, nobody can say that its files were taken back.
    """
    if attempt.generation == 1 and not (attempt.former and attempt.former.has_read):
        return False
    root = Path(fixed_prefix(place))
    if not is_uri(place) and not root.exists() and not (root.suffix and root.parent.exists()):
        raise EmptySourceError(
            f"{scope.contract.table} found no {root}, so nothing of the window {attempt.window.key} is taken for "
            "withdrawn; make that folder, or correct `source.path`."
        )
    return True


def nothing_left(scope: Scope, target: str) -> Evaluation:
    """No rows, in the shape of the table: without files nobody knows what steps and rules would be given."""
    rows = _no_rows(scope, target)
    return Evaluation(rows, (), None, None, None, known_rows=0, split=rows)


def _no_rows(scope: Scope, target: str) -> DataFrame:
    contract = scope.contract
    declared = {name.casefold() for name in contract.model.by_name}
    fields = [field for field in _of_table(scope, target) if field.name.casefold() not in declared]
    return conform(scope.spark.createDataFrame([], T.StructType(fields)), contract)


def _of_table(scope: Scope, target: str) -> Iterator[T.StructField]:
    """The columns of the table that come from the rows; of one that is merged by key, those that steer the merge."""
    there = scope.spark.read.format("delta").load(target).schema.fields if delta_log.is_table(target) else []
    known = {field.name.casefold(): T.StructField(field.name, field.dataType) for field in there}
    contract = scope.contract
    if contract.materialization.strategy not in KEYED_STRATEGIES:
        yield from (field for name, field in known.items() if name != names.WINDOW_COLUMN)
        return
    keys = (*contract.merge_key, *contract.materialization.partition_by, *steering_columns(contract))
    for name in dict.fromkeys(each.casefold() for each in keys):
        yield known.get(name, T.StructField(name, T.StringType()))
