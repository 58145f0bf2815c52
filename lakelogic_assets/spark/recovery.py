"""Runs that died are finished or forgotten by the next run of their table."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport, SchemaFindings
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.cleanup import clean_up_files
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.failures import StorageFailure
from lakelogic_assets.spark.holds import Holds
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.run_log import append_run, is_logged
from lakelogic_assets.spark.sources.snapshot import files_of
from lakelogic_assets.spark.tables import Lakehouse

log = logging.getLogger(__name__)

_UNPUBLISHED: Final = "The run ended before it was published; its window is evaluated again."


def recover(contract: Contract, lakehouse: Lakehouse, destination: Destination, environment: str | None) -> list[str]:
    """Finish what dead runs left of a table, and say what; the caller holds the table's lock.

    Runs whose target was committed are logged as what they were, the others as failed.
    """
    intents = Intents(destination.intents, destination.target)
    if contract.materialization.format == parquet_table.FORMAT:
        parquet_table.heal(Path(destination.target))
    said = []
    for intent in intents.open():
        versions = committed_by(destination, intent)
        report = report_from(intent.report)
        if versions is None:
            report = replace(report, status="failed", error=_UNPUBLISHED)
        else:
            written = {**report.versions_written, **versions}
            report = replace(report, versions_written=written, table_id=delta_log.table_id(destination.target))
        if not is_logged(destination.run_log, report.run_id, report.status):
            append_run(destination.run_log, destination.run_files, report, environment)
        if versions is not None:
            _finish(contract, lakehouse, destination, report)
        intents.forget(intent.app)
        said.append(f"{intent.app} was {'committed and is logged now' if versions is not None else 'never published'}")
    return said


def committed_by(destination: Destination, intent: Intent) -> dict[str, int] | None:
    """The versions that a run committed; None when it never published anything."""
    app, generation = intent.app, intent.generation
    plain = parquet_table.generation(destination.target, app)
    if (plain or 0) >= generation:
        return {"target": generation}
    if (delta_log.transaction_version(destination.target, app) or 0) < generation:
        return None
    places = {"quarantine": destination.quarantine, "target": destination.target}
    found = {kind: _version_of(path, app, generation) for kind, path in places.items()}
    return {kind: version for kind, version in found.items() if version is not None}


def own_commit(destination: Destination, run_id: str, app: str) -> int | None:
    """The version that this very run committed to its target; None where it did not, or nobody can tell."""
    with contextlib.suppress(*StorageFailure):
        for commit in delta_log.commits(destination.target):
            said = commit["metadata"] or {}
            if (said.get("run_id"), said.get("app")) == (run_id, app):
                return int(commit["version"])
    return None


def _version_of(path: str, app: str, generation: int) -> int | None:
    for commit in delta_log.commits(path):
        said = commit["metadata"] or {}
        if (said.get("app"), said.get("generation")) == (app, generation):
            return int(commit["version"])
    return None


def _finish(contract: Contract, lakehouse: Lakehouse, destination: Destination, report: RunReport) -> None:
    """What follows a commit, for a run that did not live to do it."""
    window = Window.from_dict(report.window)
    # Whether a run without a window read everything or only news is not known any more.
    Holds(destination.holds).release(contract.key, window, exactly=window.is_full)
    files = files_of(report.watermark) or ()
    try:
        clean_up_files(contract, lakehouse, files, report.watermark.get("root", ""), log.warning)
    except EngineError:  # nobody waits for it any more, and the rows are safe
        log.warning("%s is published, and its files could not be cleaned up", report.table, exc_info=True)


def report_from(data: dict[str, Any]) -> RunReport:
    """A report from its JSON form."""
    known = {field.name for field in fields(RunReport)}
    values = {key: value for key, value in data.items() if key in known}
    values["started_at"] = datetime.fromisoformat(values["started_at"])
    values["ended_at"] = datetime.fromisoformat(values["ended_at"])
    values["counts"] = Counts(**values.get("counts", {}))
    values["row_rules"] = tuple(RowRuleOutcome(**each) for each in values.get("row_rules", ()))
    values["dataset_rules"] = tuple(DatasetRuleOutcome(**each) for each in values.get("dataset_rules", ()))
    found = values.get("schema", {})
    values["schema"] = SchemaFindings(
        missing=tuple(found.get("missing", ())),
        unknown=tuple(found.get("unknown", ())),
        cast=dict(found.get("cast", {})),
        added_to_target=tuple(found.get("added_to_target", ())),
        types=dict(found.get("types", {})),
    )
    values["warnings"], values["reasons"] = tuple(values.get("warnings", ())), tuple(values.get("reasons", ()))
    values["sample"] = tuple(values.get("sample", ()))
    return RunReport(**values)
