"""Runs that do not come to read anything: refused at the door, held back, or failed before they began."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark.admission import refusal
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.environments import in_environment
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.reporting import Identity, blank_report
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import append_run


def identity_of(contract: Contract, request: RunRequest) -> Identity:
    contract = in_environment(contract, request.environment or contract.place.environment)
    run_id = str(uuid.uuid4())
    return Identity(contract, run_id, request.pipeline_run_id or run_id, datetime.now(UTC))


def turned_away(
    contract: Contract, destination: Destination, request: RunRequest, warnings: list[str]
) -> RunReport | None:
    """Nothing is read while what it would be read from is held back, and what reads from this one waits in turn."""
    refused = refusal(contract, destination, request, warnings.append) if request.skipped is None else None
    if refused is None and request.skipped is None:
        return None
    if refused is None:
        warnings.append(f"Not run: {request.skipped}.")
        reasons = (request.skipped or "",)
        return record(contract, destination, request, "skipped", reasons=reasons, warnings=tuple(warnings))
    return hold_back(contract, destination, request, refused.reasons, refused.noted, tuple(warnings))


def hold_back(
    contract: Contract,
    destination: Destination,
    request: RunRequest,
    reasons: tuple[str, ...],
    noted: tuple[str, ...] | None = None,
    warnings: tuple[str, ...] = (),
) -> RunReport:
    """Log that a window is held, and note it, so that whatever reads from it waits in every run."""
    report = record(contract, destination, request, "held", reasons=reasons, warnings=warnings)
    at = report.started_at.isoformat()
    call = report.pipeline_run_id
    hold = Hold(contract.key, request.window, noted or reasons, report.run_id, at, pipeline_run_id=call)
    Holds(destination.holds).note(hold)
    return report


def record(contract: Contract, destination: Destination, request: RunRequest, status: Status, **said: Any) -> RunReport:
    """A row of the run log for a run that did not come to read anything."""
    blank = blank_report(identity_of(contract, request), destination, request.window)
    report = replace(blank, status=status, request=dict(request.asked), **said)
    append_run(destination.run_log, destination.run_files, report, request.environment)
    return report
