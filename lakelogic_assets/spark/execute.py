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

from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.errors import EmptySourceError, EngineError, LakeLogicError
from lakelogic_assets.gates.verdict import Verdict, verdict
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RunReport
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.boundaries import Decision, decide
from lakelogic_assets.spark.cleanup import clean_up
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.evaluation import Evaluation, evaluate_source
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.publishing import Prepared, commit_metadata, prepare
from lakelogic_assets.spark.quarantine import bad_rows, write_quarantine
from lakelogic_assets.spark.recovery import recover
from lakelogic_assets.spark.reporting import blank_report, row_outcomes, schema_findings, watermark_state
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.scope import Scope
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
class RunRequest:
    """What is asked of a run, beyond what the contract says."""

    window: Window = FULL
    frame: DataFrame | None = None
    pipeline_run_id: str | None = None
    external_logic: ExternalLogicPolicy = field(default_factory=ExternalLogicPolicy)
    environment: str | None = None


@dataclass(frozen=True)
class _Run:
    """A run's surroundings, and the clock of its steps."""

    scope: Scope
    request: RunRequest
    destination: Destination
    warnings: list[str]
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.timings[name] = round(time.monotonic() - begun, 3)

    @property
    def intents(self) -> Intents:
        return Intents(self.destination.intents, self.destination.target)

    def ended(self, report: RunReport) -> RunReport:
        return replace(report, ended_at=datetime.now(UTC), timings=dict(self.timings), warnings=tuple(self.warnings))


@dataclass(frozen=True)
class _Batch:
    """One evaluation of one window: what it reads, and the name under which it commits."""

    read: SourceRead
    decision: Decision
    window: str
    app: str
    generation: int


def new_scope(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest, warnings: list[str]
) -> Scope:
    """A session of the run's own: its views and settings are seen by nobody else."""
    run_id = str(uuid.uuid4())
    session = spark.newSession()
    for key, value in _COUNTED_TO_THE_END.items():
        session.conf.set(key, value)
    scope = Scope(
        spark=session,
        contract=contract,
        lakehouse=lakehouse,
        run_id=run_id,
        pipeline_run_id=request.pipeline_run_id or run_id,
        started_at=datetime.now(UTC),
        warn=warnings.append,
    )
    links = {link.name: read_link(scope, link) for link in contract.links}
    for name, frame in links.items():
        frame.createOrReplaceTempView(name)
    return replace(scope, links=links)


def execute(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, destination: Destination, request: RunRequest
) -> RunReport:
    """Read, judge, write and log; a run that fails is logged and raised as one sentence."""
    warnings: list[str] = []
    try:
        run = _Run(new_scope(contract, spark, lakehouse, request, warnings), request, destination, warnings)
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error
    written = contract.materialization.format
    if written not in (None, "delta", "native"):
        warnings.append(f"`materialization.format: {written}` is not supported yet; the table is written as Delta.")
    with table_lock(destination.target, _jvm_pid(spark)):
        recover(destination, request.environment)
        report, app = _attempt(run)
        append_run(destination.run_log, destination.run_files, report, request.environment)
        if app is not None:
            run.intents.forget(app)
    if report.status == "failed":
        raise EngineError(f"{contract.table}: {report.error}")
    return report


def _attempt(run: _Run) -> tuple[RunReport, str | None]:
    """The report, and the name of the intent that is open until the report is logged."""
    blank = blank_report(run.scope, run.destination, run.request.window)
    try:
        batch = _next_batch(run)
        if batch is None:
            return run.ended(replace(blank, status="no_new_data")), None
        return _evaluated(run, batch, blank), batch.app
    except SparkFailure as error:
        log.debug("Spark failed in %s", run.scope.contract.table, exc_info=True)
        return run.ended(replace(blank, status="failed", error=one_line(error))), None
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
    window = _window_key(run, read)
    app = f"{'/'.join(scope.contract.key)}|{window}"
    paths = (run.destination.target, run.destination.quarantine)
    generation = 1 + max(delta_log.transaction_version(path, app) or 0 for path in paths)
    return _Batch(read, decision, window, app, generation)


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


def _window_key(run: _Run, read: SourceRead) -> str:
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
        prepared = prepare(
            evaluation, scope, batch.read, destination.target, run.request.window, batch.app, batch.generation
        )
    with run.step("judge"):
        outcomes = prepared.judged()
        source, good, bad = evaluation.counts()
        counts = Counts(source, good, bad, source - good - bad)
        judged = verdict(scope.contract, counts, outcomes)
    draft = _draft(blank, batch, evaluation, counts, outcomes, judged)
    return _published(run, batch, evaluation, prepared, draft)


def _draft(
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
        status="success" if judged.publishes else "blocked",
        counts=counts,
        dataset_rules=outcomes,
        schema=schema_findings(evaluation),
        source=batch.read.name,
        versions_read={batch.read.name: version} if version is not None else {},
        watermark=watermark_state(batch.read, evaluation),
        reasons=judged.reasons,
        generation=batch.generation,
    )


def _published(run: _Run, batch: _Batch, evaluation: Evaluation, prepared: Prepared, draft: RunReport) -> RunReport:
    """Intent, quarantine, target, in this order: bad rows are never lost while good ones are visible."""
    scope, destination = run.scope, run.destination
    run.intents.note(Intent(batch.app, batch.generation, destination.target, draft.as_dict()))
    proof: dict[str, Any] = {
        "run_id": scope.run_id,
        "contract": draft.contract,
        "window": batch.window,
        "app": batch.app,
        "generation": batch.generation,
        "fingerprint": draft.fingerprint,
        "strategy": scope.contract.materialization.strategy,
        "counts": draft.as_dict()["counts"],
        "status": draft.status,
    }
    versions: dict[str, int] = {}
    rows = bad_rows(evaluation.stages, scope, batch.read, batch.window)
    if scope.contract.quarantine.enabled:
        with run.step("quarantine"):
            version = write_quarantine(
                rows, destination.quarantine, scope, batch.window, batch.app, batch.generation, commit_metadata(proof)
            )
        versions |= {"quarantine": version} if version is not None else {}
    if draft.status == "success":
        with run.step("publish"):
            versions["target"] = prepared.commit(commit_metadata({**proof, "quarantine": versions.get("quarantine")}))
            clean_up(scope.contract, batch.read, scope)
            _show(run)
    else:
        prepared.discard()
    failures = rows.failures() if rows and scope.contract.quarantine.enabled else {}
    rules = row_outcomes(scope.contract, evaluation, failures)
    return run.ended(replace(draft, row_rules=rules, versions_written=versions))


def _show(run: _Run) -> None:
    """Let ad-hoc SQL of this process see the table; the run is done, so that it fails at this is only a warning."""
    if run.destination.reference:
        try:
            run.scope.lakehouse.show_to_sql(run.scope.spark, run.destination.reference)
        except SparkFailure as error:
            run.scope.warn(f"The table is not visible to ad-hoc SQL: {one_line(error)}")


def _jvm_pid(spark: SparkSession) -> int | None:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid()) if jvm is not None else None
