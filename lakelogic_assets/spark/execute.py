"""One run of one contract, from lock to log."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Iterator
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.errors import (
    EmptySourceError,
    EngineError,
    JvmDiedError,
    LakeLogicError,
    RaceLostError,
    SourceChangedError,
    StorageError,
    TimedOutError,
)
from lakelogic_assets.gates.verdict import Verdict
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RunReport, SchemaFindings
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.boundaries import Decision, decide, read_window
from lakelogic_assets.spark.deadlines import Deadline
from lakelogic_assets.spark.delivery import Batch, Run, deliver, discarding
from lakelogic_assets.spark.destination import Destination, unsupported
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.empty_table import make_readable
from lakelogic_assets.spark.evaluation import Evaluation, evaluate_source
from lakelogic_assets.spark.external_logic import code_hash
from lakelogic_assets.spark.failures import (
    LostConnection,
    SparkFailure,
    StorageFailure,
    is_conflict,
    of_storage,
    one_line,
)
from lakelogic_assets.spark.former_runs import BATCH, FormerRuns
from lakelogic_assets.spark.intents import Intent
from lakelogic_assets.spark.judging import judge_run, status_of
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.parquet_table import refuse_unfit
from lakelogic_assets.spark.publishing import Attempt, prepare
from lakelogic_assets.spark.recovery import committed_by, recover
from lakelogic_assets.spark.reporting import (
    arrived_types,
    blank_report,
    newest_of,
    schema_findings,
    warn_of_growth,
    watermark_state,
)
from lakelogic_assets.spark.request import RunRequest, Spark, started
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.session import jvm_pid, session_alive
from lakelogic_assets.spark.sources import SourceRead, read_link, read_source
from lakelogic_assets.spark.sources.given import read_given
from lakelogic_assets.spark.tables import Lakehouse
from lakelogic_assets.spark.unread import identity_of, record, turned_away
from lakelogic_assets.spark.withdrawn import may_be_withdrawn, nothing_left, was_written

log = logging.getLogger(__name__)

_OF_EVERY_RUN = {
    # A side of a join that cannot matter is not run at all by default, and rows that are not run are not counted.
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation",
    # Java interprets methods of more bytes than this. Spark then makes many small ones, which are compiled: with 180
    # rules that is five times as fast.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}

_PAUSES_AFTER_A_CONFLICT = (0.5, 1.0, 2.0, 4.0)


@contextlib.contextmanager
def opened_scope(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest, warnings: list[str]
) -> Iterator[Scope]:
    """A scope whose session is given back at the end."""
    scope = new_scope(contract, spark, lakehouse, request, warnings)
    with driver_of(spark).released(scope.spark):
        yield scope


def new_scope(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest, warnings: list[str]
) -> Scope:
    """A session of the run's own: its views and settings are seen by nobody else."""
    session = driver_of(spark).new_session(spark)
    try:
        return _scope(contract, spark, session, lakehouse, request, warnings)
    except Exception:
        with driver_of(spark).released(session):
            raise


def _scope(
    contract: Contract,
    spark: SparkSession,
    session: SparkSession,
    lakehouse: Lakehouse,
    request: RunRequest,
    warnings: list[str],
) -> Scope:
    identity = identity_of(contract, request)
    for key, value in _OF_EVERY_RUN.items():
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


def execute(
    contract: Contract, spark: Spark, lakehouse: Lakehouse, destination: Destination, request: RunRequest
) -> RunReport:
    """Read, judge, write and log; a run that fails is logged and raised as one sentence."""
    warnings = [*request.warnings]
    refused = turned_away(contract, destination, request, warnings)
    if refused is not None:
        return refused
    session = started(spark)
    try:
        report = _executed(contract, session, lakehouse, destination, request, warnings)
    except LostConnection as error:
        if session_alive(session):
            raise
        died = JvmDiedError(f"{contract.table}: Spark's JVM has died.")
        record(contract, destination, request, "failed", error=str(died))
        raise died from error
    except LakeLogicError as error:
        # Nobody else logs what kept it from beginning, and a window that nobody logged would be passed over.
        record(contract, destination, request, "failed", error=str(error))
        raise
    except StorageFailure as error:
        failed = StorageError(f"{contract.table}: {of_storage(error)}; free or mend it and run again.")
        with contextlib.suppress(*StorageFailure):  # the log lies on the same disk, more often than not
            record(contract, destination, request, "failed", error=str(failed))
        raise failed from error
    if report.status == "failed":
        failure = (TimedOutError if report.timed_out else EngineError)(f"{contract.table}: {report.error}")
        failure.retryable = report.retryable
        raise failure
    return report


def _executed(
    contract: Contract,
    spark: SparkSession,
    lakehouse: Lakehouse,
    destination: Destination,
    request: RunRequest,
    warnings: list[str],
) -> RunReport:
    deadline = Deadline(request.timeout_seconds or settings_of(contract).timeout_seconds)
    refuse_unfit(contract)
    warnings += unsupported(contract)
    with contextlib.ExitStack() as stack:
        try:
            scope = stack.enter_context(opened_scope(contract, spark, lakehouse, request, warnings))
        except SparkFailure as error:
            raise EngineError(f"{contract.table}: {one_line(error)}") from error
        run = Run(scope, request, destination, warnings, deadline)
        stack.enter_context(table_lock(destination.target, jvm_pid(spark)))
        recover(scope.contract, lakehouse, destination, request.environment)
        with deadline.guarding(scope.spark, f"lakelogic-{scope.run_id}"):
            report = _attempt(run)
        append_run(destination.run_log, destination.run_files, report, request.environment)
        for app in run.settled:
            run.intents.forget(app)
    return replace(report, timed_out=report.status == "failed" and deadline.is_over)


def _attempt(run: Run) -> RunReport:
    """The report of the evaluation that counts.

    The lock keeps our own processes apart. Another program may still commit in between: then everything is evaluated
    anew, under a higher generation, against what the table holds by then.
    """
    for pause in _PAUSES_AFTER_A_CONFLICT:
        try:
            return _tried(run)
        except (*SparkFailure, RaceLostError) as error:
            log.debug("%s lost a race and is evaluated again", run.scope.contract.table, exc_info=True)
            run.warnings.append(f"Evaluated again, since another program changed the table meanwhile: {_said(error)}")
            time.sleep(pause * random.uniform(0.75, 1.25))  # noqa: S311 - no secret depends on it
    return _tried(run, last=True)


def _tried(run: Run, *, last: bool = False) -> RunReport:
    blank = blank_report(run.scope, run.destination, run.request.window)
    blank = replace(blank, request=dict(run.request.asked))
    batch: Batch | None = None
    try:
        batch = _next_batch(run)
        if batch is None:
            # What was held because of an upstream need not wait when that one has nothing for it after all.
            run.holds.release(run.scope.contract.key, run.request.window, exactly=run.request.window.is_full)
            make_readable(run.scope, run.destination.target)
            return run.ended(replace(blank, status="no_new_data"))
        return _evaluated(run, batch, blank)
    except (*SparkFailure, RaceLostError) as error:
        lost_a_race = is_conflict(error)
        if lost_a_race and not last and not run.deadline.is_over:
            _give_up(run, batch)
            raise
        log.debug("Spark failed in %s", run.scope.contract.table, exc_info=True)
        why = f"The run took longer than the {run.deadline.seconds:g} seconds it may." if run.deadline.is_over else None
        return _failed(run, batch, blank, why or _said(error), retryable=lost_a_race)
    except LakeLogicError as error:
        return _failed(run, batch, blank, str(error), retryable=error.retryable)


def _said(error: PySparkException | Py4JJavaError | RaceLostError) -> str:
    return str(error) if isinstance(error, RaceLostError) else one_line(error)


def _failed(run: Run, batch: Batch | None, blank: RunReport, why: str, *, retryable: bool) -> RunReport:
    """The log names the batch, for what it left in quarantine; an intent stays open only where it was committed."""
    told = {"identity": batch.read.snapshot.identity} if batch else {}
    report = replace(blank, status="failed", error=why, retryable=retryable, watermark=told)
    _give_up(run, batch)
    return run.ended(report)


def _give_up(run: Run, batch: Batch | None) -> None:
    """What it quarantined is not counted twice, and nobody takes it up again unless it was committed."""
    if batch is None:
        return
    run.lost.append(batch.attempt.name)
    intent = Intent(batch.attempt.app, batch.attempt.generation, run.destination.target, {})
    if committed_by(run.destination, intent) is None:
        run.settled.add(batch.attempt.app)


def _next_batch(run: Run) -> Batch | None:
    """What there is to read; None when nothing is new."""
    scope, request = run.scope, run.request
    with run.step("read"):
        decision = Decision() if request.frame is not None else decide(scope, run.destination, request.window)
        if decision.nothing_new:
            return None
        if decision.note is not None:
            decision.note.keep(run.destination.known_files)
        read = _read(run, decision)
    is_empty = read.snapshot.is_empty and not _may_be_empty(scope.contract)
    takes_back = may_be_withdrawn(request, scope.contract)
    if is_empty and not takes_back:
        return None
    name = _window_name(run, read)
    app = f"{'/'.join(scope.contract.key)}|{name}"
    paths = (run.destination.target, run.destination.quarantine)
    done = [parquet_table.generation(paths[0], app), *(delta_log.transaction_version(path, app) for path in paths)]
    generation = 1 + max(found or 0 for found in done)
    _refuse_repetition(run, app)
    asked = read_window(scope.contract, request.window)
    former = FormerRuns(run.destination.run_log, scope.contract, asked, read.snapshot, takes_back)
    attempt = Attempt(
        request.window, name, app, generation, reprocess=request.reprocess, former=former, withdrawn=is_empty
    )
    if is_empty and not was_written(scope, attempt, read.snapshot.description):
        return None
    return Batch(read, decision, attempt)


def _refuse_repetition(run: Run, app: str) -> None:
    contract, window, target = run.scope.contract, run.request.window, run.destination.target
    if window.is_full or contract.materialization.reprocess_policy != "fail":
        return
    if parquet_table.generation(target, app) is not None or delta_log.stands(target, app):
        raise EngineError(f"The window {window.key} is in {contract.table} already and `reprocess_policy` is `fail`.")


def _read(run: Run, decision: Decision) -> SourceRead:
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


def _window_name(run: Run, read: SourceRead) -> str:
    """The window's name in every trace the run leaves; a batch without a window is named after what was read."""
    request, contract = run.request, run.scope.contract
    appends = contract.materialization.strategy == "append"
    if not request.window.is_full:
        return request.window.key
    if request.frame is not None:
        # By the caller's own name of the run where there is one: when that is called again, the same rows come again.
        return f"frame:{run.scope.pipeline_run_id}" if appends else FULL.key
    incremental = contract.source is not None and contract.source.load_mode != "full"
    return f"{BATCH}{read.snapshot.identity}" if incremental or appends else FULL.key


def _middle(run: Run, batch: Batch) -> Evaluation:
    if batch.attempt.withdrawn:
        return nothing_left(run.scope, run.destination.target)
    return evaluate_source(batch.read, run.scope, run.request.external_logic, watermark=batch.decision.watermark)


def _evaluated(run: Run, batch: Batch, blank: RunReport) -> RunReport:
    scope, destination = run.scope, run.destination
    with run.step("evaluate"):
        evaluation = _middle(run, batch)
        prepared = prepare(evaluation, scope, batch.read, destination.target, batch.attempt)
    with discarding(prepared):
        with run.step("judge"):
            outcomes = prepared.judged()
            source, good, bad = prepared.counts
            if bad < 0:
                raise SourceChangedError(f"{batch.read.name} has other rows than it had when it was listed; run again.")
            counts = Counts(source, good, bad, source - good - bad)
            warn_of_growth(scope, counts)
            found = _findings(batch, evaluation)
            judged = judge_run(scope, run.request, destination, batch.read.snapshot, found, counts, outcomes)
        draft = replace(
            _draft(run, blank, batch, evaluation, counts, outcomes, judged),
            schema=found,
            newest=newest_of(evaluation, counts, scope),
            external_code=code_hash(scope, run.request.external_logic, scope.lakehouse.base),
        )
    return deliver(run, batch, evaluation, prepared, draft)


def _findings(batch: Batch, evaluation: Evaluation) -> SchemaFindings:
    """What is unusual about the source; where nothing was read, the columns are only ours."""
    nothing_came = batch.read.snapshot.is_empty
    return replace(schema_findings(evaluation), types={} if nothing_came else arrived_types(batch.read))


def _draft(
    run: Run,
    blank: RunReport,
    batch: Batch,
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
        source=batch.read.name,
        versions_read={batch.read.name: version} if version is not None else {},
        watermark=watermark_state(batch.read, evaluation),
        reasons=judged.reasons,
        asks=judged.asks.as_dict() if judged.asks else None,
        approval=judged.approval.as_dict() if judged.approval else None,
        generation=batch.attempt.generation,
    )
