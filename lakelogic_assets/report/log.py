"""A run as one row of `_pipeline_run_log`: the 31 columns that public dashboards read."""

from __future__ import annotations

import json
from typing import Any

from lakelogic_assets.report.run import RunReport

TEXT, NUMBER, COUNT, TIME = "text", "number", "count", "time"

COLUMNS: dict[str, str] = {
    "pipeline_run_id": TEXT,
    "run_id": TEXT,
    "timestamp": TIME,
    "start_time": TIME,
    "end_time": TIME,
    "run_duration_seconds": NUMBER,
    "engine": TEXT,
    "contract": TEXT,
    "contract_version": TEXT,
    "stage": TEXT,
    "dataset": TEXT,
    "domain": TEXT,
    "system": TEXT,
    "environment": TEXT,
    "data_layer": TEXT,
    "status": TEXT,
    "error_message": TEXT,
    "source_path": TEXT,
    "counts_source": COUNT,
    "counts_total": COUNT,
    "counts_good": COUNT,
    "counts_quarantined": COUNT,
    "quarantine_ratio": NUMBER,
    "estimated_cost": NUMBER,
    "cost_currency": TEXT,
    "cost_confidence": TEXT,
    "max_source_mtime": NUMBER,
    "max_watermark_value": TEXT,
    "dlt_state_json": TEXT,
    "slo_json": TEXT,
    "report_json": TEXT,
}


def log_row(report: RunReport, environment: str | None) -> dict[str, Any]:
    """The row for one run; what this engine does not know is left empty, never made up."""
    known: dict[str, Any] = {
        "pipeline_run_id": report.pipeline_run_id,
        "run_id": report.run_id,
        "timestamp": report.ended_at,
        "start_time": report.started_at,
        "end_time": report.ended_at,
        "run_duration_seconds": report.seconds,
        "engine": "spark",
        "contract": report.contract,
        "contract_version": report.contract_version,
        "stage": report.layer,
        "dataset": report.table,
        "domain": report.domain,
        "system": report.system,
        "environment": environment,
        "data_layer": report.layer,
        "status": report.status,
        "error_message": report.error or "; ".join(report.reasons) or None,
        "source_path": report.source,
        "counts_source": report.counts.source,
        "counts_total": report.counts.total,
        "counts_good": report.counts.good,
        "counts_quarantined": report.counts.quarantined,
        "quarantine_ratio": report.counts.quarantine_ratio,
        "max_source_mtime": report.watermark.get("max_mtime"),
        "max_watermark_value": report.watermark.get("value"),
        "report_json": json.dumps(report.as_dict(), default=str),
    }
    return {column: known.get(column) for column in COLUMNS}
