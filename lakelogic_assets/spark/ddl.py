"""Tables from contracts without a run: created empty, or given the columns they lack."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.execute import opened_scope
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.publishing import Attempt, commit_metadata, prepare
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.schema import declared_type, types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.session import jvm_pid
from lakelogic_assets.spark.sources.given import read_given
from lakelogic_assets.spark.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TableChange:
    """What happened to one table: `created`, `altered` or `unchanged`."""

    contract: str
    target: str
    what: str
    columns: tuple[str, ...] = ()


def apply_ddl(contract: Contract, spark: SparkSession, workspace: Workspace) -> TableChange:
    """Make the contract's table have the columns it declares; no row is read or written."""
    destination = workspace.destination(contract)
    target = destination.target
    before = _columns(spark, target)
    missing = [field.name for field in contract.model.fields if field.name.casefold() not in before]
    name = "/".join(contract.key)
    if contract.materialization.format == parquet_table.FORMAT:
        return TableChange(name, target, "unchanged")  # plain files bring their columns along
    if before and not missing:
        return TableChange(name, target, "unchanged")
    try:
        with table_lock(target, jvm_pid(spark)):
            _write_nothing(contract, spark, workspace, target)
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error
    added = tuple(column for column in _columns(spark, target) if column not in before)
    return TableChange(name, target, "altered" if before else "created", added)


def _write_nothing(contract: Contract, spark: SparkSession, workspace: Workspace, target: str) -> None:
    without_links = contract.model_copy(update={"links": ()}).with_place(contract.place)
    with opened_scope(without_links, spark, workspace.lakehouse(contract), RunRequest(), []) as scope:
        empty = _declared_frame(scope)
        evaluation = Evaluation(empty, (), None, None, None, known_rows=0)
        app = f"{'/'.join(contract.key)}|ddl"
        generation = 1 + (delta_log.transaction_version(target, app) or 0)
        attempt = Attempt(FULL, "ddl", app, generation, replaces=False)
        prepared = prepare(evaluation, scope, read_given(scope, empty), target, attempt)
        prepared.commit(commit_metadata_of_ddl())


def commit_metadata_of_ddl() -> str:
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


def _columns(spark: SparkSession, target: str) -> dict[str, str]:
    if not delta_log.is_table(target):
        return {}
    return {name.casefold(): kind for name, kind in types_of(spark.read.format("delta").load(target)).items()}
