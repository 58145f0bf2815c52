"""A table without rows, in the shape that its contract declares: what reads it need not wait for the first row."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.publishing import Attempt, commit_metadata, prepare
from lakelogic_assets.spark.schema import declared_type
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.given import read_given


def make_readable(scope: Scope, target: str) -> None:
    """A feed that has not landed yet keeps nobody waiting, where the contract alone says what its table looks like."""
    if not delta_log.is_table(target) and _tells_its_shape(scope.contract):
        write_nothing(scope, target)


def _tells_its_shape(contract: Contract) -> bool:
    """Whether the first rows will fit the table, whatever they bring along."""
    declared = {name.casefold() for name in contract.model.by_name}
    may_grow = contract.policy.evolution != "strict" or contract.policy.unknown_fields != "allow"
    has_partitions = {name.casefold() for name in contract.materialization.partition_by} <= declared
    is_delta = contract.materialization.format != parquet_table.FORMAT
    return bool(declared) and may_grow and has_partitions and is_delta and contract.external_logic is None


def write_nothing(scope: Scope, target: str) -> None:
    """Make the table, or give it the columns it lacks; the lock on it is the caller's."""
    empty = _declared_frame(scope)
    evaluation = Evaluation(empty, (), None, None, None, known_rows=0)
    app = f"{'/'.join(scope.contract.key)}|ddl"
    generation = 1 + (delta_log.transaction_version(target, app) or 0)
    attempt = Attempt(FULL, "ddl", app, generation, replaces=False)
    prepared = prepare(evaluation, scope, read_given(scope, empty), target, attempt)
    prepared.commit(_commit_metadata())


def _commit_metadata() -> str:
    """A commit that carries no run, so that an audit passes over it."""
    return commit_metadata({}).replace('"lakelogic"', '"lakelogic_ddl"')


def _declared_frame(scope: Scope) -> DataFrame:
    injected = set(scope.contract.scd2.injected_columns if scope.contract.scd2 else ())
    lineage = set(scope.contract.lineage.columns.values())
    fields = [
        T.StructField(field.name, declared_type(scope.contract, field.name) or T.StringType())
        for field in scope.contract.model.fields
        if field.name not in injected and field.name not in lineage
    ]
    if not fields:
        raise EngineError(f"{scope.contract.table} declares no fields, so there is no table to create.")
    return scope.spark.createDataFrame([], T.StructType(fields))
