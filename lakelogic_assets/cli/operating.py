"""One call of an operator from the command line: planned, run, told, logged."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from lakelogic_assets.cli.printing import counted, say, say_json
from lakelogic_assets.cli.selecting import Chosen, name_left_out
from lakelogic_assets.cli.summary import COLUMNS, print_table
from lakelogic_assets.report.pipeline import PipelineReport, TaskLine, first_line, pipeline_report, task_of
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.lineage import created_by
from lakelogic_assets.spark.pipeline import Done, Pipeline
from lakelogic_assets.spark.pipeline_log import note_end, note_start, pipeline_log_path
from lakelogic_assets.spark.reprocessing import run_to_the_end
from lakelogic_assets.spark.session import open_session
from lakelogic_assets.spark.window_states import succeeded_in

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.left_out import LeftOut
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.plan.campaign import Campaign, Task
    from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
    from lakelogic_assets.project import Project
    from lakelogic_assets.spark.frames import SparkSession
    from lakelogic_assets.spark.workspace import Workspace

Observer = Callable[[PipelineReport, Sequence[Any]], None]
"""Sees the report while the pipeline runs and when it has ended, with the reports of its runs so far."""


@dataclass(frozen=True)
class Operation:
    """What is to be done, for whom it is shown, and who else wants to know."""

    registry: Registry
    workspace: Workspace
    keys: Sequence[Key]
    request: PipelineRequest
    policy: RunPolicy
    said: Mapping[str, Any] = field(default_factory=dict)
    """More of the operator's words: packs, values that were set, options that change what is run."""
    as_json: bool = False
    resumes: str | None = None
    """The pipeline run that this one goes on with."""
    tasks: Sequence[Task] | None = None
    """All of it; decided anew where it is None."""
    left_out: Sequence[LeftOut] = ()
    """Contracts that were meant and have errors."""
    observers: tuple[Observer, ...] = ()

    @classmethod
    def of(
        cls, found: Chosen, workspace: Workspace, request: PipelineRequest, policy: RunPolicy, *, as_json: bool
    ) -> Self:
        """For all the contracts that a call has chosen."""
        return cls(
            found.registry,
            workspace,
            found.keys,
            request,
            policy,
            said=found.said,
            as_json=as_json,
            left_out=found.left_out,
        )

    @property
    def campaign(self) -> Campaign:
        planner = Planner(self.registry, self.workspace)
        if self.tasks is None:
            return planner.campaign(self.request, self.registry.running(self.keys))
        planned: dict[Key, list[Task]] = {key: [] for key in _in_order(self.registry)}
        for task in self.tasks:
            planned[task.key].append(task)
        return planner.plan({key: tasks for key, tasks in planned.items() if tasks})

    @property
    def asked(self) -> dict[str, Any]:
        """What the pipeline log keeps of the call."""
        return {**self.request.as_dict(), "policy": self.policy.as_dict(), **self.said}


def _in_order(registry: Registry) -> Iterable[Key]:
    return (key for level in registry.graph.levels for key in level)


def carry_out(operation: Operation, *, dry_run: bool = False) -> int:
    """Run it, or only say what would be run, and tell how it went; gives the exit code."""
    whole = operation.campaign
    before = _done_before(operation, whole)
    campaign = whole.without(before)
    if dry_run:
        _print_plan(campaign, as_json=operation.as_json)
        return name_left_out(operation.left_out, operation.workspace.project, as_json=operation.as_json)
    call = _Call(operation)
    finished = call.finish(campaign, before)
    report = call.ended(finished)
    project = operation.workspace.project
    if operation.as_json:
        told = [_left_out_as_dict(each, project) for each in operation.left_out]
        say_json([*(_as_dict(done) for done in finished.values()), *told])
    else:
        _print_summary(operation.registry, finished)
        say(f"pipeline run {report.pipeline_run_id[:8]}: {report.status}, {_told_figures(report)}")
        name_left_out(operation.left_out, project)
    return 0 if report.status == "success" and not operation.left_out else 1


def _done_before(operation: Operation, campaign: Campaign) -> set[Task]:
    """The windows that succeeded in the run that is resumed; what is planned anew leaves them out itself."""
    if operation.resumes is None or operation.tasks is None:
        return set()
    done: set[Task] = set()
    for key in {task.key for task in campaign.tasks}:
        run_log = operation.workspace.destination(operation.registry.contracts[key]).run_log
        windows = succeeded_in(run_log, "/".join(key), operation.resumes)
        done |= {task for task in campaign.tasks if task.key == key and task.window in windows}
    if done and not operation.as_json:
        say(f"going on with {operation.resumes[:8]}: {counted(len(done), 'window')} done before")
    return done


class _Call:
    """The pipeline while it runs: what is finished so far, and those who are told."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.started_at = datetime.now(UTC)
        self.lines: dict[Task, TaskLine] = {}
        self.reports: list[Any] = []
        self.pipeline = Pipeline(
            operation.registry,
            operation.workspace,
            self._spark,
            operation.request,
            operation.policy,
            run_id=operation.resumes or str(uuid.uuid4()),
            say=(lambda _: None) if operation.as_json else say,
        )
        self.log = pipeline_log_path(operation.workspace.root)

    def finish(self, campaign: Campaign, before: set[Task]) -> dict[Task, Done]:
        # A resumption of a resumption needs to know all of it.
        self.asked = {**self.operation.asked, "tasks": [task.as_dict() for task in (*before, *campaign.tasks)]}
        self._expect(campaign)
        note_start(self.log, self._report(None))
        return run_to_the_end(self.pipeline, campaign, self.operation.keys, self._tell, self._expect, before)

    def _expect(self, campaign: Campaign) -> None:
        for task in campaign.tasks:
            self.lines[task] = TaskLine("/".join(task.key), task.window.key, "waiting")

    def ended(self, finished: Mapping[Task, Done]) -> PipelineReport:
        self.lines |= {task: _line(done) for task, done in finished.items()}
        report = self._report(datetime.now(UTC))
        note_end(self.log, report)
        self._show(report)
        return report

    def _report(self, ended_at: datetime | None) -> PipelineReport:
        operation = self.operation
        return pipeline_report(
            self.pipeline.run_id,
            self.lines.values(),
            started_at=self.started_at,
            ended_at=ended_at,
            environment=operation.workspace.project.environment,
            by=created_by(os.environ),
            request=self.asked,
        )

    def _show(self, report: PipelineReport) -> None:
        for observer in self.operation.observers:
            observer(report, self.reports)

    def _tell(self, done: Done) -> None:
        if done.state != "started":
            self.lines[done.key] = _line(done)
            if done.result is not None:
                self.reports.append(done.result)
            if self.operation.observers:
                self._show(self._report(None))
        if not self.operation.as_json:
            _say(done)

    def _spark(self) -> SparkSession:
        return open_session(self.operation.workspace.spark_conf)


def _line(done: Done) -> TaskLine:
    if done.result is not None:
        return task_of(done.result)
    name, window = "/".join(done.key.key), done.key.window.key
    if done.error is not None:
        return TaskLine(name, window, "failed", error=first_line(done.error))
    return TaskLine(name, window, "held", reasons=(_waits(done),))


def _waits(done: Done) -> str:
    return done.reason or f"waits for {', '.join(map(str, done.waits_for))}"


def _say(done: Done) -> None:
    name = str(done.key) if not done.key.window.is_full else "/".join(done.key.key)
    if done.state == "started":
        say(f"  … {name}{f': warning: {done.key.why}' if done.key.warns else ''}")
    elif done.error is not None:
        say(f"  ✗ {done.error}")
    elif done.result is None:
        say(f"  ‖ {name}: held back, {_waits(done)}")
    else:
        report = done.result
        mark = {"done": "✓", "held": "‖"}.get(done.state, "✗")
        why = f" ({'; '.join(report.reasons)})" if report.reasons else ""
        rows = f"{report.counts.good:,} good, {report.counts.quarantined:,} quarantined"
        say(f"  {mark} {name}: {report.status}{why}, {rows}, {report.seconds:.1f} s")


def _print_plan(campaign: Campaign, *, as_json: bool) -> None:
    """What would be run, in order, and why."""
    if as_json:
        say_json([task.as_dict() for task in campaign.tasks])
        return
    for task in campaign.tasks:
        why = f"not run: {task.skipped}" if task.skipped else task.why
        say(f"  {'‖' if task.skipped else '…'} {task}{f' ({why})' if why else ''}")
    say(f"{counted(len(campaign.tasks), 'window')} of {counted(len({t.key for t in campaign.tasks}), 'contract')}")


def _told_figures(report: PipelineReport) -> str:
    done = sum(task.is_done for task in report.tasks)
    return f"{done} of {counted(report.windows, 'window')} done, {report.seconds or 0.0:.1f} s"


def _print_summary(registry: Registry, finished: Mapping[Task, Done]) -> None:
    of_contract: dict[Key, list[Done]] = {key: [] for key in _in_order(registry)}
    for task, done in finished.items():
        of_contract[task.key].append(done)
    print_table(COLUMNS, [_row(key, runs) for key, runs in of_contract.items() if runs])


def _row(key: Key, runs: Sequence[Done]) -> tuple[str, ...]:
    reports = [done.result for done in runs if done.result is not None]
    counts = [report.counts for report in reports]
    checks = sum(len(report.row_rules) + len(report.dataset_rules) for report in reports)
    failed = sum(len(report.failed_row_rules) + len(report.failed_dataset_rules) for report in reports)
    totals = [sum(getattr(each, name) for each in counts) for name in ("source", "good", "quarantined", "dropped")]
    shown = [f"{total:,}" for total in totals] if reports else [""] * 4
    rate = f"{checks - failed}/{checks}" if checks else "-"
    seconds = f"{sum(report.seconds for report in reports):.1f}" if reports else ""
    return ("/".join(key), *shown, rate if reports else "", seconds, _status(runs))


def _status(runs: Sequence[Done]) -> str:
    """One word where all windows ended alike; else how many of them did not end well."""
    words = {done.result.status if done.result else done.state for done in runs}
    if len(words) == 1:
        return str(words.pop())
    wrong = [done for done in runs if done.state != "done"]
    return f"{len(wrong)} of {len(runs)} not done" if wrong else "success"


def _as_dict(done: Done) -> dict[str, Any]:
    return {
        "asset": "/".join(done.key.key),
        "window": done.key.window.key,
        "state": done.state,
        "waits_for": ["/".join(each.key) for each in done.waits_for],
        "error": str(done.error) if done.error else None,
        "report": done.result.as_dict() if done.result else None,
    }


def _left_out_as_dict(each: LeftOut, project: Project) -> dict[str, Any]:
    return {"asset": "/".join(each.key), "state": "left_out", "problems": each.reasons(project)}
