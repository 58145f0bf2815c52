"""From what a run left in Spark to what its report says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.fingerprint import fingerprint
from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.run import Counts, RowRuleOutcome, RunReport, SchemaFindings
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.freshness import freshness_column, is_stamped
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.sources.selection import below
from lakelogic_assets.spark.tables import fixed_prefix

_MAKING_ROWS = (ops.Explode, ops.DateRangeExplode, ops.Unpivot, str)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who runs: enough for a report of a run that did not begin."""

    contract: Contract
    run_id: str
    pipeline_run_id: str
    started_at: datetime


def blank_report(scope: Scope | Identity, destination: Destination | None, window: Window) -> RunReport:
    """What is known of a run before it has read anything."""
    contract = scope.contract
    return RunReport(
        status="success",
        run_id=scope.run_id,
        pipeline_run_id=scope.pipeline_run_id,
        contract="/".join(contract.key),
        table=contract.table,
        window=window.as_dict(),
        started_at=scope.started_at,
        ended_at=datetime.now(UTC),
        domain=contract.domain,
        system=contract.system,
        layer=contract.layer,
        contract_version=contract.version,
        fingerprint=fingerprint(contract),
        source=contract.source.path if contract.source else None,
        target=destination.target if destination else None,
        quarantine=destination.quarantine if destination else None,
    )


def row_outcomes(contract: Contract, evaluation: Evaluation, failures: Mapping[str, int]) -> tuple[RowRuleOutcome, ...]:
    """Every rule of the contract with the rows that broke it, and the schema's own findings behind them."""
    failed = dict(failures)
    for stage in evaluation.stages:
        for name, rows in stage.watched_rows().items() if stage.watched else ():
            failed[name] = failed.get(name, 0) + rows
    outcomes = [
        RowRuleOutcome(rule.name, rule.severity, rule.category, rule.phase, failed.pop(rule.name, 0), rule.description)
        for rule in row_rules(contract)
    ]
    outcomes += [RowRuleOutcome(name, "error", "schema", "pre", rows) for name, rows in failed.items() if rows]
    return tuple(outcomes)


def warn_of_growth(scope: Scope, counts: Counts) -> None:
    """Tell that joins have made rows of rows, where no step is there to do so on purpose."""
    contract = scope.contract
    operations = [step.operation for step in contract.transformations]
    joined = sorted({each.reference for each in operations if isinstance(each, ops.Join)})
    meant = any(isinstance(each, _MAKING_ROWS) for each in operations)
    if counts.dropped >= 0 or not joined or meant or contract.external_logic or contract.extraction:
        return
    many = " or ".join(f"`{name}`" for name in joined)
    scope.warn(
        f"{counts.source} rows were read and {counts.total} made of them: a key of {many} stands there several times. "
        "A `lookup` takes one row for each key."
    )


def schema_findings(evaluation: Evaluation) -> SchemaFindings:
    first = next((stage for stage in evaluation.stages if stage.missing or stage.unknown or stage.casts), None)
    return SchemaFindings(first.missing, first.unknown, dict(first.casts)) if first else SchemaFindings()


def arrived_types(read: SourceRead) -> dict[str, str]:
    """The types of the source's own columns."""
    found = types_of(read.frame)
    return {name: kind for name, kind in found.items() if not name.startswith((HIDDEN_PREFIX, names.ENGINE_PREFIX))}


def watermark_state(read: SourceRead, evaluation: Evaluation) -> dict[str, Any]:
    """What the next run needs to know to read only what is new."""
    snapshot = read.snapshot
    newest = snapshot.max_mtime
    state: dict[str, Any] = {"identity": snapshot.identity, "version": snapshot.version, "max_mtime": newest}
    if snapshot.table_id is not None:
        state["source_id"] = snapshot.table_id
    if newest is not None:
        state["files_at_max"] = [file.path for file in snapshot.files if file.mtime == newest]
        root = fixed_prefix(snapshot.description)
        state["root"] = root
        state["files"] = [[below(file.path, root), file.size, file.mtime] for file in snapshot.files]
    if evaluation.watermark:
        state["value"] = evaluation.watermark_value()
    return state


def newest_of(evaluation: Evaluation, counts: Counts, scope: Scope) -> str | None:
    """How new the run's rows are, where the contract or its registry has a column that says so."""
    name = freshness_column(scope.contract)
    if name and is_stamped(scope.contract, name):
        return scope.started_at.isoformat() if counts.good else None
    return evaluation.newest()
