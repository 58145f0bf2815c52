"""The engine as the code location calls it: one window of one product, tried again where that can help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.objectives import freshness_objective, volume_objective
from lakelogic_assets.contract.overrides import overridden_contract, parse_overrides
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.resources import Orchestration
from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.gates.freshness import judge_freshness
from lakelogic_assets.gates.judgement import Judgement
from lakelogic_assets.gates.volume import judge_volume
from lakelogic_assets.orchestration.checks import Findings, Outcome, not_evaluated, outcomes, skipped
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.plan.request import RunPolicy
from lakelogic_assets.plan.schedule import State
from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.admission import stands_in, upstreams_of
from lakelogic_assets.spark.attempts import tried
from lakelogic_assets.spark.audit import audit_run
from lakelogic_assets.spark.execute import execute
from lakelogic_assets.spark.frames import SparkSession
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.pipeline import asked_of
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import read_runs
from lakelogic_assets.spark.sources.reference_cache import RunReferences, share_links
from lakelogic_assets.spark.table_checks import check_table
from lakelogic_assets.spark.unread import hold_back
from lakelogic_assets.spark.workspace import Workspace

_PUBLISHED = ("success", "no_new_data", "unchanged")
_SEASON = 7
_KNOWN_TO_RUNS = ("schema", "quarantine_ratio", "reconciliation")


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for a run, what they allow, and where they want to read about it."""

    run_id: str
    spark: Callable[[], SparkSession]
    """The session, started when it is first needed and replaced when it has died."""
    policy: RunPolicy = field(default_factory=RunPolicy)
    reprocess: bool = False
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Values of the contract that are others for this run."""
    window: str = "partition"
    """Which kind of window was asked for, as the run log keeps it."""
    why: str = ""
    warns: bool = False
    """Whether `why` is not what was asked for, so that somebody should know."""
    skipped: str | None = None
    """Why it is not run after all; only that is recorded."""
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of one window: its report and its checks, or why it was not published."""

    report: RunReport | None = None
    outcomes: tuple[Outcome, ...] = ()
    trouble: str | None = None
    version: str = ""

    @property
    def skipped(self) -> bool:
        return self.report is not None and self.report.status == "skipped"

    @property
    def published(self) -> bool:
        return self.trouble is None and not self.skipped

    @property
    def state(self) -> State:
        """Whether what lies below may go on, and whether somebody has to mend something."""
        if self.published:
            return "done"
        status = self.report.status if self.report else "failed"
        return "held" if status in ("held", "waiting", "skipped") else "failed"


@dataclass(frozen=True)
class Engine:
    """A project's contracts, where their tables are, and how often something that may pass by itself is tried."""

    registry: Registry
    workspace: Workspace
    settings: Orchestration = field(default_factory=Orchestration)
    references: RunReferences = field(default_factory=RunReferences)
    failures: Counter[str] = field(default_factory=Counter)
    """Run → how many of its windows have failed in a row."""

    @cached_property
    def _sharing(self) -> frozenset[Key]:
        return share_links(contract for contract in self.registry if contract.place.enabled)

    def run(self, product: Product, window: Window, asked: Asked) -> Attempt:
        """Evaluate, quarantine, judge and publish one window; errors become the window's trouble."""
        limit = asked.policy.max_consecutive_failures
        if limit is not None and self.failures[asked.run_id] >= limit:
            return _not_run(product, f"not started after {limit} failures in a row")
        attempt = self._attempt(product, window, asked)
        if attempt.state != "held":
            self.failures[asked.run_id] = self.failures[asked.run_id] + 1 if attempt.state == "failed" else 0
        return attempt

    def _attempt(self, product: Product, window: Window, asked: Asked) -> Attempt:
        try:
            report = self._executed(product, window, asked)
        except LakeLogicError as error:
            return _not_run(product, str(error))
        asked.say(told(product, report))
        if report.status in ("held", "skipped"):
            refused = replace(_not_run(product, "; ".join(report.reasons)), report=report)
            return replace(refused, trouble=None) if report.status == "skipped" else refused
        found = tuple(outcomes(product.contract, product.checks, report, self._findings(product, window, report)))
        if report.status not in _PUBLISHED:
            return Attempt(report, found, trouble="; ".join(report.reasons) or report.status)
        written = report.versions_written.get("target")
        version = written if written is not None else delta_log.version(product.target)
        # It changes when, and only when, a commit changed the table.
        return Attempt(report, found, version=f"delta-{version}" if version is not None else "empty")

    def hold(self, product: Product, window: Window, asked: Asked, reason: str) -> Attempt:
        """Do not even try: an upstream did not bring this window. What reads from this product waits in turn."""
        request = self._request(product, window, asked, product.contract)
        hold_back(product.contract, self.workspace.destination(product.contract), request, (reason,))
        return _not_run(product, reason)

    def keep_back(self, product: Product, window: Window, asked: Asked, why: str) -> None:
        """Let what reads from this product wait for a window whose failure is in the run log already."""
        holds = Holds(self.workspace.destination(product.contract).holds)
        holds.note(Hold(product.key, window, (why,), asked.run_id, datetime.now(UTC).isoformat()))

    def stands_in(self, upstream: Key, key: Key) -> bool:
        """Whether what an upstream brought before is still good enough for a contract, by its own word."""
        known = {each.key: each for each in upstreams_of(self.registry, self.workspace, key)}
        return upstream in known and stands_in(known[upstream], datetime.now(UTC))

    def look(self, product: Product, window: Window, asked: Asked) -> Attempt:
        """Judge what is in the table already; nothing is written."""
        contract = product.contract
        lakehouse, destination = self.workspace.lakehouse(contract), self.workspace.destination(contract)
        try:
            report = check_table(contract, asked.spark(), lakehouse, destination, window)
        except LakeLogicError as error:
            return Attempt(trouble=str(error))
        found = outcomes(contract, product.checks, report, self._findings(product, window, report))
        return Attempt(report, tuple(_of_table_alone(outcome) for outcome in found))

    def _request(self, product: Product, window: Window, asked: Asked, contract: Contract) -> RunRequest:
        return RunRequest(
            window=window,
            pipeline_run_id=asked.run_id,
            external_logic=self.workspace.logic_policy,
            environment=self.workspace.project.environment,
            upstream=upstreams_of(self.registry, self.workspace, product.key),
            ignore_gates=asked.policy.ignore_gates,
            reprocess=asked.reprocess,
            timeout_seconds=asked.policy.timeout_seconds,
            approval=asked.policy.approval,
            skipped=asked.skipped,
            warnings=(asked.why,) if asked.warns else (),
            references=self.references if product.key in self._sharing else None,
            asked=asked_of(asked.window, asked.why, contract, rebuilds=asked.reprocess),
        )

    def _executed(self, product: Product, window: Window, asked: Asked) -> RunReport:
        contract = self._contract(product, asked)
        request = self._request(product, window, asked, contract)
        lakehouse, destination = self.workspace.lakehouse(contract), self.workspace.destination(contract)
        return tried(
            lambda: execute(contract, asked.spark, lakehouse, destination, request),
            retries=asked.policy.retries,
            pause_seconds=asked.policy.retry_seconds,
            say=asked.say,
        )

    def _contract(self, product: Product, asked: Asked) -> Contract:
        """The contract, with what was set for this run laid over it."""
        if not asked.overrides:
            return product.contract
        said = parse_overrides(asked.overrides)
        return overridden_contract(self.registry, product.key, said, self.workspace.project)

    def _findings(self, product: Product, window: Window, report: RunReport) -> Findings:
        """The proof from the commits, and the run against what was promised and what is usual."""
        contract = product.contract
        destination = self.workspace.destination(contract)
        # What changed nothing made no commit; the version it names is another run's.
        proved = audit_run(destination, report.versions_written) if report.status != "unchanged" else None
        judged = report.status != "no_new_data"
        return Findings(
            faults=proved.faults if proved else None,
            volume=_volume(contract, destination.run_log, report, window) if judged else None,
            freshness=_freshness(contract, report, window) if judged else None,
        )


def _of_table_alone(outcome: Outcome) -> Outcome:
    """What only a run can know is not answered by a look at the table."""
    return skipped(outcome.check, "Needs a run.") if outcome.check.kind in _KNOWN_TO_RUNS else outcome


def _not_run(product: Product, why: str) -> Attempt:
    return Attempt(outcomes=tuple(not_evaluated(product.checks, why)), trouble=why)


def told(product: Product, report: RunReport) -> str:
    """One line for the log: where the rows of a window went."""
    counts = report.counts
    why = f" ({'; '.join(report.reasons)})" if report.reasons else ""
    rows = (
        f"{counts.source:,} read, {counts.good:,} good, {counts.quarantined:,} quarantined, {counts.dropped:,} dropped"
    )
    return f"{'/'.join(product.key)} {report.window['key']}: {report.status}{why}; {rows}, {report.seconds:.1f} s"


def _volume(contract: Contract, run_log: str, report: RunReport, window: Window) -> Judgement | None:
    objective = volume_objective(contract)
    if objective is None or _is_long_rebuild(report, window, objective.skip_reprocess_days):
        return None
    history: list[int] = []
    if objective.anomaly is not None:
        # A seasonal comparison looks at every seventh run.
        rows = read_runs(run_log, contract="/".join(contract.key), limit=objective.anomaly.lookback_runs * _SEASON)
        before = [row for row in rows if row["status"] == "success" and row["run_id"] != report.run_id]
        history = [int(row[f"counts_{objective.counter}"] or 0) for row in reversed(before)]
    return judge_volume(objective, report.counts, history)


def _is_long_rebuild(report: RunReport, window: Window, days: int) -> bool:
    """Whether more days were rebuilt at once than the contract compares with others."""
    if not report.request.get("reprocess") or window.start is None or window.end is None:
        return False
    return window.end - window.start > timedelta(days=days)


def _freshness(contract: Contract, report: RunReport, window: Window) -> Judgement | None:
    objective = freshness_objective(contract)
    if objective is None:
        return None
    newest = datetime.fromisoformat(report.newest) if report.newest else None
    field = contract.model.by_name.get(objective.column or "")
    if newest is not None and field is not None and field.spark_type == "DATE":
        # A date stands for its whole day: a row of yesterday is not a day old at midnight.
        newest += timedelta(days=1)
    return judge_freshness(objective, newest, datetime.now(UTC), window.end)
