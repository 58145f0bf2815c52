"""The second half of a run: its intent, its quarantine, its commit, and what follows the commit."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets.errors import EngineError, LakeLogicError, RaceLostError
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.boundaries import Decision, read_window
from lakelogic_assets.spark.cleanup import clean_up
from lakelogic_assets.spark.deadlines import Deadline
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.failures import SparkFailure, in_one_line, is_conflict
from lakelogic_assets.spark.finishing import arrange, proof, refuse_changes, sample_rows
from lakelogic_assets.spark.former_runs import BATCH
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.publishing import Attempt, Prepared, commit_metadata
from lakelogic_assets.spark.quarantine import BadRows, Judged, bad_rows, write_quarantine
from lakelogic_assets.spark.recovery import own_commit
from lakelogic_assets.spark.reporting import row_outcomes
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import unpublished
from lakelogic_assets.spark.schema import types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.sources.snapshot import files_of
from lakelogic_assets.spark.windows import cut_column, is_cut_by_place

log = logging.getLogger(__name__)


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
    settled: set[str] = field(default_factory=set)
    """Intents that nobody has to look at any more once the run is logged."""

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
    run.settled.discard(attempt.app)  # what a former attempt gave up is tried again under the same name
    with discarding(prepared):
        rows = bad_rows(evaluation.bad_stages(draft.counts.quarantined), scope, batch.read, attempt.name)
        before = delta_log.version(destination.target)
        versions = _set_aside(run, batch, rows, draft)
        failures = rows.failures() if rows and scope.contract.quarantine.enabled else {}
        draft = replace(draft, row_rules=row_outcomes(scope.contract, evaluation, failures))
    if draft.status == "success":
        versions["target"] = _published(run, batch, prepared, draft, versions)
        run.deadline.meet()
    else:
        prepared.discard()
    if versions.get("target", -1) == before:
        draft = replace(draft, status="unchanged")
    draft = replace(draft, versions_written=versions)
    if "target" in versions:
        return run.ended(_finished(run, batch, prepared, draft))
    if draft.status == "unchanged":
        run.holds.release(scope.contract.key, attempt.window)
    run.settled.add(attempt.app)
    return run.ended(replace(draft, table_id=delta_log.table_id(destination.target)))


@contextlib.contextmanager
def discarding(prepared: Prepared) -> Iterator[None]:
    """Before its commit begins, a run that fails leaves nothing that the next attempt would leave once more."""
    try:
        yield
    except Exception:
        with contextlib.suppress(Exception):  # a driver that is gone has nothing to give up
            prepared.discard()
        raise


def _published(run: Run, batch: Batch, prepared: Prepared, draft: RunReport, versions: dict[str, int]) -> int:
    """Commit the rows; the version, also where Spark fails or is cancelled once the commit is made."""
    said = {**proof(run.scope, batch.attempt, draft), "quarantine": versions.get("quarantine")}
    try:
        with run.step("publish"):
            return prepared.commit(commit_metadata(said))
    except RaceLostError:
        # Also where the commit is made: what it was worked out from was no more, and the next attempt sets it right.
        prepared.discard()
        raise
    except (LakeLogicError, *SparkFailure) as error:
        version = own_commit(run.destination, run.scope.run_id, batch.attempt.app)
        if version is not None:
            run.warnings.append(f"Published, although Spark failed after the commit: {in_one_line(error)}")
            return version
        # Of anything else it is not known whether the commit came through.
        if isinstance(error, LakeLogicError) or is_conflict(error):
            prepared.discard()
        raise


def _set_aside(run: Run, batch: Batch, rows: BadRows | None, draft: RunReport) -> dict[str, int]:
    """Note what is about to happen, and put the bad rows into quarantine; its version."""
    scope, attempt = run.scope, batch.attempt
    run.intents.note(Intent(attempt.app, attempt.generation, run.destination.target, draft.as_dict()))
    if draft.status in ("blocked", "waiting"):
        key, at = scope.contract.key, scope.started_at.isoformat()
        call = scope.pipeline_run_id
        run.holds.note(Hold(key, attempt.window, draft.reasons, scope.run_id, at, draft.asks, call))
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
    by_name = reads_again if attempt.window.is_full else is_cut_by_place(contract)
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


def _finished(run: Run, batch: Batch, prepared: Prepared, draft: RunReport) -> RunReport:
    """What follows the commit. The rows are in the table whatever becomes of it, so the report says so.

    Holds and files that are left as they were are taken up by the next run, which finds the intent still open.
    """
    contract, window = run.scope.contract, batch.attempt.window
    # Without a window, an incremental run has read what is new, not the days that were held before.
    only_news = contract.source is not None and contract.source.load_mode != "full"
    told: dict[str, Any] = {}
    with run.step("finish"):
        left = [
            _failure(lambda: run.holds.release(contract.key, window, exactly=window.is_full and only_news)),
            _failure(lambda: clean_up(contract, batch.read, run.scope)),
        ]
        further = [
            _failure(lambda: arrange(run.scope, run.destination) if draft.status == "success" else None),
            _failure(lambda: told.update(sample=sample_rows(contract, prepared))),
            _failure(lambda: told.update(table_id=delta_log.table_id(run.destination.target))),
        ]
    if not any(left):
        run.settled.add(batch.attempt.app)
    # Of all that, only a clean-up that the contract calls blocking is an error of ours.
    blocking = [each for each in left if isinstance(each, EngineError)]
    for each in (*left, *further):
        if each is not None and each not in blocking:
            run.warnings.append(f"Published, although something after the commit failed: {in_one_line(each)}")
    if blocking:
        error = f"The rows are published as version {draft.versions_written['target']}, but {blocking[0]}"
        told |= {"status": "failed", "error": error}
    return replace(draft, **told)


def _failure(act: Callable[[], object]) -> Exception | None:
    """What an act fails with; None where it goes well."""
    try:
        act()
    except Exception as error:
        log.debug("Something after a commit failed", exc_info=True)
        return error
    return None
