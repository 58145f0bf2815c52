"""Is what a run made to be published, blocked, signed by a person first, or better left as it was?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.gates.approvals import drift, to_be_signed
from lakelogic_assets.gates.verdict import Verdict, max_quarantine_ratio, signed_verdict, verdict
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, SchemaFindings, Status
from lakelogic_assets.spark.approvals import signature_of
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.publishing import Attempt
from lakelogic_assets.spark.recovery import report_from
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import standing_reports
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.snapshot import SourceSnapshot


def judge_run(
    scope: Scope,
    request: RunRequest,
    destination: Destination,
    snapshot: SourceSnapshot,
    found: SchemaFindings,
    counts: Counts,
    outcomes: Sequence[DatasetRuleOutcome],
) -> Verdict:
    """What becomes of the rows; where people sign, what they have signed counts.

    A window without days is signed for what was read in it, as the next one without days reads something else.
    """
    contract, approval = scope.contract, request.approval
    if not (approval.required or settings_of(contract).approval_required):
        return verdict(contract, counts, outcomes)
    changed = drift(found, _schema_before(scope, destination) or found)
    batch = snapshot.identity if request.window.is_full and snapshot.listed else None
    asks = to_be_signed(changed, counts, max_quarantine_ratio(contract), batch)
    if asks is None:
        return signed_verdict(contract, counts, outcomes, None, None)
    signature = signature_of(destination, contract.key, request.window, approval.file, asks)
    return signed_verdict(contract, counts, outcomes, asks, signature)


def _schema_before(scope: Scope, destination: Destination) -> SchemaFindings | None:
    """What was unusual about the source when it was last published; nothing has drifted before the first time."""
    name = "/".join(scope.contract.key)
    reports = standing_reports(destination.run_log, name, ("success",))
    last = next((report for report in reports if _has_read(report)), None)
    return report_from(last).schema if last else None


def _has_read(report: dict[str, Any]) -> bool:
    """Whether a run saw the source's columns; of an empty place it says nothing about them."""
    state = report.get("watermark") or {}
    seen = state.get("max_mtime") is not None or state.get("version") is not None
    return seen or bool(report["counts"]["source"])


def status_of(scope: Scope, request: RunRequest, attempt: Attempt, counts: Counts, judged: Verdict) -> Status:
    """A rebuilt window without a good row leaves what was there, where the contract plays safe."""
    safe = scope.contract.materialization.reprocess_policy == "overwrite_partition_safe"
    rebuilt = request.reprocess or attempt.generation > 1
    if judged.publishes and safe and rebuilt and not counts.good and not request.window.is_full:
        scope.warn("No good row came for the window, so what it held before stays (overwrite_partition_safe).")
        return "unchanged"
    return judged.status
