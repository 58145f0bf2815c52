"""Many windows of many contracts in one session, in the order of their graph and their calendar."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.plan.campaign import Campaign, Task, plan_tasks
from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
from lakelogic_assets.plan.schedule import Progress, Rules, State, run_in_order
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.admission import stands_in, upstreams_of
from lakelogic_assets.spark.attempts import tried
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.execute import execute
from lakelogic_assets.spark.request import RunRequest, Spark
from lakelogic_assets.spark.sources.reference_cache import RunReferences, share_links
from lakelogic_assets.spark.unread import hold_back
from lakelogic_assets.spark.window_states import WENT_WELL
from lakelogic_assets.spark.workspace import Workspace

Done = Progress[Task, RunReport]
Told = Callable[[Done], None]


def state_of(report: RunReport) -> State:
    """Whether what lies below may run, and whether somebody has to mend something."""
    if report.status in WENT_WELL:
        return "done"
    return "failed" if report.status in ("blocked", "failed") else "held"


@dataclass(frozen=True)
class Pipeline:
    """One call of an operator: everything it runs has the same `run_id`."""

    registry: Registry
    workspace: Workspace
    spark: Spark
    request: PipelineRequest = field(default_factory=PipelineRequest)
    policy: RunPolicy = field(default_factory=RunPolicy)
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    say: Callable[[str], None] = lambda _: None
    references: RunReferences = field(default_factory=RunReferences)
    _sharing: set[Key] = field(default_factory=set)
    """Contracts with a link that is looked up more than once."""

    def run(self, campaign: Campaign, tell: Told = lambda _: None) -> dict[Task, Done]:
        """Run the tasks; what lies below a failed or blocked one is held back."""
        rules = Rules[Task, RunReport](
            state_of,
            stands_in=self._stands_in,
            after=campaign.after,
            max_consecutive_failures=self.policy.max_consecutive_failures,
        )
        upstream = {task: campaign.upstream[task] for task in campaign.tasks}
        self._sharing.update(share_links(self.registry.contracts[task.key] for task in campaign.tasks))

        def told(done: Done) -> None:
            self._hold(done)
            tell(done)

        try:
            return run_in_order(upstream, self.run_task, rules, parallel=self._width, tell=told)
        finally:
            self.references.close()

    def run_task(self, task: Task) -> RunReport:
        """One window of one contract, tried again where that can help."""
        contract = self.registry.contracts[task.key]
        places = self.workspace.lakehouse(contract), self.workspace.destination(contract)
        request = self._request(task, contract)
        return tried(
            lambda: execute(contract, self.spark, *places, request),
            retries=self.policy.retries,
            pause_seconds=self.policy.retry_seconds,
            say=self.say,
        )

    def _hold(self, done: Done) -> None:
        """A window that was not tried because of what it reads from holds back what reads from it, in every run."""
        if done.state == "held" and done.result is None and done.waits_for:
            contract = self.registry.contracts[done.key.key]
            why = f"waits for {', '.join(map(str, done.waits_for))}"
            hold_back(contract, self.workspace.destination(contract), self._request(done.key, contract), (why,))

    def _request(self, task: Task, contract: Contract) -> RunRequest:
        return RunRequest(
            window=task.window,
            pipeline_run_id=self.run_id,
            external_logic=self.workspace.logic_policy,
            environment=self.workspace.project.environment,
            upstream=upstreams_of(self.registry, self.workspace, task.key),
            ignore_gates=self.policy.ignore_gates,
            reprocess=task.rebuilds,
            timeout_seconds=self.policy.timeout_seconds,
            approval=self.policy.approval,
            asked=asked_of(self.request.window, task.why, contract, rebuilds=task.rebuilds),
            skipped=task.skipped,
            warnings=(task.why,) if task.warns else (),
            references=self.references if task.key in self._sharing else None,
        )

    @property
    def _width(self) -> int:
        active = self.workspace.declarations.active
        return self.policy.parallel or (active.concurrency.max_parallel_contracts if active else 2)

    def _stands_in(self, task: Task, blocker: Task) -> bool:
        """Whether what the upstream brought before is still good enough, by the contract's own word."""
        now = datetime.now(UTC)
        known = {up.key: up for up in upstreams_of(self.registry, self.workspace, task.key)}
        return self.policy.ignore_gates or (blocker.key in known and stands_in(known[blocker.key], now))


def asked_of(mode: str, why: str, contract: Contract, *, rebuilds: bool) -> dict[str, Any]:
    """The operator's words as a report keeps them."""
    said: dict[str, Any] = {"window": mode, "why": why, "reprocess": rebuilds}
    return said | ({"set": dict(contract.place.overrides)} if contract.place.overrides else {})


def run_contracts(
    registry: Registry,
    keys: Iterable[Key],
    workspace: Workspace,
    spark: Spark,
    *,
    window: Window = FULL,
    parallel: int | None = None,
    tell: Told = lambda _: None,
) -> dict[Key, Done]:
    """Run one window of the enabled contracts among `keys`."""
    planned = {key: [Task(key, window)] for key in keys if registry.contracts[key].place.enabled}
    contracts = registry.contracts
    campaign = plan_tasks(planned, registry.graph.upstream, lambda task: read_window(contracts[task.key], task.window))
    mode = PipelineRequest(window="full" if window.is_full else "range")
    pipeline = Pipeline(registry, workspace, spark, mode, RunPolicy(parallel=parallel))
    return {task.key: done for task, done in pipeline.run(campaign, tell).items()}
