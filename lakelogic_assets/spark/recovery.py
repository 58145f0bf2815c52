"""Runs that died are finished or forgotten by the next run of their table."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport, SchemaFindings
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.intents import Intents
from lakelogic_assets.spark.run_log import append_run


def recover(destination: Destination, environment: str | None) -> None:
    """Log the runs whose target was committed, mark the others as abandoned; the caller holds the table's lock."""
    intents = Intents(destination.intents, destination.target)
    for intent in intents.open():
        committed = (delta_log.transaction_version(destination.target, intent.app) or 0) >= intent.generation
        draft = dict(intent.report)
        if not committed:
            draft |= {
                "status": "failed",
                "error": "The run ended before it was published; its window is evaluated again.",
            }
        append_run(destination.run_log, destination.run_files, report_from(draft), environment)
        intents.forget(intent.app)


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
    )
    values["warnings"], values["reasons"] = tuple(values.get("warnings", ())), tuple(values.get("reasons", ()))
    return RunReport(**values)
