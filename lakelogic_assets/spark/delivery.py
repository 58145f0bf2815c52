"""The second half of a run: its intent, its quarantine, its commit, and what follows the commit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.boundaries import Decision, read_window
from lakelogic_assets.spark.cleanup import clean_up
from lakelogic_assets.spark.deadlines import Deadline
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.failures import SparkFailure, is_conflict
from lakelogic_assets.spark.finishing import arrange, proof, refuse_changes, sample_rows
from lakelogic_assets.spark.former_runs import BATCH
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.publishing import Attempt, Prepared, commit_metadata
from lakelogic_assets.spark.quarantine import BadRows, Judged, bad_rows, write_quarantine
from lakelogic_assets.spark.reporting import row_outcomes
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import unpublished
from lakelogic_assets.spark.schema import types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.sources.snapshot import files_of
from lakelogic_assets.spark.windows import cut_column, is_cut_by_place


@dataclass(frozen=True)
class Run:
    """A run's surroundings, and the clock of its steps."""

    scope: Scope
    request: RunRequest
    destination: Destination
    warnings: list[str]
    deadline: Deadline = field(default_factory=Deadline)
    timings: dict[str, float] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    """Batches that this run has evaluated in vain."""

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.deadline.check()
        begun = time.monotonic()
        try:
            yield
        finally:
            self.timings[name] = round(time.monotonic() - begun, 3)

    @property
    def intents(self) -> Intents:
        return Intents(self.destination.intents, self.destination.target)

    @property
    def holds(self) -> Holds:
        return Holds(self.destination.holds)

    def ended(self, report: RunReport) -> RunReport:
        return replace(report, ended_at=datetime.now(UTC), timings=dict(self.timings), warnings=tuple(self.warnings))


@dataclass(frozen=True)
class Batch:
    """One evaluation of one window: what it reads, and the name under which it commits."""

    read: SourceRead
    decision: Decision
    attempt: Attempt


def deliver(run: Run, batch: Batch, evaluation: Evaluation, prepared: Prepared, draft: RunReport) -> RunReport:
    """Intent, quarantine, target, in this order: bad rows are never lost while good ones are visible."""
    scope, destination, attempt = run.scope, run.destination, batch.attempt
    rows = bad_rows(evaluation.bad_stages(draft.counts.quarantined), scope, batch.read, attempt.name)
    before = delta_log.version(destination.target)
    try:
        versions = _set_aside(run, batch, rows, draft)
        if draft.status == "success":
            with run.step("publish"):
                said = {**proof(scope, attempt, draft), "quarantine": versions.get("quarantine")}
                versions["target"] = prepared.commit(commit_metadata(said))
        else:
            prepared.discard()
    except (LakeLogicError, *SparkFailure) as error:
        # Of anything else it is not known whether the commit came through.
        if isinstance(error, LakeLogicError) or is_conflict(error):
            prepared.discard()
        raise
    if versions.get("target", -1) == before:
        draft = replace(draft, status="unchanged")
    draft = replace(draft, versions_written=versions, table_id=delta_log.table_id(destination.target))
    sample: tuple[dict[str, Any], ...] = ()
    if "target" in versions:
        with run.step("finish"):
            sample = _finished(run, batch, prepared, draft)
    elif draft.status == "unchanged":
        run.holds.release(scope.contract.key, attempt.window)
    failures = rows.failures() if rows and scope.contract.quarantine.enabled else {}
    return run.ended(replace(draft, row_rules=row_outcomes(scope.contract, evaluation, failures), sample=sample))


def _set_aside(run: Run, batch: Batch, rows: BadRows | None, draft: RunReport) -> dict[str, int]:
    """Note what is about to happen, and put the bad rows into quarantine; its version."""
    scope, attempt = run.scope, batch.attempt
    run.intents.note(Intent(attempt.app, attempt.generation, run.destination.target, draft.as_dict()))
    if draft.status in ("blocked", "waiting"):
        key, at = scope.contract.key, scope.started_at.isoformat()
        run.holds.note(Hold(key, attempt.window, draft.reasons, scope.run_id, at, draft.asks))
    if not scope.contract.quarantine.enabled:
        refuse_changes(batch.read, draft.counts.quarantined, draft.counts)
        return {}
    with run.step("quarantine"):
        version = write_quarantine(
            rows, run.destination.quarantine, scope, _judged(scope, batch), _stands_for(run, batch), attempt.app,
            attempt.generation,
            commit_metadata(proof(scope, attempt, draft)),
        )  # fmt: skip
    refuse_changes(batch.read, rows.count() if rows else 0, draft.counts)
    return {} if version is None else {"quarantine": version}


def _judged(scope: Scope, batch: Batch) -> Judged:
    """The part of the source that was judged: with `lookback` more than the window itself."""
    window = read_window(scope.contract, batch.attempt.window)
    return Judged(window, cut_column(scope.contract, window, types_of(batch.read.frame)), batch.decision.since)


def _stands_for(run: Run, batch: Batch) -> tuple[str, ...]:
    """The names of runs whose bad rows are among those of this one, its own first."""
    attempt, contract = batch.attempt, run.scope.contract
    reads_again = contract.source is not None and contract.source.lookback and batch.read.snapshot.files
    by_name = reads_again or (is_cut_by_place(contract) and not attempt.window.is_full)
    within = attempt.former.within if attempt.former and by_name else ()
    return (attempt.name, *within, *_in_vain(run, batch))


def _in_vain(run: Run, batch: Batch) -> list[str]:
    """Batches that are not in the table, or were in a former one: their rows are among those of this one."""
    attempt = batch.attempt
    if not attempt.name.startswith(BATCH):
        return []
    name, target = "/".join(run.scope.contract.key), run.destination.target
    present, plain = delta_log.table_id(target), parquet_table.is_table(target)

    def stands(report: dict[str, Any]) -> bool:
        return plain or (present is not None and report.get("table_id") in (None, present))

    def is_read(report: dict[str, Any]) -> bool:
        former = files_of(report.get("watermark") or {})
        return former is not None and read >= {file.path for file in former}

    read = {file.path for file in batch.read.snapshot.files}
    logged = [f"{BATCH}{identity}" for identity in unpublished(run.destination.run_log, name, stands, is_read)]
    return [each for each in dict.fromkeys([*run.lost, *logged]) if each != attempt.name]


def _finished(run: Run, batch: Batch, prepared: Prepared, draft: RunReport) -> tuple[dict[str, Any], ...]:
    """What follows the commit; some of the rows, where the contract wants to show them."""
    contract, window = run.scope.contract, batch.attempt.window
    # Without a window, an incremental run has read what is new, not the days that were held before.
    only_news = contract.source is not None and contract.source.load_mode != "full"
    run.holds.release(contract.key, window, exactly=window.is_full and only_news)
    clean_up(contract, batch.read, run.scope)
    if draft.status == "success":
        arrange(run.scope, run.destination)
    return sample_rows(contract, prepared)
