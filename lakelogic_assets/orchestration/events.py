"""Dagster's events for one window of one asset.

A run over several days records each day as it is done, so that a day that fails hides none of the others. Dagster
has no word for that: a step's output stands for all of its days. The output is therefore passed on without a
materialization of its own, and days are recorded one by one. The two pieces of Dagster this needs are not public;
its version is pinned and tests hold on to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Target,
)
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION
from dagster._core.execution.plan.execute_step import _build_data_version_tags, _get_input_provenance_data

from lakelogic_assets.orchestration.checks import Outcome
from lakelogic_assets.orchestration.product import Product

_MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION


def output_name(asset_key: dg.AssetKey, check: str | None = None) -> str:
    base = asset_key.to_python_identifier()
    return f"{base}_{check}" if check else base


def whole(product: Product, metadata: Mapping[str, Any], version: str) -> dg.MaterializeResult[Any]:
    """The one window of a step that has only one."""
    return dg.MaterializeResult(asset_key=product.asset_key, metadata=metadata, data_version=dg.DataVersion(version))


def one_of_many(
    context: dg.AssetExecutionContext, product: Product, partition: str, metadata: Mapping[str, Any], version: str
) -> dg.AssetMaterialization:
    """One day of a step that has several."""
    step = context.op_execution_context._step_execution_context
    code = step.job_def.asset_layer.get(product.asset_key).code_version or context.run.run_id
    inputs = _get_input_provenance_data(product.asset_key, step)
    tags = _build_data_version_tags(dg.DataVersion(version), code, inputs, True)
    backfill = context.run.tags.get("dagster/backfill")
    return dg.AssetMaterialization(
        asset_key=product.asset_key,
        partition=partition,
        metadata=metadata,
        tags=tags | ({"dagster/backfill": backfill} if backfill else {}),
    )


def passed_on(product: Product) -> dg.Output[None]:
    """What lets steps downstream begin, after the days were recorded one by one."""
    marked = {SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION: True}
    return dg.Output(None, output_name=output_name(product.asset_key), metadata=marked)


def evaluations(
    product: Product,
    found: Sequence[Outcome],
    partition: str | None,
    target: Target | None,
    *,
    holding: bool,
) -> Iterator[dg.AssetCheckEvaluation]:
    """The checks of one window. Not `holding` lets the step go on to its other days in spite of a failed gate."""
    for outcome in found:
        yield dg.AssetCheckEvaluation(
            asset_key=product.asset_key,
            check_name=outcome.check.name,
            passed=outcome.passed,
            severity=dg.AssetCheckSeverity[outcome.severity],
            description=outcome.description,
            metadata=dict(outcome.metadata),
            blocking=outcome.check.blocking and holding,
            partition=partition,
            target_materialization_data=target,
        )


def latest(instance: dg.DagsterInstance, asset_key: dg.AssetKey, partition: str | None) -> Target | None:
    """The newest materialization that a check can speak about."""
    record = next(iter(_records(instance, asset_key, [partition] if partition else None, limit=1)), None)
    return Target(storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp) if record else None


def days_of_run(
    instance: dg.DagsterInstance, keys: Set[dg.AssetKey], run: dg.DagsterRun
) -> dict[dg.AssetKey, set[str]]:
    """The partitions of some assets that this very run has recorded, or the runs that it goes on from."""
    runs = dict.fromkeys(each for each in (run.run_id, run.parent_run_id, run.root_run_id) if each)
    logged = (entry for each in runs for entry in instance.all_logs(each, of_type=_MATERIALIZED))
    found: dict[dg.AssetKey, set[str]] = {key: set() for key in keys}
    for event in (entry.dagster_event for entry in logged if entry.dagster_event is not None):
        if event.asset_key in found and event.partition is not None:
            found[event.asset_key].add(event.partition)
    return found


def _records(
    instance: dg.DagsterInstance, asset_key: dg.AssetKey, partitions: Sequence[str] | None, limit: int
) -> Iterable[dg.EventLogRecord]:
    chosen = dg.AssetRecordsFilter(asset_key=asset_key, asset_partitions=partitions)
    return instance.fetch_materializations(chosen, limit=limit).records
