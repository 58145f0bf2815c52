"""Tables from contracts without a run: created empty, or given the columns they lack."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.empty_table import write_nothing
from lakelogic_assets.spark.execute import opened_scope
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.schema import types_of
from lakelogic_assets.spark.session import jvm_pid
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
        write_nothing(scope, target)


def _columns(spark: SparkSession, target: str) -> dict[str, str]:
    if not delta_log.is_table(target):
        return {}
    return {name.casefold(): kind for name, kind in types_of(spark.read.format("delta").load(target)).items()}
