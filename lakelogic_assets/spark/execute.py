"""One run of one contract, from lock to log."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.errors import EmptySourceError, EngineError, JvmDiedError, LakeLogicError, SourceError
from lakelogic_assets.gates.verdict import Verdict, verdict
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RunReport
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.boundaries import Decision, decide, read_window
from lakelogic_assets.spark.cleanup import clean_up
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.environments import in_environment
from lakelogic_assets.spark.evaluation import Evaluation, evaluate_source
from lakelogic_assets.spark.external_logic import code_hash
from lakelogic_assets.spark.failures import LostConnection, SparkFailure, one_line
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.parquet_table import refuse_unfit
from lakelogic_assets.spark.publishing import Attempt, Prepared, cluster, commit_metadata, prepare
from lakelogic_assets.spark.quarantine import bad_rows, write_quarantine
from lakelogic_assets.spark.recovery import recover
from lakelogic_assets.spark.reporting import blank_report, newest_of, row_outcomes, schema_findings, watermark_state
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.session import session_alive
from lakelogic_assets.spark.sources import SourceRead, read_link, read_source
from lakelogic_assets.spark.sources.given import read_given
from lakelogic_assets.spark.sources.listing import changed_files
from lakelogic_assets.spark.tables import Lakehouse

log = logging.getLogger(__name__)

SAMPLE_EXTENSION = "com.lakelogic.sample"
"""How many published rows a contract wants to see in its report."""

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
    upstream: tuple[tuple[str, ...], ...] = ()
    """The contracts whose holds keep this one from running."""
    ignore_gates: bool = False


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
    scope = _bare_scope(contract, spark, lakehouse, request, warnings)
    links = {link.name: read_link(scope, link) for link in contract.links}
    for name, frame in links.items():
        frame.createOrReplaceTempView(name)
    return replace(scope, links=links)


def _bare_scope(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest, warnings: list[str]
) -> Scope:
    """A scope that has read nothing yet, not even its links."""
    contract = in_environment(contract, request.environment or contract.place.environment)
    run_id = str(uuid.uuid4())
    session = spark.newSession()
    for key, value in _COUNTED_TO_THE_END.items():
        session.conf.set(key, value)
    return Scope(
        spark=session,
        contract=contract,
        lakehouse=lakehouse,
        run_id=run_id,
        pipeline_run_id=request.pipeline_run_id or run_id,
        started_at=datetime.now(UTC),
        warn=warnings.append,
    )


def execute(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, destination: Destination, request: RunRequest
) -> RunReport:
    """Read, judge, write and log; a run that fails is logged and raised as one sentence."""
    try:
        return _executed(contract, spark, lakehouse, destination, request)
    except LostConnection as error:
        if session_alive(spark):
            raise
        raise JvmDiedError(f"{contract.table}: Spark's JVM has died.") from error


def _executed(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, destination: Destination, request: RunRequest
) -> RunReport:
    warnings: list[str] = []
    # With a lookback a run reads more than its window, and waits for all that it reads.
    read = read_window(contract, request.window)
    held = [] if request.ignore_gates else Holds(destination.holds).over(request.upstream, read)
    if held:
        bare = _bare_scope(contract, spark, lakehouse, request, warnings)
        return _held_back(_Run(bare, request, destination, warnings), held)
    try:
        run = _Run(new_scope(contract, spark, lakehouse, request, warnings), request, destination, warnings)
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error
    refuse_unfit(contract)
    if contract.materialization.secondary_targets:
        warnings.append("`secondary_targets` are not written; let a contract of its own read this table for each.")
    written = contract.materialization.format
    if written not in (None, "delta", "native", "parquet"):
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


def _held_back(run: _Run, holds: Sequence[Hold]) -> RunReport:
    """Nothing is read while what it would be read from is held back, and what reads from this one waits in turn."""
    reasons = tuple(f"{hold}; run that window again or pass ignore_gates" for hold in holds)
    scope, window = run.scope, run.request.window
    run.holds.note(Hold(scope.contract.key, window, tuple(map(str, holds)), scope.run_id, scope.started_at.isoformat()))
    blank = blank_report(run.scope, run.destination, run.request.window)
    report = run.ended(replace(blank, status="held", reasons=reasons))
    append_run(run.destination.run_log, run.destination.run_files, report, run.request.environment)
    return report


def _attempt(run: _Run) -> tuple[RunReport, str | None]:
    """The report, and the name of the intent that is open until the report is logged."""
    blank = blank_report(run.scope, run.destination, run.request.window)
    try:
        batch = _next_batch(run)
        if batch is None:
            # What was held because of an upstream need not wait when that one has nothing for it after all.
            run.holds.release(run.scope.contract.key, run.request.window, exactly=run.request.window.is_full)
            return run.ended(replace(blank, status="no_new_data")), None
        return _evaluated(run, batch, blank), batch.attempt.app
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
    name = _window_name(run, read)
    app = f"{'/'.join(scope.contract.key)}|{name}"
    paths = (run.destination.target, run.destination.quarantine)
    done = [parquet_table.generation(paths[0], app), *(delta_log.transaction_version(path, app) for path in paths)]
    generation = 1 + max(found or 0 for found in done)
    return _Batch(read, decision, Attempt(request.window, name, app, generation))


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
        judged = verdict(scope.contract, counts, outcomes)
    draft = replace(
        _draft(blank, batch, evaluation, counts, outcomes, judged),
        newest=newest_of(evaluation, counts, scope),
        external_code=code_hash(scope, run.request.external_logic, scope.lakehouse.base),
    )
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
        generation=batch.attempt.generation,
    )


def _published(run: _Run, batch: _Batch, evaluation: Evaluation, prepared: Prepared, draft: RunReport) -> RunReport:
    """Intent, quarantine, target, in this order: bad rows are never lost while good ones are visible."""
    scope, destination, attempt = run.scope, run.destination, batch.attempt
    run.intents.note(Intent(attempt.app, attempt.generation, destination.target, draft.as_dict()))
    if draft.status == "blocked":
        key, at = scope.contract.key, scope.started_at.isoformat()
        run.holds.note(Hold(key, attempt.window, draft.reasons, scope.run_id, at))
    proof = _proof(run, attempt, draft)
    versions: dict[str, int] = {}
    rows = bad_rows(evaluation.bad_stages(draft.counts.quarantined), scope, batch.read, attempt.name)
    if scope.contract.quarantine.enabled:
        with run.step("quarantine"):
            version = write_quarantine(
                rows, destination.quarantine, scope, read_window(scope.contract, attempt.window), attempt.name,
                attempt.app, attempt.generation, commit_metadata(proof),
            )  # fmt: skip
        versions |= {"quarantine": version} if version is not None else {}
        _refuse_changes(batch.read, rows.count() if rows else 0, draft.counts)
    sample: tuple[dict[str, Any], ...] = ()
    if draft.status == "success":
        with run.step("publish"):
            versions["target"] = prepared.commit(commit_metadata({**proof, "quarantine": versions.get("quarantine")}))
            # Without a window, an incremental run has read what is new, not the days that were held before.
            only_news = scope.contract.source is not None and scope.contract.source.load_mode != "full"
            run.holds.release(scope.contract.key, attempt.window, exactly=attempt.window.is_full and only_news)
            clean_up(scope.contract, batch.read, scope)
            _arrange(run)
            sample = _sample(scope.contract, prepared)
    else:
        prepared.discard()
    failures = rows.failures() if rows and scope.contract.quarantine.enabled else {}
    rules = row_outcomes(scope.contract, evaluation, failures)
    return run.ended(replace(draft, row_rules=rules, versions_written=versions, sample=sample))


def _refuse_changes(read: SourceRead, quarantined: int, counts: Counts) -> None:
    """Good rows and bad ones are read one after the other: both must have come from the same source."""
    changed = changed_files(read.snapshot.files)
    if changed:
        raise SourceError(f"{changed[0]} was changed while it was read; run again.", changed[0])
    if quarantined != counts.quarantined:
        found = f"{counts.quarantined} rows are bad at the first look and {quarantined} at the second"
        raise EngineError(f"{found}: the source or a rule does not give the same twice.")


def _proof(run: _Run, attempt: Attempt, draft: RunReport) -> dict[str, Any]:
    """What every commit of the run says about it."""
    return {
        "run_id": run.scope.run_id,
        "contract": draft.contract,
        "window": attempt.name,
        "app": attempt.app,
        "generation": attempt.generation,
        "fingerprint": draft.fingerprint,
        "external_code": draft.external_code,
        "strategy": run.scope.contract.materialization.strategy,
        "counts": draft.as_dict()["counts"],
        "status": draft.status,
        "at": draft.started_at.isoformat(),
    }


def _sample(contract: Contract, prepared: Prepared) -> tuple[dict[str, Any], ...]:
    """Some published rows, masked as they are; only where the contract asks for them."""
    wanted = contract.extensions.get(SAMPLE_EXTENSION)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted <= 0:
        return ()
    rows = prepared.shown(wanted)
    in_the_clear = {each.name.casefold() for each in contract.model.fields if each.is_personal and not each.masking}
    rows = rows.drop(*[name for name in rows.columns if name.casefold() in in_the_clear])
    found = rows.select(F.to_json(F.struct(*map(column, rows.columns)), {"ignoreNullFields": "false"})).collect()
    return tuple(json.loads(row[0]) for row in found)


def _arrange(run: _Run) -> None:
    """Order the table and let ad-hoc SQL of this process see it; the run is done, so a failure is only a warning."""
    scope, destination = run.scope, run.destination
    if not delta_log.is_table(destination.target):
        return
    try:
        cluster(scope.contract, scope.spark, destination.target)
    except SparkFailure as error:
        scope.warn(f"The table is not ordered by `cluster_by`: {one_line(error)}")
    try:
        if destination.reference:
            scope.lakehouse.show_to_sql(scope.spark, destination.reference)
    except SparkFailure as error:
        scope.warn(f"The table is not visible to ad-hoc SQL: {one_line(error)}")


def _jvm_pid(spark: SparkSession) -> int | None:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid()) if jvm is not None else None
