"""One run of one contract, from lock to log."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import (
    EmptySourceError,
    EngineError,
    JvmDiedError,
    LakeLogicError,
    SourceError,
    TimedOutError,
)
from lakelogic_assets.gates.verdict import Verdict
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RunReport, Status
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.admission import refusal
from lakelogic_assets.spark.boundaries import Decision, decide, read_window
from lakelogic_assets.spark.cleanup import clean_up
from lakelogic_assets.spark.deadlines import Deadline
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.environments import in_environment
from lakelogic_assets.spark.evaluation import Evaluation, evaluate_source
from lakelogic_assets.spark.external_logic import code_hash
from lakelogic_assets.spark.failures import LostConnection, SparkFailure, one_line
from lakelogic_assets.spark.finishing import arrange, proof, refuse_changes, sample_rows
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.judging import judge_run, status_of
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.parquet_table import refuse_unfit
from lakelogic_assets.spark.publishing import Attempt, Prepared, commit_metadata, prepare
from lakelogic_assets.spark.quarantine import bad_rows, write_quarantine
from lakelogic_assets.spark.recovery import recover
from lakelogic_assets.spark.reporting import (
    Identity,
    blank_report,
    newest_of,
    row_outcomes,
    schema_findings,
    watermark_state,
)
from lakelogic_assets.spark.request import RunRequest, Spark, started
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.session import jvm_pid, session_alive
from lakelogic_assets.spark.sources import SourceRead, read_link, read_source
from lakelogic_assets.spark.sources.given import read_given
from lakelogic_assets.spark.tables import Lakehouse

log = logging.getLogger(__name__)

# A side of a join that cannot matter is not run at all by default, and rows that are not run are not counted.
_COUNTED_TO_THE_END = {
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation",
}


@dataclass(frozen=True)
class _Run:
    """A run's surroundings, and the clock of its steps."""

    scope: Scope
    request: RunRequest
    destination: Destination
    warnings: list[str]
    deadline: Deadline = field(default_factory=Deadline)
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
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
class _Batch:
    """One evaluation of one window: what it reads, and the name under which it commits."""

    read: SourceRead
    decision: Decision
    attempt: Attempt


def new_scope(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest, warnings: list[str]
) -> Scope:
    """A session of the run's own: its views and settings are seen by nobody else."""
    identity = _identity(contract, request)
    session = spark.newSession()
    for key, value in _COUNTED_TO_THE_END.items():
        session.conf.set(key, value)
    scope = Scope(
        spark=session,
        contract=identity.contract,
        lakehouse=lakehouse,
        run_id=identity.run_id,
        pipeline_run_id=identity.pipeline_run_id,
        started_at=identity.started_at,
        warn=warnings.append,
        references=request.references.of(identity.pipeline_run_id, spark) if request.references else None,
    )
    links = {link.name: read_link(scope, link) for link in scope.contract.links}
    for name, frame in links.items():
        frame.createOrReplaceTempView(name)
    return replace(scope, links=links)


def _identity(contract: Contract, request: RunRequest) -> Identity:
    contract = in_environment(contract, request.environment or contract.place.environment)
    run_id = str(uuid.uuid4())
    return Identity(contract, run_id, request.pipeline_run_id or run_id, datetime.now(UTC))


def execute(
    contract: Contract, spark: Spark, lakehouse: Lakehouse, destination: Destination, request: RunRequest
) -> RunReport:
    """Read, judge, write and log; a run that fails is logged and raised as one sentence."""
    warnings: list[str] = []
    turned_away = _turned_away(contract, destination, request, warnings)
    if turned_away is not None:
        return turned_away
    session = started(spark)
    try:
        report = _executed(contract, session, lakehouse, destination, request, warnings)
    except LostConnection as error:
        if session_alive(session):
            raise
        died = JvmDiedError(f"{contract.table}: Spark's JVM has died.")
        _recorded(contract, destination, request, "failed", error=str(died))
        raise died from error
    except LakeLogicError as error:
        # Nobody else logs what kept it from beginning, and a window that nobody logged would be passed over.
        _recorded(contract, destination, request, "failed", error=str(error))
        raise
    if report.status == "failed":
        raise (TimedOutError if report.timed_out else EngineError)(f"{contract.table}: {report.error}")
    return report


def _turned_away(
    contract: Contract, destination: Destination, request: RunRequest, warnings: list[str]
) -> RunReport | None:
    """Nothing is read while what it would be read from is held back, and what reads from this one waits in turn."""
    refused = refusal(contract, destination, request, warnings.append) if request.skipped is None else None
    if refused is None and request.skipped is None:
        return None
    if refused is None:
        warnings.append(f"Not run: {request.skipped}.")
        reasons = (request.skipped or "",)
        return _recorded(contract, destination, request, "skipped", reasons=reasons, warnings=tuple(warnings))
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
    report = _recorded(contract, destination, request, "held", reasons=reasons, warnings=warnings)
    at = report.started_at.isoformat()
    Holds(destination.holds).note(Hold(contract.key, request.window, noted or reasons, report.run_id, at))
    return report


def _recorded(
    contract: Contract, destination: Destination, request: RunRequest, status: Status, **said: Any
) -> RunReport:
    """A row of the run log for a run that did not come to read anything."""
    blank = blank_report(_identity(contract, request), destination, request.window)
    report = replace(blank, status=status, request=dict(request.asked), **said)
    append_run(destination.run_log, destination.run_files, report, request.environment)
    return report


def _executed(
    contract: Contract,
    spark: SparkSession,
    lakehouse: Lakehouse,
    destination: Destination,
    request: RunRequest,
    warnings: list[str],
) -> RunReport:
    deadline = Deadline(request.timeout_seconds)
    try:
        scope = new_scope(contract, spark, lakehouse, request, warnings)
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error
    run = _Run(scope, request, destination, warnings, deadline)
    refuse_unfit(contract)
    warnings += _unsupported(contract)
    with table_lock(destination.target, jvm_pid(spark)):
        recover(destination, request.environment)
        with deadline.guarding(scope.spark, f"lakelogic-{scope.run_id}"):
            report, app = _attempt(run)
        append_run(destination.run_log, destination.run_files, report, request.environment)
        if app is not None:
            run.intents.forget(app)
    return replace(report, timed_out=report.status == "failed" and deadline.is_over)


def _unsupported(contract: Contract) -> Iterator[str]:
    if contract.materialization.secondary_targets:
        yield "`secondary_targets` are not written; let a contract of its own read this table for each."
    written = contract.materialization.format
    if written not in (None, "delta", "native", "parquet"):
        yield f"`materialization.format: {written}` is not supported yet; the table is written as Delta."


def _attempt(run: _Run) -> tuple[RunReport, str | None]:
    """The report, and the name of the intent that is open until the report is logged."""
    blank = blank_report(run.scope, run.destination, run.request.window)
    blank = replace(blank, request=dict(run.request.asked))
    try:
        batch = _next_batch(run)
        if batch is None:
            # What was held because of an upstream need not wait when that one has nothing for it after all.
            run.holds.release(run.scope.contract.key, run.request.window, exactly=run.request.window.is_full)
            return run.ended(replace(blank, status="no_new_data")), None
        return _evaluated(run, batch, blank), batch.attempt.app
    except SparkFailure as error:
        log.debug("Spark failed in %s", run.scope.contract.table, exc_info=True)
        why = f"The run took longer than the {run.deadline.seconds:g} seconds it may." if run.deadline.is_over else None
        return run.ended(replace(blank, status="failed", error=why or one_line(error))), None
    except LakeLogicError as error:
        return run.ended(replace(blank, status="failed", error=str(error))), None


def _next_batch(run: _Run) -> _Batch | None:
    """What there is to read; None when nothing is new."""
    scope, request = run.scope, run.request
    with run.step("read"):
        decision = Decision() if request.frame is not None else decide(scope, run.destination, request.window)
        if decision.nothing_new:
            return None
        read = _read(run, decision)
    if request.frame is None and read.snapshot.is_empty and not _may_be_empty(scope.contract):
        return None
    name = _window_name(run, read)
    app = f"{'/'.join(scope.contract.key)}|{name}"
    paths = (run.destination.target, run.destination.quarantine)
    done = [parquet_table.generation(paths[0], app), *(delta_log.transaction_version(path, app) for path in paths)]
    generation = 1 + max(found or 0 for found in done)
    _refuse_repetition(run, is_there=done[0] is not None or delta_log.stands(run.destination.target, app))
    return _Batch(read, decision, Attempt(request.window, name, app, generation, reprocess=request.reprocess))


def _refuse_repetition(run: _Run, *, is_there: bool) -> None:
    contract, window = run.scope.contract, run.request.window
    if is_there and not window.is_full and contract.materialization.reprocess_policy == "fail":
        raise EngineError(f"The window {window.key} is in {contract.table} already and `reprocess_policy` is `fail`.")


def _read(run: _Run, decision: Decision) -> SourceRead:
    contract = run.scope.contract
    if run.request.frame is not None:
        return read_given(run.scope, run.request.frame)
    if contract.source is None:
        raise EngineError(f"{contract.table} declares no `source`; give it rows with run(frame=...).")
    read = read_source(run.scope, decision.boundary)
    if read.snapshot.is_empty and contract.source.empty_behavior == "fail":
        raise EmptySourceError(f"{contract.table} found nothing to read at {contract.source.path}.")
    return read


def _may_be_empty(contract: Contract) -> bool:
    """External logic makes rows of its own; an empty frame is enough to start it."""
    return contract.external_logic is not None and (contract.source is None or contract.source.empty_behavior is None)


def _window_name(run: _Run, read: SourceRead) -> str:
    """The window's name in every trace the run leaves; a batch without a window is named after what was read."""
    request, contract = run.request, run.scope.contract
    appends = contract.materialization.strategy == "append"
    if not request.window.is_full:
        return request.window.key
    if request.frame is not None:
        return f"frame:{run.scope.run_id}" if appends else FULL.key
    incremental = contract.source is not None and contract.source.load_mode != "full"
    return f"batch:{read.snapshot.identity}" if incremental or appends else FULL.key


def _evaluated(run: _Run, batch: _Batch, blank: RunReport) -> RunReport:
    scope, destination = run.scope, run.destination
    with run.step("evaluate"):
        logic = run.request.external_logic
        evaluation = evaluate_source(batch.read, scope, logic, watermark=batch.decision.watermark)
        prepared = prepare(evaluation, scope, batch.read, destination.target, batch.attempt)
    with run.step("judge"):
        outcomes = prepared.judged()
        source, good, bad = prepared.counts
        if bad < 0:
            raise SourceError(f"{batch.read.name} has other rows than it had when it was listed; run again.")
        counts = Counts(source, good, bad, source - good - bad)
        judged = judge_run(scope, run.request, destination, schema_findings(evaluation), counts, outcomes)
    draft = replace(
        _draft(run, blank, batch, evaluation, counts, outcomes, judged),
        newest=newest_of(evaluation, counts, scope),
        external_code=code_hash(scope, run.request.external_logic, scope.lakehouse.base),
    )
    return _published(run, batch, evaluation, prepared, draft)


def _draft(
    run: _Run,
    blank: RunReport,
    batch: _Batch,
    evaluation: Evaluation,
    counts: Counts,
    outcomes: tuple[DatasetRuleOutcome, ...],
    judged: Verdict,
) -> RunReport:
    version = batch.read.snapshot.version
    return replace(
        blank,
        status=status_of(run.scope, run.request, batch.attempt, counts, judged),
        counts=counts,
        dataset_rules=outcomes,
        schema=schema_findings(evaluation),
        source=batch.read.name,
        versions_read={batch.read.name: version} if version is not None else {},
        watermark=watermark_state(batch.read, evaluation),
        reasons=judged.reasons,
        asks=judged.asks.as_dict() if judged.asks else None,
        approval=judged.approval.as_dict() if judged.approval else None,
        generation=batch.attempt.generation,
    )


def _published(run: _Run, batch: _Batch, evaluation: Evaluation, prepared: Prepared, draft: RunReport) -> RunReport:
    """Intent, quarantine, target, in this order: bad rows are never lost while good ones are visible."""
    scope, destination, attempt = run.scope, run.destination, batch.attempt
    run.intents.note(Intent(attempt.app, attempt.generation, destination.target, draft.as_dict()))
    if draft.status in ("blocked", "waiting"):
        key, at = scope.contract.key, scope.started_at.isoformat()
        run.holds.note(Hold(key, attempt.window, draft.reasons, scope.run_id, at, draft.asks))
    said = proof(scope, attempt, draft)
    versions: dict[str, int] = {}
    rows = bad_rows(evaluation.bad_stages(draft.counts.quarantined), scope, batch.read, attempt.name)
    if scope.contract.quarantine.enabled:
        with run.step("quarantine"):
            version = write_quarantine(
                rows, destination.quarantine, scope, read_window(scope.contract, attempt.window), attempt.name,
                attempt.app, attempt.generation, commit_metadata(said),
            )  # fmt: skip
        versions |= {"quarantine": version} if version is not None else {}
        refuse_changes(batch.read, rows.count() if rows else 0, draft.counts)
    sample: tuple[dict[str, Any], ...] = ()
    if draft.status == "success":
        with run.step("publish"):
            versions["target"] = prepared.commit(commit_metadata({**said, "quarantine": versions.get("quarantine")}))
            # Without a window, an incremental run has read what is new, not the days that were held before.
            only_news = scope.contract.source is not None and scope.contract.source.load_mode != "full"
            run.holds.release(scope.contract.key, attempt.window, exactly=attempt.window.is_full and only_news)
            clean_up(scope.contract, batch.read, scope)
            arrange(scope, destination)
            sample = sample_rows(scope.contract, prepared)
    else:
        prepared.discard()
        if draft.status == "unchanged":
            run.holds.release(scope.contract.key, attempt.window)
    failures = rows.failures() if rows and scope.contract.quarantine.enabled else {}
    rules = row_outcomes(scope.contract, evaluation, failures)
    return run.ended(replace(draft, row_rules=rules, versions_written=versions, sample=sample))
