"""What a run would do: what it would read, which columns it would make. Nothing is written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.rules import dataset_rules, row_rules
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.boundaries import decide
from lakelogic_assets.spark.evaluation import evaluate_source
from lakelogic_assets.spark.execute import opened_scope
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.publishing import finished
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.schema import types_of
from lakelogic_assets.spark.sources import read_source
from lakelogic_assets.spark.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Preview:
    """A dry run of one contract."""

    contract: str
    window: str
    reads: str
    why: str
    files: tuple[str, ...]
    version: int | None
    steps: tuple[str, ...]
    row_rules: tuple[str, ...]
    dataset_rules: tuple[str, ...]
    strategy: str
    target: str
    creates: bool
    columns: dict[str, str]
    adds: tuple[str, ...]
    changes: dict[str, str]
    quarantine: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def preview(contract: Contract, spark: SparkSession, workspace: Workspace, window: Window) -> Preview:
    """Plan one run; the source is listed and its schema read, its rows are not."""
    try:
        return _previewed(contract, spark, workspace, window)
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error


def _previewed(contract: Contract, spark: SparkSession, workspace: Workspace, window: Window) -> Preview:
    warnings: list[str] = []
    request = RunRequest(window=window, external_logic=workspace.logic_policy)
    lakehouse, destination = workspace.lakehouse(contract), workspace.destination(contract)
    with opened_scope(contract, spark, lakehouse, request, warnings) as scope:
        decision = decide(scope, destination, window)
        read = read_source(scope, decision.boundary)
        without_logic = contract.model_copy(update={"external_logic": None}).with_place(contract.place)
        with opened_scope(without_logic, spark, lakehouse, request, warnings) as plain:
            columns = types_of(finished(evaluate_source(read, plain, request.external_logic).good, plain, read))
    there = (
        types_of(spark.read.format("delta").load(destination.target)) if delta_log.is_table(destination.target) else {}
    )
    return Preview(
        contract="/".join(contract.key),
        window=window.key,
        reads=read.name,
        why=decision.reason,
        files=tuple(file.path for file in read.snapshot.files),
        version=read.snapshot.version,
        steps=tuple(f"{step.effective_phase} {step.kind}" for step in contract.transformations),
        row_rules=tuple(f"{rule.phase} {rule.name} ({rule.severity})" for rule in row_rules(contract)),
        dataset_rules=tuple(f"{rule.name} ({rule.severity})" for rule in dataset_rules(contract)),
        strategy=contract.materialization.strategy,
        target=destination.target,
        creates=not there,
        columns=dict(columns),
        adds=tuple(name for name in columns if there and name not in there),
        changes={
            name: f"{there[name]} → {kind}" for name, kind in columns.items() if name in there and there[name] != kind
        },
        quarantine=destination.quarantine,
    )
