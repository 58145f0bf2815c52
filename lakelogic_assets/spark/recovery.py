"""Runs that died are finished or forgotten by the next run of their table."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport, SchemaFindings
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.holds import Holds
from lakelogic_assets.spark.intents import Intents
from lakelogic_assets.spark.run_log import append_run


def recover(destination: Destination, environment: str | None) -> None:
    """Log the runs whose target was committed, mark the others as abandoned; the caller holds the table's lock."""
    intents = Intents(destination.intents, destination.target)
    for intent in intents.open():
        done = delta_log.transaction_version(destination.target, intent.app)
        done = parquet_table.generation(destination.target, intent.app) if done is None else done
        committed = (done or 0) >= intent.generation
        draft = dict(intent.report)
        if not committed:
            draft |= {
                "status": "failed",
                "error": "The run ended before it was published; its window is evaluated again.",
            }
        report = report_from(draft)
        append_run(destination.run_log, destination.run_files, report, environment)
        if committed:
            window = Window.from_dict(report.window)
            # Whether a run without a window read everything or only news is not known any more.
            Holds(destination.holds).release(tuple(report.contract.split("/")), window, exactly=window.is_full)
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
    values["sample"] = tuple(values.get("sample", ()))
    return RunReport(**values)
