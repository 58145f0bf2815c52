"""A table without rows, in the shape that its contract declares: what reads it need not wait for the first row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.columns import created_in
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.transformations import Rollup
from lakelogic_assets.errors import EngineError, LakeLogicError
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.publishing import KEYED_STRATEGIES, Attempt, commit_metadata, prepare
from lakelogic_assets.spark.schema import declared_type, steering_columns
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.given import read_given


def make_readable(scope: Scope, target: str) -> None:
    """A feed that has not landed yet keeps nobody waiting, where the contract alone says what its table looks like."""
    if delta_log.is_table(target) or not _tells_its_shape(scope.contract):
        return
    try:
        write_nothing(scope, target)
    except LakeLogicError as error:
        scope.warn(f"No table was made before the first row, so what reads it has to wait: {error}")


def _tells_its_shape(contract: Contract) -> bool:
    """Whether all that the table needs is declared, and the first rows will fit it, whatever they bring along."""
    keys = contract.business_key if contract.scd2 else contract.merge_key
    tracked = contract.scd2.track_columns if contract.scd2 else ()
    needed = (*keys, *tracked, *contract.materialization.partition_by, *steering_columns(contract))
    is_delta = contract.materialization.format != parquet_table.FORMAT
    fits = contract.policy.evolution != "strict" or _brings_only_what_is_declared(contract)
    return is_delta and contract.external_logic is None and fits and _are_declared(needed, contract)


def _brings_only_what_is_declared(contract: Contract) -> bool:
    """Whether no row can have a column that a strict table, once it is there, would refuse."""
    if contract.extraction is not None or contract.policy.unknown_fields == "allow" or contract.lineage.kept_columns:
        return False
    reads_files = contract.source is not None and contract.source.table is None
    if not reads_files and contract.materialization.strategy not in KEYED_STRATEGIES:
        return False  # stamps of the table that it reads come along
    made = created_in(contract, "pre") | created_in(contract, "post")
    traced = any(isinstance(step.operation, Rollup) for step in contract.transformations)
    return not traced and (contract.policy.unknown_fields == "drop" or _are_declared(made, contract))


def _are_declared(columns: Iterable[str], contract: Contract) -> bool:
    declared = {name.casefold() for name in contract.model.by_name}
    return bool(declared) and {name.casefold() for name in columns} <= declared


def write_nothing(scope: Scope, target: str) -> None:
    """Make the table, or give it the columns it lacks; the lock on it is the caller's."""
    scope = replace(scope, contract=_without_unknown_member(scope.contract))
    empty = _declared_frame(scope)
    evaluation = Evaluation(empty, (), None, None, None, known_rows=0)
    app = f"{'/'.join(scope.contract.key)}|ddl"
    generation = 1 + (delta_log.transaction_version(target, app) or 0)
    attempt = Attempt(FULL, "ddl", app, generation, replaces=False)
    prepared = prepare(evaluation, scope, read_given(scope, empty), target, attempt)
    prepared.commit(_commit_metadata())


def _without_unknown_member(contract: Contract) -> Contract:
    """The first run adds that row, with the stamps of a run."""
    section = contract.materialization
    changed: dict[str, object] = {"unknown_member": None}
    changed |= {
        name: said.model_copy(update={"unknown_member": None})
        for name in ("scd1", "scd2")
        if (said := getattr(section, name)) is not None
    }
    without = contract.model_copy(update={"materialization": section.model_copy(update=changed)})
    return without.with_place(contract.place)


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
