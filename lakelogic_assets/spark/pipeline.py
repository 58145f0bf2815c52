"""Many contracts in one session, in the order of their graph."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace

from pyspark.sql import SparkSession

from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.plan.schedule import Progress, run_in_order
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.execute import RunRequest, execute
from lakelogic_assets.spark.workspace import Workspace

Told = Callable[[Progress[RunReport]], None]


def run_contracts(
    registry: Registry,
    keys: Iterable[Key],
    workspace: Workspace,
    spark: SparkSession,
    *,
    window: Window = FULL,
    parallel: int | None = None,
    tell: Told = lambda _: None,
    ignore_gates: bool = False,
) -> dict[Key, Progress[RunReport]]:
    """Run the enabled contracts among `keys`; what lies below a failed or blocked one is held back."""
    chosen = [key for key in keys if registry.contracts[key].place.enabled]
    upstream = {key: registry.graph.upstream[key] for key in chosen}
    request = RunRequest(
        window=window,
        pipeline_run_id=str(uuid.uuid4()),
        external_logic=workspace.logic_policy,
        environment=workspace.project.environment,
        ignore_gates=ignore_gates,
    )

    def run(key: Key) -> RunReport:
        contract = registry.contracts[key]
        own = replace(request, upstream=tuple(registry.graph.upstream[key]))
        return execute(contract, spark, workspace.lakehouse(contract), workspace.destination(contract), own)

    active = workspace.declarations.active
    width = parallel or (active.concurrency.max_parallel_contracts if active else 2)
    return run_in_order(upstream, run, releases=releases, parallel=width, tell=tell)


def releases(report: RunReport) -> bool:
    """Whether what lies below may run."""
    return report.status not in ("blocked", "held")
