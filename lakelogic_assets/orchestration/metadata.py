"""What a run's report says about an asset in Dagster's UI: numbers become plots, reasons become a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from lakelogic_assets import names
from lakelogic_assets.contract.column_lineage import resolved_column_lineage
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.orchestration.naming import asset_key
from lakelogic_assets.orchestration.resources import row_count
from lakelogic_assets.report.run import RunReport

_ROWS_SHOWN = 50


def run_metadata(report: RunReport, *, partitioned: bool) -> dict[str, Any]:
    """The figures of one window. Keys that Dagster knows come first, ours have plain names so that people find them."""
    counts = report.counts
    metadata: dict[str, Any] = {
        "rows_read": counts.source,
        "rows_good": counts.good,
        "rows_quarantined": counts.quarantined,
        "rows_dropped": counts.dropped,
        "quarantine_ratio": round(counts.quarantine_ratio, 6),
        "seconds": round(report.seconds, 3),
        "status": report.status,
        "window": report.window["key"] or "full",
        "engine_run_id": report.run_id,
        "contract_fingerprint": (report.fingerprint or "")[:16],
        "timings": dict(report.timings),
        **_places(report),
        **_told(report),
    }
    if partitioned:
        metadata["dagster/partition_row_count"] = counts.good
    total = row_count(report.target) if report.target else None
    if total is not None:
        metadata["dagster/row_count"] = total
    if by_rule := _by_rule(report):
        metadata["quarantine_by_rule"] = dg.MetadataValue.table(by_rule, _RULE_SCHEMA)
    if report.sample:
        metadata["sample"] = dg.MetadataValue.table([_record(row) for row in report.sample])
    return metadata


def column_lineage(contract: Contract, registry: Registry) -> dict[str, Any]:
    """Which upstream columns each column is made of, where the contract's own steps say so."""
    found = resolved_column_lineage(contract, registry)
    deps = {
        name: [dg.TableColumnDep(asset_key(key), column) for key, column in sources]
        for name, sources in found.items()
        if sources
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(deps)} if deps else {}


def _places(report: RunReport) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if report.target:
        found["dagster/uri"] = report.target
    if "target" in report.versions_written:
        found["delta_version"] = report.versions_written["target"]
    if report.quarantine and report.counts.quarantined:
        found["quarantine_table"] = dg.MetadataValue.path(report.quarantine)
        found["quarantine_command"] = f"lakelogic quarantine {report.contract} --rows 5"
    if "quarantine" in report.versions_written:
        found["quarantine_version"] = report.versions_written["quarantine"]
    if report.versions_read:
        found["versions_read"] = dict(report.versions_read)
    return found


def _told(report: RunReport) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if report.warnings:
        found["warnings"] = dg.MetadataValue.md("\n".join(f"- {warning}" for warning in report.warnings))
    if report.reasons:
        found["held_back_because"] = dg.MetadataValue.md("\n".join(f"- {reason}" for reason in report.reasons))
    if report.newest:
        found["newest_row"] = report.newest
    return found


_RULE_SCHEMA = dg.TableSchema(
    [
        dg.TableColumn("rule", "string"),
        dg.TableColumn("rows", "int"),
        dg.TableColumn("share", "string"),
        dg.TableColumn("category", "string"),
        dg.TableColumn("phase", "string"),
    ]
)


def _by_rule(report: RunReport) -> list[dg.TableRecord]:
    """The rules that held rows back, the worst first."""
    total = report.counts.total or 1
    holding = [rule for rule in report.row_rules if rule.failed and rule.severity == "error"]
    worst = sorted(holding, key=lambda rule: -rule.failed)
    return [
        dg.TableRecord(
            {
                "rule": rule.name,
                "rows": rule.failed,
                "share": f"{rule.failed / total:.2%}",
                "category": rule.category,
                "phase": rule.phase,
            }
        )
        for rule in worst[:_ROWS_SHOWN]
    ]


def _record(row: Mapping[str, Any]) -> dg.TableRecord:
    shown = {name: value for name, value in row.items() if not name.startswith(names.ENGINE_PREFIX)}
    plain = {name: each if isinstance(each, str | int | float | bool) else str(each) for name, each in shown.items()}
    return dg.TableRecord(plain)
